/* SPDX-License-Identifier: Apache-2.0 */
#include "analyzer/support/address-map.h"
#include "analyzer/support/grow.h"
#include "analyzer/support/search.h"
#include "planner/allocator/model.h"
#include "search.h"

#include <math.h>

#define PIECE 4096u /* requests between checks of whether a replay has run out of memory */

static void forget_sizes(struct mt_known_run *run)
{
    for (size_t i = 0; i < MT_MOST_LOGGED; i++) {
        free(run->size[i]);
        run->size[i] = NULL;
    }
}

void mt_known_clear(struct mt_known_runs *known)
{
    for (size_t i = 0; i < known->n; i++) {
        forget_sizes(&known->run[i]);
        mt_request_log_clear(&known->run[i].log);
    }
    free(known->run);
    free(known->room);
    *known = (struct mt_known_runs){0};
}

/* --- orders of requests ----------------------------------------------------------------------- */

/* Return the next request of PyTorch, skipping changes of others' memory; NULL: none. */
static const struct mt_request *next(const struct mt_request_log_device *device, size_t *at)
{
    while (*at < device->n && device->request[*at].kind == MT_REQUEST_OTHERS)
        ++*at;
    return *at < device->n ? &device->request[(*at)++] : NULL;
}

static bool is_same(const struct mt_request *a, const struct mt_request *b)
{
    return a->kind == b->kind && a->block == b->block && a->stream == b->stream &&
           a->pool == b->pool;
}

/* Return whether two runs made their requests in the same order; a truncated run as far as it goes.
 */
static bool are_alike(const struct mt_known_run *whole, const struct mt_known_run *other)
{
    if (whole->log.n_devices != other->log.n_devices)
        return false;
    for (size_t i = 0; i < whole->log.n_devices; i++) {
        const struct mt_request *a, *b;
        size_t at = 0, other_at = 0;
        do {
            a = next(whole->log.device[i], &at);
            b = next(other->log.device[i], &other_at);
            if (a && b && !is_same(a, b))
                return false;
        } while (a && b);
        if (b || (a && mt_known_is_complete(other)))
            return false;
    }
    return true;
}

static double distance(uint64_t a, uint64_t b)
{
    return fabs(log(((double)a + 1) / ((double)b + 1)));
}

/* Find the kind of a run: that of the nearest complete run with the same order. A truncated run may
 * match several kinds. */
static void find_kind(const struct mt_known_runs *known, struct mt_known_run *run)
{
    const struct mt_known_run *like = NULL;
    for (const struct mt_known_run *other = known->run; other < known->run + known->n; other++)
        if (other != run && other->kind != SIZE_MAX && mt_known_is_complete(other) &&
            (!like || distance(other->value, run->value) < distance(like->value, run->value)) &&
            are_alike(other, run))
            like = other;
    run->kind = like ? like->kind : mt_known_is_complete(run) ? run->id : SIZE_MAX;
}

int mt_known_add(struct mt_known_runs *known, struct mt_known_run run)
{
    size_t at = MT_LEADING(i, known->n, known->run[i].value <= run.value);
    if (MT_GROW(known->run, known->capacity, known->n)) {
        mt_request_log_clear(&run.log);
        return -ENOMEM;
    }
    memmove(&known->run[at + 1], &known->run[at], (known->n - at) * sizeof run);
    run.id = known->n++;
    run.kind = SIZE_MAX;
    known->run[at] = run;
    for (size_t i = 0; i < known->n; i++) {
        forget_sizes(&known->run[i]);
        if (known->run[i].log.n_devices && (i == at || !mt_known_is_complete(&known->run[i])))
            find_kind(known, &known->run[i]);
    }
    return 0;
}

const struct mt_known_run *mt_known_after(const struct mt_known_runs *known,
                                          const struct mt_known_run *from)
{
    const struct mt_known_run *run = from ? from + 1 : known->run;
    for (; run < known->run + known->n; run++)
        if (mt_known_is_complete(run) && (!from || run->value > from->value))
            return run;
    return NULL;
}

/* Return the run that predicts a value; NULL: none. The nearest run decides the order of its
 * requests; the nearest complete run with that order supplies them. */
static struct mt_known_run *nearest(const struct mt_known_runs *known, uint64_t value)
{
    struct mt_known_run *sign = NULL, *found = NULL;
    for (size_t i = 0; i < known->n; i++) {
        struct mt_known_run *run = &known->run[i];
        if (run->kind != SIZE_MAX &&
            (!sign || distance(run->value, value) < distance(sign->value, value)))
            sign = run;
    }
    for (size_t i = 0; sign && i < known->n; i++) {
        struct mt_known_run *run = &known->run[i];
        if (mt_known_is_complete(run) && run->kind == sign->kind &&
            (!found || distance(run->value, value) < distance(found->value, value)))
            found = run;
    }
    return found;
}

/* --- sizes by the value ----------------------------------------------------------------------- */

static double apart(const struct mt_known_run *a, const struct mt_known_run *b)
{
    return fabs((double)a->value - (double)b->value);
}

/* Find up to two more runs of this kind, far from this one and from each other. Return how many. */
static size_t find_partners(const struct mt_known_runs *known, const struct mt_known_run *run,
                            const struct mt_known_run *found[2])
{
    found[0] = found[1] = NULL;
    for (size_t n = 0; n < 2; n++) {
        double most = 0;
        for (size_t i = 0; i < known->n; i++) {
            const struct mt_known_run *other = &known->run[i];
            double far = apart(run, other);
            if (n && apart(found[0], other) < far)
                far = apart(found[0], other);
            if (mt_known_is_complete(other) && other->kind == run->kind && far > most) {
                most = far;
                found[n] = other;
            }
        }
        if (!found[n])
            return n;
    }
    return 2;
}

static double rise(uint64_t from, uint64_t to, const struct mt_known_run *a,
                   const struct mt_known_run *b)
{
    return ((double)to - (double)from) / ((double)b->value - (double)a->value);
}

/* Fit a line or a curve through the sizes of runs with the same order. */
static void lay_curves(struct mt_known_run *run, size_t i,
                       const struct mt_known_run *const other[2])
{
    size_t at = 0, at_first = 0, at_second = 0;
    const struct mt_request *request;
    run->bent_at = other[0]->value;
    while ((request = next(run->log.device[i], &at))) {
        struct mt_slope *size = &run->size[i][at - 1];
        uint64_t first = next(other[0]->log.device[i], &at_first)->size;
        uint64_t second = other[1] ? next(other[1]->log.device[i], &at_second)->size : 0;
        if (request->kind != MT_REQUEST_ALLOCATE)
            continue;
        size->slope = rise(request->size, first, run, other[0]);
        if (other[1])
            size->bend = (rise(first, second, other[0], other[1]) - size->slope) /
                         ((double)other[1]->value - (double)run->value);
    }
}

/* The slopes of two runs with the same order, by their size at another value. */
struct lines {
    struct mt_address_map map; /* by size, the index of its slope plus 1 */
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
    while (!rc && (request = next(a, &at))) {
        double slope = ((double)next(b, &other_at)->size - (double)request->size) / width;
        double bytes = (double)request->size + further * slope;
        uint64_t size = bytes < 1 ? 1 : (uint64_t)llround(bytes);
        if (request->kind != MT_REQUEST_ALLOCATE || mt_address_map_get(&lines->map, size))
            continue;
        lines->slope[n++] = slope;
        rc = mt_address_map_put(&lines->map, size, (uint32_t)n);
    }
    return rc;
}

/* Use the lines of a pair of runs with another order, by equal sizes. A size that neither has is
 * assumed to be proportional to the value. */
static int borrow_lines(struct mt_known_run *run, size_t i,
                        const struct mt_known_run *const pair[2])
{
    const struct mt_request_log_device *device = run->log.device[i];
    struct lines lines = {.slope = NULL};
    double first = (double)pair[0]->value;
    int rc = make_lines(&lines, pair[0]->log.device[i], pair[1]->log.device[i],
                        (double)pair[1]->value - first, (double)run->value - first);
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

/* Find the nearest run for which there is another one of its order, and that one. */
static bool find_pair(const struct mt_known_runs *known, const struct mt_known_run *run,
                      const struct mt_known_run *pair[2])
{
    pair[0] = NULL;
    for (size_t i = 0; i < known->n; i++) {
        const struct mt_known_run *other = &known->run[i], *found[2];
        if (mt_known_is_complete(other) && other->log.n_devices == run->log.n_devices &&
            (!pair[0] || apart(other, run) < apart(pair[0], run)) &&
            find_partners(known, other, found)) {
            pair[0] = other;
            pair[1] = found[0];
        }
    }
    return pair[0];
}

/* Find the sizes of a run's requests as functions of the value. Return 0, -ENOENT if too few runs
 * are known, or -ENOMEM. */
static int find_sizes(const struct mt_known_runs *known, struct mt_known_run *run)
{
    const struct mt_known_run *other[2];
    bool has_partners = find_partners(known, run, other);
    int rc = has_partners || find_pair(known, run, other) ? 0 : -ENOENT;
    if (rc || run->size[0])
        return rc;
    for (size_t i = 0; i < run->log.n_devices && !rc; i++) {
        run->size[i] = calloc(run->log.device[i]->n + 1, sizeof *run->size[i]);
        if (!run->size[i])
            rc = -ENOMEM;
        else if (has_partners)
            lay_curves(run, i, other);
        else
            rc = borrow_lines(run, i, other);
    }
    if (rc)
        forget_sizes(run);
    return rc;
}

/* --- the replay ------------------------------------------------------------------------------- */

static uint64_t size_of(const struct mt_known_run *run, const struct mt_slope *by, uint64_t size,
                        uint64_t value)
{
    double from = (double)value - (double)run->value;
    double bytes =
        (double)size + from * (by->slope + by->bend * ((double)value - (double)run->bent_at));
    return bytes < 1 ? 1 : (uint64_t)llround(bytes);
}

static int replay(const struct mt_request_log_device *device, const struct mt_request *request,
                  uint64_t memory)
{
    const struct mt_allocator_card card = {.total = memory};
    struct mt_allocator *allocator = mt_allocator_create(&device->conf, device->release, &card);
    int rc = allocator ? 0 : -ENOMEM;
    for (size_t at = 0; !rc && at < device->n && !mt_allocator_now(allocator)->ooms; at += PIECE)
        rc = mt_allocator_feed(allocator, request + at,
                               device->n - at < PIECE ? device->n - at : PIECE);
    if (!rc)
        rc = !mt_allocator_now(allocator)->ooms;
    mt_allocator_destroy(allocator);
    return rc;
}

static int device_fits(struct mt_known_runs *known, const struct mt_known_run *run, size_t i,
                       uint64_t memory, uint64_t value)
{
    const struct mt_request_log_device *device = run->log.device[i];
    if (mt_grow(&known->room, &known->room_capacity, device->n, sizeof *known->room))
        return -ENOMEM;
    for (size_t j = 0; j < device->n; j++) {
        struct mt_request request = device->request[j];
        if (request.kind == MT_REQUEST_ALLOCATE)
            request.size = size_of(run, &run->size[i][j], request.size, value);
        known->room[j] = request;
    }
    return replay(device, known->room, memory);
}

int mt_prediction_fits(struct mt_known_runs *known, uint64_t bytes, uint64_t value)
{
    struct mt_known_run *run = nearest(known, value);
    int rc = run ? find_sizes(known, run) : -ENOENT;
    if (rc)
        return rc;
    rc = 1;
    for (size_t i = 0; i < run->log.n_devices && rc == 1;
         i++) /* the requests include the context */
        rc = device_fits(known, run, i, bytes + run->context, value);
    return rc;
}

size_t mt_prediction_requests(const struct mt_known_runs *known, uint64_t value)
{
    const struct mt_known_run *run = nearest(known, value);
    size_t n = 0;
    for (size_t i = 0; run && i < run->log.n_devices; i++)
        n += run->log.device[i]->n;
    return n;
}

bool mt_prediction_is_strange(const struct mt_known_runs *known, uint64_t value)
{
    for (size_t i = 0; i < known->n; i++)
        if (known->run[i].value == value)
            return known->run[i].log.n_devices && known->run[i].kind == SIZE_MAX;
    return false;
}
