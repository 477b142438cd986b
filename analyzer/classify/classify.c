/* SPDX-License-Identifier: Apache-2.0 */
#include "block-facts.h"

size_t mt_rules_count(const struct mt_user_rules *user)
{
    return mt_user_rules_count(user) + mt_n_rules;
}

const struct mt_rule *mt_rule_at(const struct mt_user_rules *user, size_t index)
{
    size_t n = mt_user_rules_count(user);
    return index < n ? mt_user_rule(user, index) : &mt_rules[index - n];
}

size_t mt_rule_index(const struct mt_user_rules *user, const struct mt_rule *rule)
{
    size_t n = mt_user_rules_count(user);
    for (size_t i = 0; i < n; i++)
        if (mt_user_rule(user, i) == rule)
            return i;
    return n + (size_t)(rule - mt_rules);
}

int mt_rule_holds(const struct mt_rule_context *context, size_t index, const struct mt_block *block)
{
    size_t n = mt_user_rules_count(context->user);
    return index < n ? mt_user_rule_holds(context->user, index, context, block)
                     : mt_rules[index - n].holds(context, block);
}

/* Return whether nothing at all is known of the block's making: no stack, no label, no backward.
 * When it was made and freed would show the phase that other blocks' stacks show. */
static bool is_silent(const struct mt_rule_context *context, const struct mt_block *block)
{
    const uint32_t by_time = MT_SAW_END | MT_SAW_LATER_STEP;
    uint32_t thread = mt_thread_id(block->birth->thread);
    return context->tracker && !mt_stack(context->definitions, block->stack)->depth &&
           !block->node_name && !(block->evidence & ~by_time) &&
           !(thread < context->tracker->n_threads &&
             context->tracker->threads[thread].at.is_autograds);
}

const struct mt_rule *mt_classify(const struct mt_rule_context *context,
                                  const struct mt_block *block)
{
    const struct mt_rule *rule = mt_rules;
    for (size_t i = 0, n = mt_user_rules_count(context->user); i < n; i++)
        if (mt_user_rule_holds(context->user, i, context, block))
            return mt_user_rule(context->user, i);
    if (is_silent(context, block))
        return &mt_rules[mt_n_rules - 1];
    while (!rule->holds(context, block))
        rule++;
    return rule;
}

static bool is_parameter_block(const struct mt_verdict *verdict)
{
    return verdict->rule->category == MT_CATEGORY_PARAMETERS;
}

static void classify_each(const struct mt_rule_context *context, struct mt_verdict *verdicts,
                          size_t n)
{
    for (size_t i = 0; i < n; i++)
        verdicts[i].rule = mt_classify(context, verdicts[i].block);
}

static bool has_parameters(const struct mt_verdict *verdicts, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (is_parameter_block(&verdicts[i]))
            return true;
    return false;
}

/* Find the gradients. With labels of gradients, sizes are not needed. Gradients that backward keeps
 * are as large as parameters, or as parts of them. */
static void find_gradients(struct mt_rule_context *context, const struct mt_verdict *verdicts,
                           size_t n, bool some_trained)
{
    uint64_t bytes = 0, kept = 0;
    for (size_t i = 0; i < n; i++) {
        if (!is_parameter_block(&verdicts[i]) || (some_trained && !is_trained(verdicts[i].block)))
            continue;
        bytes += verdicts[i].block->size;
        if (is_as_large_as_gradient(context, verdicts[i].block))
            kept += verdicts[i].block->size;
    }
    context->lacks_gradients = !context->saw_gradients && context->gradients && kept < bytes / 4;
    context->parameter_bytes = bytes;
    context->first_flat = 0;
    for (size_t i = 0; i < n; i++) {
        uint64_t number = mt_block_event(verdicts[i].block);
        if (mt_rule_guesses(verdicts[i].rule) && is_flat(context, verdicts[i].block) &&
            (!context->first_flat || number < context->first_flat))
            context->first_flat = number;
    }
}

/* Collect facts about all blocks that the rules for one block need. */
static void find_makers(struct mt_rule_context *context, const struct mt_verdict *verdicts,
                        size_t n)
{
    uint32_t first = 0;
    context->is_distributed = context->trains_copies = false;
    for (size_t i = 0; i < n; i++) {
        const struct mt_block *block = verdicts[i].block;
        context->trains_copies |= saw(block, MT_SAW_MODULES_PARAMETER) && saw(block, MT_SAW_LEAF) &&
                                  !saw(block, MT_SAW_STEPPED);
        context->is_distributed |= made_under(context, verdicts[i].block, MT_MARK_COMMUNICATION);
        uint32_t line = made_in(context, verdicts[i].block, MT_MARK_MODULE_APPLY)
                            ? apply_line(context, verdicts[i].block)
                            : 0;
        if (line && (!first || line < first))
            first = line;
    }
    context->first_apply_line = first;
}

static bool may_be_copy(const struct mt_rule_context *context, const struct mt_verdict *verdict)
{
    return mt_rule_lets_copy(verdict->rule) || may_be_wrapped_copy(context, verdict->block) ||
           may_be_detached(context, verdict->block);
}

/* Classify twice: the first verdicts show the parameters, which the rules for copies need. Only
 * blocks that the program's own code made can be copies. */
int mt_classify_all(struct mt_rule_context *context, struct mt_verdict *verdicts, size_t n)
{
    int rc = 0, some_trained = 0;
    context->lacks_parameters = context->lacks_gradients = 0;
    context->parameter_bytes = context->first_flat = 0;
    find_makers(context, verdicts, n);
    classify_each(context, verdicts, n);
    context->lacks_parameters = !has_parameters(verdicts, n);
    if (context->lacks_parameters)
        classify_each(context, verdicts, n);
    for (size_t i = 0; i < n; i++)
        some_trained |= is_parameter_block(&verdicts[i]) && is_trained(verdicts[i].block);
    find_gradients(context, verdicts, n, some_trained);
    for (size_t i = 0; i < n && !rc; i++) {
        const struct mt_block *block = verdicts[i].block;
        if (is_parameter_block(&verdicts[i]) && (is_trained(block) || !some_trained) &&
            !may_be_wrapped_copy(context, block))
            rc = mt_equal_sets_add_parameter(
                &context->copies, block,
                mt_block_stands_in(context->definitions, block) ? block->birth->when.backwards : 0);
    }
    for (size_t i = 0; i < n && !rc; i++)
        if (made_outside(verdicts[i].block) && may_be_copy(context, &verdicts[i]))
            rc = mt_equal_sets_add(&context->copies, verdicts[i].block,
                                   python_stack(context, verdicts[i].block));
    if (!rc)
        classify_each(context, verdicts, n);
    return rc;
}

const char *mt_certainty_name(enum mt_certainty certainty)
{
    static const char *const names[] = {
        [MT_CERTAIN] = "certain", [MT_LIKELY] = "likely", [MT_GUESS] = "guess"};
    return names[certainty];
}

enum mt_certainty mt_certainty_find(const char *name)
{
    enum mt_certainty certainty = MT_GUESS;
    while (certainty > MT_CERTAIN && strcmp(name, mt_certainty_name(certainty)))
        certainty--;
    return certainty;
}

enum mt_certainty mt_least_certain(const uint64_t bytes[MT_CERTAINTIES])
{
    uint64_t least = (bytes[MT_CERTAIN] + bytes[MT_LIKELY] + bytes[MT_GUESS]) / 100;
    return bytes[MT_GUESS] > least                      ? MT_GUESS
           : bytes[MT_GUESS] + bytes[MT_LIKELY] > least ? MT_LIKELY
                                                        : MT_CERTAIN;
}

char mt_certainty_mark(enum mt_certainty certainty)
{
    static const char marks[] = {[MT_CERTAIN] = ' ', [MT_LIKELY] = '~', [MT_GUESS] = '?'};
    return marks[certainty];
}

char mt_certainty_row(enum mt_certainty *least, enum mt_certainty certainty)
{
    if (*least < certainty)
        *least = certainty;
    return mt_certainty_mark(certainty);
}

void mt_certainty_legend(FILE *out, const char *indent, enum mt_certainty least)
{
    if (least > MT_CERTAIN)
        fprintf(out, "%s~ likely, by place or use; ? a guess, by lifetime or size\n", indent);
}
