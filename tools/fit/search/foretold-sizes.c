/* SPDX-License-Identifier: Apache-2.0 */
/* The size of a request by the value, from runs. */
#include "analyzer/support/address-map.h"
#include "foretell.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

static double apart(const struct mt_foretell_run *a, const struct mt_foretell_run *b)
{
    return fabs((double)a->value - (double)b->value);
}

/* Of the runs of a kind, up to two others far from this one and from each other. Returns how many.
 */
static size_t partners(const struct mt_foretell *foretell, const struct mt_foretell_run *run,
                       const struct mt_foretell_run *found[2])
{
    found[0] = found[1] = NULL;
    for (size_t n = 0; n < 2; n++) {
        double most = 0;
        for (size_t i = 0; i < foretell->n; i++) {
            const struct mt_foretell_run *other = &foretell->run[i];
            double far = apart(run, other);
            if (n && apart(found[0], other) < far)
                far = apart(found[0], other);
            if (other->is_whole && other->kind == run->kind && far > most) {
                most = far;
                found[n] = other;
            }
        }
        if (!found[n])
            return n;
    }
    return 2;
}

static double rise(uint64_t from, uint64_t to, const struct mt_foretell_run *a,
                   const struct mt_foretell_run *b)
{
    return ((double)to - (double)from) / ((double)b->value - (double)a->value);
}

/* The line or the curve through the sizes of runs that asked in one order. */
static void by_partners(struct mt_foretell_run *run, size_t i,
                        const struct mt_foretell_run *const other[2])
{
    size_t at = 0, at_first = 0, at_second = 0;
    const struct mt_request *request;
    run->bent_at = other[0]->value;
    while ((request = mt_foretell_next(run->log.device[i], &at))) {
        struct mt_foretold_size *size = &run->size[i][at - 1];
        uint64_t first = mt_foretell_next(other[0]->log.device[i], &at_first)->size;
        uint64_t second =
            other[1] ? mt_foretell_next(other[1]->log.device[i], &at_second)->size : 0;
        if (request->kind != MT_REQUEST_ALLOCATE)
            continue;
        size->slope = rise(request->size, first, run, other[0]);
        if (other[1])
            size->bend = (rise(first, second, other[0], other[1]) - size->slope) /
                         ((double)other[1]->value - (double)run->value);
    }
}

/* --- where no other run asked in this order ----------------------------------------------------
 */

/* How the sizes of two runs that asked in one order rise, by what they would be at another value.
 */
struct lines {
    struct mt_address_map map; /* of a size, the index of its slope, and 1 */
    double *slope;
};

static int make_lines(struct lines *lines, const struct mt_request_log_device *a,
                      const struct mt_request_log_device *b, double width, double further)
{
    const struct mt_request *request;
    size_t at = 0, other_at = 0, n = 0;
    int rc = 0;
    lines->slope = calloc(a->n + 1, sizeof *lines->slope);
    if (!lines->slope)
        return -ENOMEM;
    while (!rc && (request = mt_foretell_next(a, &at))) {
        double other = (double)mt_foretell_next(b, &other_at)->size;
        double slope = (other - (double)request->size) / width;
        double bytes = (double)request->size + further * slope;
        uint64_t size = bytes < 1 ? 1 : (uint64_t)llround(bytes);
        if (request->kind != MT_REQUEST_ALLOCATE || mt_address_map_get(&lines->map, size))
            continue;
        lines->slope[n++] = slope;
        rc = mt_address_map_put(&lines->map, size, (uint32_t)n);
    }
    return rc;
}

/* Of a size that neither of the two has, all is taken to be the value's. */
static int by_lines(struct mt_foretell_run *run, size_t i, const struct mt_foretell_run *a,
                    const struct mt_foretell_run *b)
{
    const struct mt_request_log_device *device = run->log.device[i];
    struct lines lines = {.slope = NULL};
    int rc = make_lines(&lines, a->log.device[i], b->log.device[i],
                        (double)b->value - (double)a->value, (double)run->value - (double)a->value);
    for (size_t j = 0; j < device->n && !rc; j++) {
        const struct mt_request *request = &device->request[j];
        if (request->kind != MT_REQUEST_ALLOCATE)
            continue;
        uint32_t line = mt_address_map_get(&lines.map, request->size);
        run->size[i][j].slope = line         ? lines.slope[line - 1]
                                : run->value ? (double)request->size / (double)run->value
                                             : 0;
    }
    free(lines.slope);
    mt_address_map_clear(&lines.map);
    return rc;
}

/* The nearest run that has another one of its order, and that one. */
static bool find_pair(const struct mt_foretell *foretell, const struct mt_foretell_run *run,
                      const struct mt_foretell_run *pair[2])
{
    pair[0] = NULL;
    for (size_t i = 0; i < foretell->n; i++) {
        const struct mt_foretell_run *other = &foretell->run[i], *found[2];
        if (other->is_whole && other->log.n_devices == run->log.n_devices &&
            (!pair[0] || apart(other, run) < apart(pair[0], run)) &&
            partners(foretell, other, found)) {
            pair[0] = other;
            pair[1] = found[0];
        }
    }
    return pair[0];
}

void mt_foretell_forget_sizes(struct mt_foretell_run *run)
{
    for (size_t i = 0; i < MT_MOST_LOGGED; i++) {
        free(run->size[i]);
        run->size[i] = NULL;
    }
}

int mt_foretell_sizes(const struct mt_foretell *foretell, struct mt_foretell_run *run)
{
    const struct mt_foretell_run *other[2], *pair[2];
    bool has_partners = partners(foretell, run, other);
    int rc = has_partners || find_pair(foretell, run, pair) ? 0 : -ENOENT;
    if (rc || run->size[0])
        return rc;
    for (size_t i = 0; i < run->log.n_devices && !rc; i++) {
        run->size[i] = calloc(run->log.device[i]->n + 1, sizeof *run->size[i]);
        if (!run->size[i])
            rc = -ENOMEM;
        else if (has_partners)
            by_partners(run, i, other);
        else
            rc = by_lines(run, i, pair[0], pair[1]);
    }
    if (rc)
        mt_foretell_forget_sizes(run);
    return rc;
}
