/* SPDX-License-Identifier: Apache-2.0 */
#include "match.h"
#include "analyzer/support/grow.h"
#include "analyzer/support/search.h"
#include "analyzer/support/text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define LIKELY 1.0
#define MOST_RENAMES 1000u /* with more functions without namesakes, do not search for renames */

static bool same_function(const struct mt_digest_place *a, const struct mt_digest_place *b)
{
    return !strcmp(a->file, b->file) && !strcmp(a->function, b->function);
}

MT_ORDER(by_name, struct mt_function, MT_BY_TEXT(file) ?: MT_BY_TEXT(name))

/* List a run's functions by name, as its places are sorted. There is room for one for each
 * place. */
static size_t list_functions(struct mt_function *functions, const struct mt_digest_device *run)
{
    size_t n = 0;
    for (size_t i = 0; i < run->n_places; i++) {
        const struct mt_digest_place *place = &run->place[i];
        if (!n || !same_function(functions[n - 1].place, place))
            functions[n++] =
                (struct mt_function){.file = place->file, .name = place->function, .place = place};
        functions[n - 1].n_places++;
    }
    return n;
}

/* List a function's lines. There is room for one for each place. */
static size_t list_lines(struct mt_line *lines, const struct mt_function *function)
{
    size_t n = 0;
    for (size_t i = 0; i < function->n_places; i++) {
        const struct mt_digest_place *place = &function->place[i];
        if (!n || lines[n - 1].line != place->line)
            lines[n++] = (struct mt_line){.file = function->file,
                                          .function = function->name,
                                          .line = place->line,
                                          .place = place};
        lines[n - 1].n_places++;
    }
    return n;
}

/* Add a line at an index of the function's lines. */
static int add_line(struct mt_matching *m, struct mt_function *function, size_t at,
                    const struct mt_line *line)
{
    if (MT_GROW(m->line, m->capacity, m->n) ||
        MT_GROW(function->lines, function->capacity, function->n))
        return -ENOMEM;
    memmove(&function->lines[at + 1], &function->lines[at],
            (function->n++ - at) * sizeof *function->lines);
    m->line[m->n] = *line;
    function->lines[at] = (uint32_t)m->n++;
    return 0;
}

static void note_places(uint32_t *of_place, const struct mt_digest_device *run,
                        const struct mt_line *line, uint32_t index)
{
    for (size_t i = 0; i < line->n_places; i++)
        of_place[(size_t)(line->place - run->place) + i] = index;
}

/* Note what an old run calls a known line. */
static void note_names(struct mt_line *known, const struct mt_line *line)
{
    known->old_line = line->line;
    if (strcmp(known->function, line->function))
        known->old_function = line->function;
    if (strcmp(mt_last_part(known->file), mt_last_part(line->file)))
        known->old_file = line->file;
}

/* Add a run's lines to a function that may already have some. */
static int take_lines(struct mt_matching *m, struct mt_function *known,
                      const struct mt_function *function, const struct mt_digest_device *run,
                      uint32_t *of_place)
{
    struct mt_line *lines = calloc(function->n_places + 1, sizeof *lines);
    const struct mt_line **others = calloc(known->n + 1, sizeof *others);
    size_t *pair = calloc(known->n + 1, sizeof *pair), n_known = known->n;
    uint32_t *index = calloc(function->n_places + 1, sizeof *index);
    int rc = lines && others && pair && index ? 0 : -ENOMEM;
    size_t n = rc ? 0 : list_lines(lines, function);
    for (size_t i = 0; i < n_known && !rc; i++)
        others[i] = &m->line[known->lines[i]];
    if (!rc)
        rc = mt_align_lines(pair, others, n_known, lines, n);
    for (size_t i = 0; i < n_known && !rc; i++)
        if (pair[i] != SIZE_MAX)
            index[pair[i]] = known->lines[i] + 1;
    for (size_t i = 0, at = 0; i < n && !rc; i++, at++) {
        if (!index[i]) {
            rc = add_line(m, known, at, &lines[i]);
            index[i] = (uint32_t)m->n;
        }
        if (rc)
            break;
        while (known->lines[at] != index[i] - 1)
            at++;
        if (m->n_runs >= m->first_old)
            note_names(&m->line[index[i] - 1], &lines[i]);
        note_places(of_place, run, &lines[i], index[i] - 1);
    }
    free(lines);
    free(others);
    free(pair);
    free(index);
    return rc;
}

struct pairs {
    size_t *known;       /* the matching's function of each of the run's; SIZE_MAX: none */
    unsigned char *used; /* by the matching's function */
};

static void pair_namesakes(struct pairs *pairs, const struct mt_matching *m,
                           const struct mt_function *functions, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const struct mt_function *found =
            m->n_functions
                ? bsearch(&functions[i], m->function, m->n_functions, sizeof *m->function, by_name)
                : NULL;
        pairs->known[i] = found ? (size_t)(found - m->function) : SIZE_MAX;
        if (found)
            pairs->used[found - m->function] = 1;
    }
}

struct candidate {
    double score;
    size_t run, known;
};

/* Return whether no function of a file has a namesake in the other run. */
static bool is_alone(const char *file, const struct mt_function *functions, size_t n,
                     const size_t *known, const unsigned char *used)
{
    for (size_t i = 0; i < n; i++)
        if (!strcmp(functions[i].file, file) && (known ? known[i] != SIZE_MAX : used[i]))
            return false;
    return true;
}

/* Return whether two functions of one name are in files that only one run each has: the file was
 * renamed, even if all that it allocates has changed. */
static bool are_of_renamed_file(const struct mt_function *a, const struct mt_function *b,
                                const bool *is_alone_file, size_t i, const bool *is_alone_known,
                                size_t j)
{
    return is_alone_file[i] && is_alone_known[j] && !strcmp(a->name, b->name);
}

MT_ORDER(by_score, struct candidate, MT_FALLING(score) ?: MT_RISING(run) ?: MT_RISING(known))

/* Pair renamed functions, the most likely first. */
static int pair_renamed(struct pairs *pairs, const struct mt_matching *m,
                        const struct mt_function *functions, size_t n)
{
    struct candidate *candidates = NULL;
    size_t n_candidates = 0, capacity = 0, alone = 0;
    for (size_t i = 0; i < n; i++)
        alone += pairs->known[i] == SIZE_MAX;
    bool *is_alone_file = calloc(n + 1, sizeof *is_alone_file);
    bool *is_alone_known = calloc(m->n_functions + 1, sizeof *is_alone_known);
    int rc = is_alone_file && is_alone_known ? 0 : -ENOMEM;
    if (alone > MOST_RENAMES)
        n = 0;
    for (size_t i = 0; i < n && !rc; i++)
        is_alone_file[i] = is_alone(functions[i].file, functions, n, pairs->known, NULL);
    for (size_t j = 0; j < m->n_functions && n && !rc; j++)
        is_alone_known[j] = !pairs->used[j] && is_alone(m->function[j].file, m->function,
                                                        m->n_functions, NULL, pairs->used);
    for (size_t i = 0; i < n && !rc; i++)
        for (size_t j = 0; j < m->n_functions && pairs->known[i] == SIZE_MAX && !rc; j++) {
            double score = pairs->used[j] ? 0 : mt_rename_score(&functions[i], &m->function[j]);
            if (!pairs->used[j] && are_of_renamed_file(&functions[i], &m->function[j],
                                                       is_alone_file, i, is_alone_known, j))
                score += LIKELY;
            if (score < LIKELY)
                continue;
            if (MT_GROW(candidates, capacity, n_candidates)) {
                rc = -ENOMEM;
                break;
            }
            candidates[n_candidates++] = (struct candidate){score, i, j};
        }
    if (n_candidates)
        qsort(candidates, n_candidates, sizeof *candidates, by_score);
    for (size_t i = 0; i < n_candidates; i++) {
        const struct candidate *at = &candidates[i];
        if (pairs->known[at->run] == SIZE_MAX && !pairs->used[at->known]) {
            pairs->known[at->run] = at->known;
            pairs->used[at->known] = 1;
        }
    }
    free(candidates);
    free(is_alone_file);
    free(is_alone_known);
    return rc;
}

static int take_functions(struct mt_matching *m, const struct pairs *pairs,
                          const struct mt_function *functions, size_t n,
                          const struct mt_digest_device *run, uint32_t *of_place)
{
    for (size_t i = 0; i < n; i++) {
        size_t known = pairs->known[i];
        if (known == SIZE_MAX) {
            if (MT_GROW(m->function, m->functions_capacity, m->n_functions))
                return -ENOMEM;
            m->function[known = m->n_functions++] = functions[i];
        }
        if (take_lines(m, &m->function[known], &functions[i], run, of_place))
            return -ENOMEM;
    }
    if (m->n_functions)
        qsort(m->function, m->n_functions, sizeof *m->function, by_name);
    return 0;
}

static int take_run(struct mt_matching *m, const struct mt_digest_device *run, uint32_t **of_place)
{
    struct mt_function *functions = calloc(run->n_places + 1, sizeof *functions);
    size_t n = functions ? list_functions(functions, run) : 0;
    struct pairs pairs = {calloc(n + 1, sizeof *pairs.known), calloc(m->n_functions + 1, 1)};
    *of_place = calloc(run->n_places + 1, sizeof **of_place);
    int rc = functions && pairs.known && pairs.used && *of_place ? 0 : -ENOMEM;
    if (!rc) {
        pair_namesakes(&pairs, m, functions, n);
        rc = pair_renamed(&pairs, m, functions, n);
    }
    if (!rc)
        rc = take_functions(m, &pairs, functions, n, run, *of_place);
    free(pairs.known);
    free(pairs.used);
    free(functions);
    return rc;
}

int mt_match(struct mt_matching *m, const struct mt_digest_device *const *runs, size_t n,
             size_t first_old)
{
    *m = (struct mt_matching){.of_place = calloc(n + 1, sizeof *m->of_place),
                              .first_old = first_old};
    if (!m->of_place)
        return -ENOMEM;
    for (; m->n_runs < n; m->n_runs++)
        if (take_run(m, runs[m->n_runs], &m->of_place[m->n_runs])) {
            m->n_runs++;
            return -ENOMEM;
        }
    return 0;
}

void mt_matching_clear(struct mt_matching *m)
{
    for (size_t i = 0; i < m->n_runs; i++)
        free(m->of_place[i]);
    for (size_t i = 0; i < m->n_functions; i++)
        free(m->function[i].lines);
    free(m->function);
    free(m->of_place);
    free(m->line);
    *m = (struct mt_matching){0};
}

uint32_t mt_matching_line(const struct mt_matching *m, size_t run,
                          const struct mt_digest_device *device, const struct mt_digest_site *site)
{
    const struct mt_digest_place key = {site->function, site->file, site->line,
                                        site->operator_name};
    const struct mt_digest_place *place =
        device->n_places ? bsearch(&key, device->place, device->n_places, sizeof *device->place,
                                   mt_digest_place_order)
                         : NULL;
    return place ? m->of_place[run][place - device->place] : UINT32_MAX;
}
