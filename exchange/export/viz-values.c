/* SPDX-License-Identifier: Apache-2.0 */
/* Values of a snapshot's pickle that come again and again: written once. */
#include "analyzer/classify/modules.h"
#include "analyzer/support/text.h"
#include "viz.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

static void put_frame(struct mt_viz *viz, uint32_t id)
{
    struct mt_pickle *pickle = viz->pickle;
    uint32_t *memo = mt_by_id(&viz->frames, id);
    if (*memo) {
        mt_pickle_get(pickle, *memo - 1);
        return;
    }
    const struct mt_frame *frame = mt_named_frame(viz->pass->replay.definitions, id);
    mt_pickle_dict(pickle);
    mt_pickle_key(pickle, "name");
    mt_pickle_text(pickle, frame->function);
    mt_pickle_key(pickle, "filename");
    mt_pickle_text(pickle, frame->file);
    mt_pickle_key(pickle, "line");
    mt_pickle_number(pickle, frame->line);
    mt_pickle_dict_end(pickle);
    *memo = mt_pickle_memoize(pickle) + 1;
}

void mt_viz_frames(struct mt_viz *viz, const char *key, uint32_t stack)
{
    const struct mt_definitions *d = viz->pass->replay.definitions;
    struct mt_pickle *pickle = viz->pickle;
    struct mt_pickle_list list;
    mt_pickle_key(pickle, key);
    uint32_t *memo = mt_by_id(&viz->stacks, stack);
    if (*memo) {
        mt_pickle_get(pickle, *memo - 1);
        return;
    }
    mt_pickle_list(pickle, &list);
    for (uint32_t at = stack; mt_stack(d, at)->depth; at = mt_stack(d, at)->parent) {
        mt_pickle_item(pickle, &list);
        put_frame(viz, mt_stack(d, at)->frame);
    }
    mt_pickle_list_end(pickle, &list);
    *memo = mt_pickle_memoize(pickle) + 1;
}

/* Put a frame as Python writes a traceback, of which autograd keeps the lines: the outermost first.
 */
static void put_forward_frame(struct mt_viz *viz, struct mt_pickle_list *list,
                              const struct mt_frame *frame)
{
    char *text = NULL;
    if (asprintf(&text, "  File \"%s\", line %u, in %s\n", frame->file, frame->line,
                 frame->function) < 0)
        text = NULL;
    mt_pickle_item(viz->pickle, list);
    mt_pickle_text(viz->pickle, text ? text : frame->function);
    free(text);
}

void mt_viz_forward_frames(struct mt_viz *viz, uint32_t stack)
{
    const struct mt_definitions *d = viz->pass->replay.definitions;
    struct mt_pickle *pickle = viz->pickle;
    struct mt_pickle_list list;
    uint32_t *memo = mt_by_id(&viz->forward, stack);
    if (!mt_stack(d, stack)->depth)
        return;
    if (*memo) {
        mt_pickle_key(pickle, "forward_frames");
        mt_pickle_get(pickle, *memo - 1);
        return;
    }
    uint32_t depth = mt_stack(d, stack)->depth, at = stack;
    const struct mt_frame **frames = calloc((size_t)depth + 1, sizeof *frames);
    if (!frames) {
        viz->rc = -ENOMEM;
        return;
    }
    for (uint32_t i = depth; i > 0; i--, at = mt_stack(d, at)->parent)
        frames[i - 1] = mt_named_frame(d, mt_stack(d, at)->frame);
    mt_pickle_key(pickle, "forward_frames");
    mt_pickle_list(pickle, &list);
    for (uint32_t i = 0; i < depth; i++)
        put_forward_frame(viz, &list, frames[i]);
    mt_pickle_list_end(pickle, &list);
    *memo = mt_pickle_memoize(pickle) + 1;
    free(frames);
}

/* Write the category: memory_viz has a colour for each, and one that is called so. */
void mt_viz_category(struct mt_viz *viz, int rule)
{
    const struct mt_user_rules *user = viz->export->question.rules;
    enum mt_category category =
        rule < 0 ? MT_CATEGORY_OTHER : mt_rule_at(user, (size_t)rule)->category;
    mt_pickle_key(viz->pickle, "category");
    mt_pickle_key(viz->pickle,
                  category == MT_CATEGORY_OTHER ? "unknown" : mt_categories[category].name);
}

static void put_text(struct mt_viz *viz, const char *text)
{
    uint32_t place = 0;
    if (mt_texts_add(viz->texts, text, &place) ||
        MT_GROW(viz->text_memos, viz->text_memos_capacity, (size_t)place)) {
        viz->rc = -ENOMEM;
        return;
    }
    if (viz->text_memos[place]) {
        mt_pickle_get(viz->pickle, viz->text_memos[place] - 1);
        return;
    }
    mt_pickle_text(viz->pickle, text);
    viz->text_memos[place] = mt_pickle_memoize(viz->pickle) + 1;
}

/* Write "activations: has a grad_fn (certain); forward; layers.0.mlp". */
void mt_viz_metadata(struct mt_viz *viz, const struct mt_block *block, int rule)
{
    const struct mt_replay *replay = &viz->pass->replay;
    char text[1024];
    if (rule < 0 || !block)
        return;
    const struct mt_rule *found = mt_rule_at(viz->export->question.rules, (size_t)rule);
    const struct mt_verdict verdict = {block, found};
    const char *module =
        mt_stack_module(replay->definitions, mt_block_module(replay->definitions, &verdict));
    enum mt_phase phase = (enum mt_phase)block->birth->when.phase;
    snprintf(text, sizeof text, "%s: %s (%s)", mt_categories[found->category].label, found->name,
             mt_certainty_name(found->certainty));
    if (phase != MT_PHASE_OUTSIDE)
        mt_text_append(text, sizeof text, "; %s", mt_phase_names[phase].name);
    if (*module)
        mt_text_append(text, sizeof text, "; %s", module);
    mt_pickle_key(viz->pickle, "user_metadata");
    put_text(viz, text);
}

void mt_viz_pool(struct mt_viz *viz, const char *key, uint64_t pool)
{
    mt_pickle_key(viz->pickle, key);
    mt_pickle_number(viz->pickle, 0);
    mt_pickle_number(viz->pickle, pool);
    mt_pickle_pair(viz->pickle);
}
