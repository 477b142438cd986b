/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Match lines of code between runs, even if lines have moved within functions, or files and
 * functions have new names.
 */
#ifndef MT_MATCH_H
#define MT_MATCH_H

#include "digest.h"

struct mt_line {
    const char *file, *function; /* the digests' own */
    uint32_t line;
    /* Its names in an old run; NULL: unchanged apart from the folder. */
    const char *old_file, *old_function;
    uint32_t old_line;
    const struct mt_digest_place *place;
    size_t n_places; /* one for each operator */
};

struct mt_matching {
    struct mt_line *line;
    size_t n, capacity;
    struct mt_function *function; /* match.c's */
    size_t n_functions, functions_capacity;
    uint32_t **of_place; /* by run and place: an index of line */
    size_t n_runs, first_old;
};

/* Match the places of n runs on one device. Old runs come last, from first_old on. The first run
 * with a line names it. Return 0 or -ENOMEM. Call mt_matching_clear in any case. The digests must
 * outlive the matching. */
int mt_match(struct mt_matching *matching, const struct mt_digest_device *const *runs, size_t n,
             size_t first_old);
void mt_matching_clear(struct mt_matching *matching);

/* Return the index of a site's line; UINT32_MAX: its digest has no such place. */
uint32_t mt_matching_line(const struct mt_matching *matching, size_t run,
                          const struct mt_digest_device *device, const struct mt_digest_site *site);

/* Return how likely two functions without namesakes are the same one renamed: 1 and more is likely.
 */
struct mt_function {
    const char *file, *name;
    const struct mt_digest_place *place;
    size_t n_places;
    uint32_t *lines; /* indices of mt_matching.line, in the order of the code */
    size_t n, capacity;
};
double mt_rename_score(const struct mt_function *a, const struct mt_function *b);

/* Pair lines of one function in their order, or by number if that fits equally well: a[i] of one
 * run with b[pair[i]] of another; SIZE_MAX: none. Return 0 or -ENOMEM. */
int mt_align_lines(size_t *pair, const struct mt_line *const *a, size_t n, const struct mt_line *b,
                   size_t m);

#endif
