/* SPDX-License-Identifier: Apache-2.0 */
/* The similarity of two lines or two functions. */
#include "match.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define MOST_CELLS (4u << 20) /* above, lines are paired by their numbers only */

static int min(int a, int b)
{
    return a < b ? a : b;
}

/* Return the similarity of two sizes, 0 to 8. */
static int nearness(uint64_t a, uint64_t b)
{
    double most = (double)(a > b ? a : b), least = (double)(a > b ? b : a);
    return most > 0 ? (int)(8 * least / most) : 8;
}

/* Return a score; 0: nothing in common. What lines allocate counts more than where they are. */
static int similarity(const struct mt_line *a, const struct mt_line *b)
{
    int best = 0;
    for (size_t i = 0; i < a->n_places; i++)
        for (size_t j = 0; j < b->n_places; j++) {
            const struct mt_digest_place *x = &a->place[i], *y = &b->place[j];
            int score = 4 + nearness(x->most_bytes, y->most_bytes) +
                        2 * (x->allocations == y->allocations) + 2 * (x->saved == y->saved) +
                        (x->phases == y->phases) + (a->n_places == b->n_places) +
                        (a->line == b->line);
            if (!strcmp(x->operator_name, y->operator_name) && score > best)
                best = score;
        }
    return best;
}

static void pair_by_number(size_t *pair, const struct mt_line *const *a, size_t n,
                           const struct mt_line *b, size_t m)
{
    for (size_t i = 0, j = 0; i < n; i++) {
        while (j < m && b[j].line < a[i]->line)
            j++;
        if (j < m && b[j].line == a[i]->line)
            pair[i] = j;
    }
}

static bool same_line(const struct mt_line *a, const struct mt_line *b)
{
    if (a->n_places != b->n_places)
        return false;
    for (size_t i = 0; i < a->n_places; i++)
        if (strcmp(a->place[i].operator_name, b->place[i].operator_name) ||
            a->place[i].most_bytes != b->place[i].most_bytes ||
            a->place[i].allocations != b->place[i].allocations)
            return false;
    return true;
}

/* Count the pairs that allocate the same. */
static size_t count_same(const size_t *pair, const struct mt_line *const *a, size_t n,
                         const struct mt_line *b)
{
    size_t same = 0;
    for (size_t i = 0; i < n; i++)
        same += pair[i] != SIZE_MAX && same_line(a[i], &b[pair[i]]);
    return same;
}

/* Pair lines by number instead, if one side's numbers all exist on the other: the code may not have
 * changed at all. Do not if the order of their allocations fits better, since lines have been
 * added. */
static int prefer_numbers(size_t *pair, const struct mt_line *const *a, size_t n,
                          const struct mt_line *b, size_t m)
{
    size_t *numbers = calloc(n + 1, sizeof *numbers), paired = 0;
    if (!numbers)
        return -ENOMEM;
    for (size_t i = 0; i < n; i++)
        numbers[i] = SIZE_MAX;
    pair_by_number(numbers, a, n, b, m);
    for (size_t i = 0; i < n; i++)
        paired += numbers[i] != SIZE_MAX;
    if (paired == (n < m ? n : m) && count_same(numbers, a, n, b) >= count_same(pair, a, n, b))
        memcpy(pair, numbers, n * sizeof *pair);
    free(numbers);
    return 0;
}

/* Fill in the best alignments' sums: best[i * (m + 1) + j] is for a[i], b[j] and what follows. */
static void fill(int *best, const struct mt_line *const *a, size_t n, const struct mt_line *b,
                 size_t m)
{
    for (size_t i = n; i-- > 0;)
        for (size_t j = m; j-- > 0;) {
            int *cell = &best[i * (m + 1) + j], alike = similarity(a[i], &b[j]);
            int skip = -min(-cell[1], -cell[m + 1]);
            *cell = alike && cell[m + 2] + alike > skip ? cell[m + 2] + alike : skip;
        }
}

int mt_align_lines(size_t *pair, const struct mt_line *const *a, size_t n, const struct mt_line *b,
                   size_t m)
{
    for (size_t i = 0; i < n; i++)
        pair[i] = SIZE_MAX;
    if ((n + 1) * (m + 1) > MOST_CELLS) {
        pair_by_number(pair, a, n, b, m);
        return 0;
    }
    int *best = calloc((n + 1) * (m + 1), sizeof *best);
    if (!best)
        return -ENOMEM;
    fill(best, a, n, b, m);
    for (size_t i = 0, j = 0; i < n && j < m;) {
        const int *cell = &best[i * (m + 1) + j];
        if (*cell == cell[m + 1]) {
            i++;
        } else if (*cell == cell[1]) {
            j++;
        } else {
            pair[i++] = j++;
        }
    }
    free(best);
    return prefer_numbers(pair, a, n, b, m);
}

static const char *after(const char *text, char sign)
{
    const char *at = strrchr(text, sign);
    return at ? at + 1 : text;
}

static bool same_content(const struct mt_digest_place *a, const struct mt_digest_place *b)
{
    return a->most_bytes == b->most_bytes && a->allocations == b->allocations &&
           !strcmp(a->operator_name, b->operator_name);
}

/* Count the places that both have, in their order. */
static size_t count_common(const struct mt_function *a, const struct mt_function *b)
{
    size_t common = 0;
    for (size_t i = 0, from = 0; i < a->n_places; i++)
        for (size_t j = from; j < b->n_places; j++)
            if (same_content(&a->place[i], &b->place[j])) {
                common++;
                from = j + 1;
                break;
            }
    return common;
}

/* Return whether enough places are equal that the names need not be similar. */
static bool is_distinctive(size_t common, size_t most)
{
    return common >= 3 && common * 4 >= most * 3;
}

double mt_rename_score(const struct mt_function *a, const struct mt_function *b)
{
    int same_function = !strcmp(a->name, b->name);
    int same_method = !strcmp(after(a->name, '.'), after(b->name, '.'));
    int same_file = !strcmp(a->file, b->file);
    int same_base = !strcmp(after(a->file, '/'), after(b->file, '/'));
    double names = same_function && same_base ? 1
                   : same_file && same_method ? 0.7
                   : same_function            ? 0.6
                   : same_base && same_method ? 0.5
                   : same_file || same_method ? 0.3
                                              : 0;
    size_t common = count_common(a, b);
    size_t most = a->n_places > b->n_places ? a->n_places : b->n_places;
    return names + is_distinctive(common, most) + (double)common / (double)most;
}
