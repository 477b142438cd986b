/* SPDX-License-Identifier: Apache-2.0 */
#include "nearest.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define LONGEST 32u

static unsigned least(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

static bool is_same(char a, char b)
{
    return tolower((unsigned char)a) == tolower((unsigned char)b);
}

/* Return the number of letters that are wrong, missing, extra, or swapped with the next one. */
static unsigned distance(const char *a, size_t n_a, const char *b, size_t n_b)
{
    unsigned row[3][LONGEST + 1]; /* row i: from a's first i letters to b's first j */
    for (unsigned j = 0; j <= n_b; j++)
        row[0][j] = j;
    for (unsigned i = 1; i <= n_a; i++) {
        unsigned *now = row[i % 3], *before = row[(i + 2) % 3], *earlier = row[(i + 1) % 3];
        now[0] = i;
        for (unsigned j = 1; j <= n_b; j++) {
            now[j] = least(before[j - 1] + !is_same(a[i - 1], b[j - 1]),
                           least(before[j], now[j - 1]) + 1);
            if (i > 1 && j > 1 && is_same(a[i - 1], b[j - 2]) && is_same(a[i - 2], b[j - 1]))
                now[j] = least(now[j], earlier[j - 2] + 1);
        }
    }
    return row[n_a % 3][n_b];
}

/* Accept two mistakes in a long word, one in a short one, or the beginning or end of a word
 * ("4090"). */
void mt_nearest_offer(struct mt_nearest *nearest, const char *word)
{
    size_t n = strlen(word);
    unsigned most = nearest->length > 4 || n > 5 ? 2 : 1;
    if (nearest->length < 2 || nearest->length > LONGEST || n > LONGEST)
        return;
    unsigned found = distance(nearest->typed, nearest->length, word, n);
    size_t end = n > nearest->length ? n - nearest->length : 0;
    bool is_end = nearest->length > 2 && !strncasecmp(nearest->typed, word + end, nearest->length);
    if (found > most && (is_end || !strncasecmp(nearest->typed, word, nearest->length)))
        found = most;
    if (found <= most && (!nearest->found || found < nearest->distance)) {
        nearest->found = word;
        nearest->distance = found;
    }
}

const char *mt_nearest_text(const struct mt_nearest *nearest, const char *before, char *out,
                            size_t size)
{
    if (nearest->found)
        snprintf(out, size, "; did you mean '%s%s'?", before, nearest->found);
    else
        *out = '\0';
    return out;
}

void mt_list_choices(char *out, size_t size, const char *choices)
{
    size_t used = 0;
    for (const char *at = choices, *end; *at && used < size; at = end + (*end == ' ')) {
        end = at + strcspn(at, " ");
        const char *before = at == choices ? "" : *end ? ", " : " or ";
        used += (size_t)snprintf(out + used, size - used, "%s%.*s", before, (int)(end - at), at);
    }
}

const char *mt_unknown_text(char out[MT_UNKNOWN_TEXT], const char *what, const char *typed,
                            size_t length, const char *choices)
{
    char copy[MT_UNKNOWN_TEXT], list[MT_UNKNOWN_TEXT - 64] = "", *rest = copy;
    struct mt_nearest nearest = {.typed = typed, .length = length};
    snprintf(copy, sizeof copy, "%s", choices);
    for (char *word; (word = strsep(&rest, " "));)
        mt_nearest_offer(&nearest, word);
    mt_list_choices(list, sizeof list, choices);
    int n = snprintf(out, MT_UNKNOWN_TEXT, "unknown %s '%.*s'", what,
                     length < MT_TYPED_SHOWN ? (int)length : MT_TYPED_SHOWN, typed);
    if (nearest.found)
        mt_nearest_text(&nearest, "", out + n, MT_UNKNOWN_TEXT - (size_t)n);
    else
        snprintf(out + n, MT_UNKNOWN_TEXT - (size_t)n, "; use %s", list);
    return out;
}
