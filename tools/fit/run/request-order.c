/* SPDX-License-Identifier: Apache-2.0 */
#include "request-order.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

struct order {
    struct mt_request *request;
    uint32_t *birth;     /* of each request's block: which allocation it was, from 1; 0: no block */
    uint32_t *by_number; /* the same by the block's old number */
    uint32_t *number;    /* new one, by birth */
    bool *waits;         /* for a stream, by birth: the number is free once it does no more */
    uint32_t *free;      /* numbers, the last one given back first */
    uint32_t n_free, next;
    size_t n;
};

static uint32_t numbers_of(const struct order *order)
{
    uint32_t most = 0;
    for (size_t i = 0; i < order->n; i++)
        most = order->request[i].block > most ? order->request[i].block : most;
    return most + 1;
}

static bool has_block(unsigned kind)
{
    return kind == MT_REQUEST_ALLOCATE || kind == MT_REQUEST_FREE ||
           kind == MT_REQUEST_RECORD_STREAM || kind == MT_REQUEST_COMPLETE;
}

static void find_births(struct order *order)
{
    uint32_t births = 0;
    for (size_t i = 0; i < order->n; i++) {
        const struct mt_request *request = &order->request[i];
        if (request->kind == MT_REQUEST_ALLOCATE)
            order->by_number[request->block] = ++births;
        if (has_block(request->kind))
            order->birth[i] = order->by_number[request->block];
    }
}

static int by_birth(const void *a, const void *b)
{
    const uint32_t *one = a, *other = b;
    return (*one > *other) - (*one < *other);
}

/* Only a free's block tells it from another one. What others take stands between: it is no request.
 */
static void sort_frees(struct order *order, uint32_t *room)
{
    for (size_t i = 0, end; i < order->n; i = end + 1) {
        size_t n = 0;
        for (end = i; end < order->n && (order->request[end].kind == MT_REQUEST_FREE ||
                                         order->request[end].kind == MT_REQUEST_OTHERS);
             end++)
            if (order->request[end].kind == MT_REQUEST_FREE)
                room[n++] = order->birth[end];
        qsort(room, n, sizeof *room, by_birth);
        for (n = 0; i < end; i++)
            if (order->request[i].kind == MT_REQUEST_FREE)
                order->birth[i] = room[n++];
    }
}

static void number_anew(struct order *order)
{
    for (size_t i = 0; i < order->n; i++) {
        struct mt_request *request = &order->request[i];
        uint32_t birth = order->birth[i];
        if (!birth)
            continue;
        if (request->kind == MT_REQUEST_ALLOCATE)
            order->number[birth] = order->n_free ? order->free[--order->n_free] : order->next++;
        request->block = order->number[birth];
        order->waits[birth] |= request->kind == MT_REQUEST_RECORD_STREAM;
        if (request->kind == MT_REQUEST_COMPLETE ||
            (request->kind == MT_REQUEST_FREE && !order->waits[birth]))
            order->free[order->n_free++] = order->number[birth];
    }
}

int mt_requests_order(struct mt_request *request, size_t n)
{
    struct order order = {.request = request, .n = n};
    uint32_t *room = calloc(n + 1, sizeof *room);
    order.birth = calloc(n + 1, sizeof *order.birth);
    order.by_number = calloc(numbers_of(&order), sizeof *order.by_number);
    order.number = calloc(n + 1, sizeof *order.number);
    order.waits = calloc(n + 1, sizeof *order.waits);
    order.free = calloc(n + 1, sizeof *order.free);
    int rc = room && order.birth && order.by_number && order.number && order.waits && order.free
                 ? 0
                 : -ENOMEM;
    if (!rc) {
        find_births(&order);
        sort_frees(&order, room);
        number_anew(&order);
    }
    free(room);
    free(order.birth);
    free(order.by_number);
    free(order.number);
    free(order.waits);
    free(order.free);
    return rc;
}
