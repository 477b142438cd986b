/* SPDX-License-Identifier: Apache-2.0 */
#include "analyzer/support/grow.h"
#include "rows-parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The first reading: what the dictionaries need, and the block's rule. */
static void note(void *data, const struct mt_replay *replay, const struct mt_block *block,
                 const struct mt_rule *rule, int at_end)
{
    struct mt_rows *rows = data;
    uint64_t event = mt_block_event(block);
    size_t strings = mt_definitions_string_limit(replay->definitions);
    bool *is_operator =
        mt_by_id_reach(&rows->is_operator, block->node_name, strings, sizeof *is_operator);
    bool *is_name = mt_by_id_reach(&rows->is_name, block->name, strings, sizeof *is_name);
    (void)at_end;
    if (mt_grow(&rows->rules, &rows->rules_capacity, event + 1, sizeof *rows->rules) ||
        !is_operator || !is_name) {
        rows->has_no_memory = true;
        return;
    }
    rows->rules[event] = (uint16_t)(mt_rule_index(replay->question.rules, rule) + 1);
    *is_operator = *is_name = true;
}

int mt_rows_open(struct mt_rows **out, const char *path, const struct mt_question *question,
                 struct mt_trace_error *fault)
{
    struct mt_rows *rows = calloc(1, sizeof *rows);
    memset(fault, 0, sizeof *fault);
    *out = NULL;
    if (!rows)
        return -ENOMEM;
    const struct mt_life_watcher lives = {note, rows};
    rows->path = path;
    rows->question = (struct mt_question){.moment = {MT_AT_END, 0},
                                          .rules = question->rules,
                                          .no_labels = question->no_labels,
                                          .one_device = question->one_device,
                                          .device = question->device,
                                          .lives = &lives};
    int rc = mt_replay(path, &rows->question, &rows->replay, fault);
    rows->question.lives = NULL;
    if (!rc)
        rc = rows->has_no_memory ? -ENOMEM : mt_rows_make_texts(rows);
    if (rc) {
        mt_rows_close(rows);
        return rc;
    }
    const char *rank = mt_info(rows->replay.definitions, "rank");
    rows->rank = rank && *rank ? strtol(rank, NULL, 10) : -1;
    *out = rows;
    return 0;
}

void mt_rows_close(struct mt_rows *rows)
{
    if (!rows)
        return;
    for (unsigned id = 0; id < MT_DICTIONARIES_N; id++) {
        mt_texts_clear(&rows->dictionary[id].texts);
        free(rows->dictionary[id].of);
    }
    mt_replay_clear(&rows->replay);
    free(rows->rules);
    mt_by_id_clear(&rows->is_operator);
    mt_by_id_clear(&rows->is_name);
    free(rows);
}

const struct mt_replay *mt_rows_replay(const struct mt_rows *rows)
{
    return &rows->replay;
}

int mt_rows_rule(const struct mt_rows *rows, uint64_t event)
{
    return event < rows->rules_capacity ? (int)rows->rules[event] - 1 : -1;
}
