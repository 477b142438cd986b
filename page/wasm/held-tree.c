/* SPDX-License-Identifier: Apache-2.0 */
#include "held-tree.h"
#include "analyzer/classify/classify.h"
#include "analyzer/holders/holder-words.h"
#include "analyzer/print/json.h"
#include "life-facts.h"

#include <stdlib.h>
#include <string.h>

/* Return the last request that failed, if it is not at the peak and holders were listed then. */
static const struct mt_oom *listed_oom(const struct mt_analysis *peak)
{
    const struct mt_holders *holders = &peak->replay.holders;
    const struct mt_oom *oom = mt_replay_last_oom(&peak->replay);
    for (size_t i = 0; i < peak->n_devices && oom; i++)
        if (peak->devices[i].device == oom->device &&
            peak->devices[i].peak.allocated == oom->allocated)
            return NULL;
    for (unsigned i = 0; i < holders->n && oom; i++)
        if (holders->list[i].moment == MT_HOLDERS_OOM)
            return oom;
    return NULL;
}

bool mt_may_be_held(const struct mt_analysis *peak, unsigned slot)
{
    const struct mt_oom *oom = listed_oom(peak);
    return oom ? mt_device_slot(oom->device) == slot : mt_held_device(peak, slot) != NULL;
}

const struct mt_analysis *mt_held_analysis(struct mt_held_at_oom *at_oom,
                                           const struct mt_analysis *peak)
{
    struct mt_question question = {.moment.kind = MT_AT_OOM};
    if (!at_oom->is_made && at_oom->path && listed_oom(peak)) {
        at_oom->is_made = true;
        at_oom->is_there = !mt_analysis_create(&at_oom->analysis, at_oom->path, &question);
    }
    return at_oom->is_there ? &at_oom->analysis : peak;
}

void mt_held_at_oom_clear(struct mt_held_at_oom *at_oom)
{
    if (at_oom->is_made)
        mt_analysis_destroy(&at_oom->analysis);
    free(at_oom->path);
    memset(at_oom, 0, sizeof *at_oom);
}

/* The chosen blocks, and the tree of those with holders. */
struct held {
    const struct mt_lives *lives;
    struct mt_verdict *verdict;
    size_t n;
    uint64_t live; /* bytes */
    struct mt_holder_tree tree;
};

struct box {
    uint64_t found; /* bytes */
    int category;
    const char *certainty;
};

/* Sum the blocks of a step: those that the search found, and the category of most bytes, with the
 * certainty where it is least. */
static void sum(const struct held *held, const struct mt_holder_step *step, struct box *box)
{
    uint64_t category[MT_CATEGORY_COUNT][MT_CERTAINTIES] = {0}, bytes[MT_CATEGORY_COUNT] = {0};
    *box = (struct box){0};
    for (size_t i = 0; i < step->blocks; i++) {
        const struct mt_verdict *verdict = &held->verdict[held->tree.block[step->first + i]];
        const struct mt_life *life = mt_life_of_block(held->lives, verdict->block);
        enum mt_category of = verdict->rule->category;
        box->found += life && life->is_found ? verdict->block->size : 0;
        category[of][mt_certainty_of(verdict->rule)] += verdict->block->size;
        bytes[of] += verdict->block->size;
        if (bytes[of] > bytes[box->category])
            box->category = (int)of;
    }
    box->certainty = mt_certainty_name(mt_least_certain(category[box->category]));
}

/* Convert the steps from one to another, each run of them as one. Recursion is less than
 * MT_HOLDER_DEPTH deep. */
static json_t *branches(const struct held *held, size_t at, size_t end)
{
    json_t *array = json_array();
    for (; at < end; at = held->tree.step[at].end) {
        size_t last = mt_holder_run_end(&held->tree, at);
        const struct mt_holder_step *step = &held->tree.step[last];
        const struct mt_life *life =
            mt_life_of_block(held->lives, held->verdict[step->largest].block);
        const char *place = held->tree.step[at].depth          ? ""
                            : mt_holder_is_garbage(step->root) ? "garbage"
                            : step->root == MT_HOLDER_LOST     ? "lost"
                                                               : "";
        char text[MT_HOLDER_TEXT];
        struct box box;
        sum(held, step, &box);
        mt_holder_run_text(text, sizeof text, &held->tree, at, last);
        json_array_append_new(
            array,
            json_pack("{s:o, s:s, s:I, s:I, s:I, s:I, s:i, s:s, s:I, s:o}", "name",
                      mt_json_text(text), "place", place, "bytes", (json_int_t)step->bytes,
                      "blocks", (json_int_t)step->blocks, "only", (json_int_t)step->only, "found",
                      (json_int_t)box.found, "category", box.category, "certainty", box.certainty,
                      "life", life ? (json_int_t)mt_life_number(held->lives, life) : -1, "children",
                      branches(held, last + 1, step->end)));
    }
    return array;
}

json_t *mt_held_tree_json(const struct mt_lives *lives, const struct mt_analysis *analysis,
                          unsigned slot, int category)
{
    const struct mt_device *device = mt_held_device(analysis, slot);
    if (!device)
        return json_null();
    struct held held = {.lives = lives,
                        .verdict = calloc(device->n_verdicts, sizeof *held.verdict)};
    json_t *object = NULL;
    for (size_t i = 0; i < device->n_verdicts && held.verdict; i++) {
        if (category >= 0 && (int)device->verdicts[i].rule->category != category)
            continue;
        held.verdict[held.n++] = device->verdicts[i];
        held.live += device->verdicts[i].block->size;
    }
    if (held.verdict && !mt_held_tree(&held.tree, device, held.verdict, held.n))
        object =
            json_pack("{s:I, s:I, s:I, s:I, s:o}", "bytes", (json_int_t)held.tree.bytes, "live",
                      (json_int_t)held.live, "blocks", (json_int_t)held.tree.blocks, "time_ns",
                      (json_int_t)device->at.time_ns, "children", branches(&held, 0, held.tree.n));
    mt_holder_tree_clear(&held.tree);
    free(held.verdict);
    return object ? object : json_null();
}
