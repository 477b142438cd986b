/* SPDX-License-Identifier: Apache-2.0 */
#include "foretell.h"
#include "analyzer/support/grow.h"
#include "planner/allocator/model.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#define PIECE 4096u /* requests, after which a replay looks whether memory ran out */

void mt_foretell_clear(struct mt_foretell *foretell)
{
    for (size_t i = 0; i < foretell->n; i++) {
        mt_foretell_forget_sizes(&foretell->run[i]);
        mt_request_log_clear(&foretell->run[i].log);
    }
    free(foretell->run);
    free(foretell->room);
    *foretell = (struct mt_foretell){0};
}

/* --- what is alike -----------------------------------------------------------------------------
 */

const struct mt_request *mt_foretell_next(const struct mt_request_log_device *device, size_t *at)
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

bool mt_foretell_are_alike(const struct mt_request_log *whole, const struct mt_request_log *other,
                           bool other_is_whole)
{
    if (whole->n_devices != other->n_devices || !whole->n_devices)
        return false;
    for (size_t i = 0; i < whole->n_devices; i++) {
        const struct mt_request *a, *b;
        size_t at = 0, other_at = 0;
        do {
            a = mt_foretell_next(whole->device[i], &at);
            b = mt_foretell_next(other->device[i], &other_at);
            if (a && b && !is_same(a, b))
                return false;
        } while (a && b);
        if (b || (a && other_is_whole))
            return false;
    }
    return true;
}

static void find_kind(const struct mt_foretell *foretell, size_t i)
{
    struct mt_foretell_run *run = &foretell->run[i];
    run->kind = run->is_whole ? i : SIZE_MAX;
    for (size_t j = 0; j < foretell->n; j++) {
        const struct mt_foretell_run *other = &foretell->run[j];
        if (j != i && other->is_whole && other->kind == j &&
            mt_foretell_are_alike(&other->log, &run->log, run->is_whole)) {
            run->kind = j;
            return;
        }
    }
}

int mt_foretell_add(struct mt_foretell *foretell, struct mt_foretell_run run)
{
    if (!run.log.n_devices) {
        mt_request_log_clear(&run.log);
        return 0;
    }
    if (mt_grow(&foretell->run, &foretell->capacity, foretell->n + 1, sizeof run)) {
        mt_request_log_clear(&run.log);
        return -ENOMEM;
    }
    foretell->run[foretell->n++] = run;
    find_kind(foretell, foretell->n - 1);
    for (size_t i = 0; i < foretell->n; i++) {
        mt_foretell_forget_sizes(&foretell->run[i]);
        if (foretell->run[i].kind == SIZE_MAX)
            find_kind(foretell, i);
    }
    return 0;
}

static double distance(uint64_t a, uint64_t b)
{
    return fabs(log(((double)a + 1) / ((double)b + 1)));
}

/* The nearest run says in which order a value asks; of those with that order, the nearest that is
 * whole says the rest. */
struct mt_foretell_run *mt_foretell_nearest(const struct mt_foretell *foretell, uint64_t value)
{
    struct mt_foretell_run *sign = NULL, *found = NULL;
    for (size_t i = 0; i < foretell->n; i++) {
        struct mt_foretell_run *run = &foretell->run[i];
        if (run->kind != SIZE_MAX &&
            (!sign || distance(run->value, value) < distance(sign->value, value)))
            sign = run;
    }
    for (size_t i = 0; sign && i < foretell->n; i++) {
        struct mt_foretell_run *run = &foretell->run[i];
        if (run->is_whole && run->kind == sign->kind &&
            (!found || distance(run->value, value) < distance(found->value, value)))
            found = run;
    }
    return found;
}

/* --- the replay ---------------------------------------------------------------------------------
 */

static uint64_t size_of(const struct mt_foretell_run *run, const struct mt_foretold_size *by,
                        uint64_t size, uint64_t value)
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
    size_t at = 0;
    while (!rc && at < device->n && !mt_allocator_now(allocator)->ooms) {
        size_t n = device->n - at < PIECE ? device->n - at : PIECE;
        rc = mt_allocator_feed(allocator, request + at, n);
        at += n;
    }
    if (!rc)
        rc = !mt_allocator_now(allocator)->ooms;
    mt_allocator_destroy(allocator);
    return rc;
}

static int device_fits(struct mt_foretell *foretell, const struct mt_foretell_run *run, size_t i,
                       uint64_t memory, uint64_t value)
{
    const struct mt_request_log_device *device = run->log.device[i];
    if (mt_grow(&foretell->room, &foretell->room_capacity, device->n, sizeof *foretell->room))
        return -ENOMEM;
    for (size_t j = 0; j < device->n; j++) {
        struct mt_request request = device->request[j];
        if (request.kind == MT_REQUEST_ALLOCATE)
            request.size = size_of(run, &run->size[i][j], request.size, value);
        foretell->room[j] = request;
    }
    return replay(device, foretell->room, memory);
}

int mt_foretell_fits(struct mt_foretell *foretell, struct mt_foretold_card card, uint64_t value)
{
    struct mt_foretell_run *run = mt_foretell_nearest(foretell, value);
    int rc = run ? mt_foretell_sizes(foretell, run) : -ENOENT;
    if (rc)
        return rc;
    rc = 1;
    for (size_t i = 0; i < run->log.n_devices && rc == 1; i++) /* the context is in them */
        rc = device_fits(foretell, run, i, card.memory - card.context + run->context, value);
    return rc;
}

bool mt_foretell_is_strange(const struct mt_foretell *foretell, uint64_t value)
{
    for (size_t i = 0; i < foretell->n; i++)
        if (foretell->run[i].value == value)
            return foretell->run[i].kind == SIZE_MAX;
    return false;
}
