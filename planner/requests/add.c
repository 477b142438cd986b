/* SPDX-License-Identifier: Apache-2.0 */
/* The requests of a device: add one; their streams; which of them failed. */
#include "analyzer/support/grow.h"
#include "inside.h"

#include <errno.h>

int mt_gather_add(struct mt_gathered *gathered, const struct mt_gather_at *at,
                  struct mt_request request)
{
    struct mt_requests *requests = &gathered->requests;
    if (MT_GROW(requests->request, gathered->requests_capacity, requests->n) ||
        MT_GROW(requests->recorded, gathered->recorded_capacity, requests->n))
        return -ENOMEM;
    requests->request[requests->n] = request;
    requests->recorded[requests->n++] =
        (struct mt_request_totals){at->event, at->allocated, at->reserved, at->stack, at->forward};
    return 0;
}

/* Number streams in order of appearance; the last number stands for all further ones. */
int mt_gather_stream(struct mt_gathered *gathered, uint64_t handle, unsigned *number)
{
    struct mt_address_map *map = &gathered->streams;
    enum { MOST = MT_GATHER_OTHER_STREAM - 1 };
    *number = handle ? mt_address_map_get(map, handle) : 0;
    if (!handle || *number)
        return 0;
    *number = map->used + 1 < MOST ? (unsigned)map->used + 1 : MOST;
    return mt_address_map_put(map, handle, *number);
}

bool mt_failed(const struct mt_requests *requests, size_t place)
{
    const struct mt_request *request = &requests->request[place];
    if (request->kind == MT_REQUEST_OTHERS)
        return request->stream;
    return place + 1 < requests->n && request->kind == MT_REQUEST_ALLOCATE &&
           request[1].kind == MT_REQUEST_FREE && request->block == request[1].block &&
           requests->recorded[place].event == requests->recorded[place + 1].event;
}

size_t mt_failed_last(const struct mt_requests *requests)
{
    size_t i = requests->n;
    while (i && !mt_failed(requests, i - 1))
        i--;
    return i;
}
