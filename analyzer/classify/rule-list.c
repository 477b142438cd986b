/* SPDX-License-Identifier: Apache-2.0 */
#include "classify.h"

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

const struct mt_rule *mt_classify(const struct mt_rule_context *context,
                                  const struct mt_block *block)
{
    const struct mt_rule *rule = mt_rules;
    for (size_t i = 0, n = mt_user_rules_count(context->user); i < n; i++)
        if (mt_user_rule_holds(context->user, i, context, block))
            return mt_user_rule(context->user, i);
    while (!rule->holds(context, block))
        rule++;
    return rule;
}
