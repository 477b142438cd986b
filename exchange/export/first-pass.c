/* SPDX-License-Identifier: Apache-2.0 */
#include "first-pass.h"
#include "analyzer/support/grow.h"

static void note_rule(void *data, const struct mt_replay *replay, const struct mt_block *block,
                      const struct mt_rule *rule, bool at_end)
{
    struct mt_pass *pass = data;
    uint64_t event = mt_block_event(block);
    (void)at_end;
    if (MT_GROW(pass->rules, pass->rules_capacity, event))
        pass->has_no_memory = true;
    else
        pass->rules[event] = (uint16_t)(mt_rule_index(replay->question.rules, rule) + 1);
}

struct mt_pass *mt_pass_open(const struct mt_export *export, const char *path, int *rc,
                             struct mt_export_error *error)
{
    struct mt_trace_error fault = {0};
    struct mt_pass *pass = calloc(1, sizeof *pass);
    const struct mt_life_watcher lives = {note_rule, pass};
    struct mt_question question = export->question;
    *rc = -ENOMEM;
    if (!pass)
        return NULL;
    question.moment = (struct mt_moment){MT_AT_END, 0};
    question.lives = &lives;
    *rc = mt_replay(path, &question, &pass->replay, &fault);
    pass->replay.question.lives = NULL;
    if (!*rc && pass->has_no_memory)
        *rc = -ENOMEM;
    mt_export_note(error, path, &fault, *rc);
    if (!*rc)
        return pass;
    mt_pass_close(pass);
    return NULL;
}

void mt_pass_close(struct mt_pass *pass)
{
    if (!pass)
        return;
    mt_replay_clear(&pass->replay);
    free(pass->rules);
    free(pass);
}

int mt_pass_rule(const struct mt_pass *pass, uint64_t event)
{
    return event < pass->rules_capacity ? (int)pass->rules[event] - 1 : -1;
}
