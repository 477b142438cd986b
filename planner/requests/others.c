/* SPDX-License-Identifier: Apache-2.0 */
/* Calls to the allocator other than allocations and frees. */
#include "analyzer/support/to-integer.h"
#include "inside.h"
#include "recorded-conf.h"

#include <errno.h>
#include <math.h>

/* Return the program's own fraction; 1: none. */
static double own_fraction(const struct mt_definitions *definitions)
{
    struct mt_recorded_setup setup;
    mt_recorded_setup(&setup, definitions);
    return setup.conf.memory_fraction;
}

static int add_all(struct mt_gathering *g, uint64_t event, struct mt_request request)
{
    int rc = 0;
    for (unsigned slot = 0; slot < MT_DEVICES && !rc; slot++)
        rc = mt_gather_add(&g->device[slot], &(struct mt_gather_at){.event = event}, request);
    return rc;
}

static int on_conf(struct mt_gathering *g, const struct mt_replay *replay,
                   const struct mt_event *event)
{
    struct mt_recorded_setup setup;
    const char *text = mt_string(replay->definitions, (uint32_t)event->ALLOC_CONF.conf);
    mt_setup_of(&setup, mt_info(replay->definitions, "torch"), text);
    if (!mt_setup_is_known(&setup)) {
        for (unsigned slot = 0; slot < MT_DEVICES; slot++)
            g->device[slot].requests.unread_confs++;
        return 0;
    }
    if (MT_GROW(g->conf, g->confs_capacity, g->n_confs))
        return -ENOMEM;
    g->conf[g->n_confs] = text;
    return add_all(g, replay->events,
                   (struct mt_request){.size = g->n_confs++, .kind = MT_REQUEST_CONF});
}

int mt_gather_other(struct mt_gathering *g, const struct mt_replay *replay,
                    const struct mt_event *event)
{
    struct mt_gathered *gathered = &g->device[mt_device_slot(event->device)];
    const struct mt_gather_at at = {.event = replay->events};
    switch (event->kind) {
    case MT_ALLOC_CONF:
        return on_conf(g, replay, event);
    case MT_MEMORY_LIMIT:
        g->own_fraction = own_fraction(replay->definitions);
        return mt_gather_add(
            gathered, &at,
            (struct mt_request){.size = event->MEMORY_LIMIT.limit, .kind = MT_REQUEST_FRACTION});
    default:
        return mt_gather_add(gathered, &at, (struct mt_request){.kind = MT_REQUEST_EMPTY_CACHE});
    }
}

/* Return the smallest fraction that makes this limit, as PyTorch computes it. */
static double fraction_for(uint64_t limit, uint64_t card)
{
    double fraction = (double)limit / (double)card;
    while (fraction < 1 && mt_to_uint64(fraction * (double)card) < limit)
        fraction = nextafter(fraction, 2);
    return fraction < 1 && limit ? fraction : 1;
}

/* Finish the limits. A limit set by the recorded settings is not the program's own. */
void mt_gather_finish_limits(const struct mt_gathering *g, struct mt_requests *requests)
{
    for (size_t i = 0; i < requests->n; i++) {
        struct mt_request *request = &requests->request[i];
        if (request->kind != MT_REQUEST_FRACTION)
            continue;
        uint64_t limit = request->size;
        bool is_own =
            g->own_fraction < 1 && limit == mt_to_uint64(g->own_fraction * (double)requests->card);
        if (!requests->card || is_own)
            request->kind = MT_REQUEST_MARK;
        else
            request->size = mt_bits_of_fraction(fraction_for(limit, requests->card));
    }
}
