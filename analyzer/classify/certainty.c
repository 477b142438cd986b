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
