/* SPDX-License-Identifier: Apache-2.0 */
/* The requests of a device: add one; which of them failed. */
#include "analyzer/support/grow.h"
#include "inside.h"

#include <errno.h>

int mt_gather_ask(struct mt_asking *asking, const struct mt_gather_at *at,
                  struct mt_request request)
{
    struct mt_asked *asked = &asking->asked;
    if (MT_GROW(asked->request, asking->requests_capacity, asked->n) ||
        MT_GROW(asked->recorded, asking->recorded_capacity, asked->n))
        return -ENOMEM;
    asked->request[asked->n] = request;
    asked->recorded[asked->n++] =
        (struct mt_asked_at){at->event, at->allocated, at->reserved, at->stack, at->forward};
    return 0;
}

bool mt_failed(const struct mt_asked *asked, size_t place)
{
    const struct mt_request *request = &asked->request[place];
    return place + 1 < asked->n && request->kind == MT_REQUEST_ALLOCATE &&
           request[1].kind == MT_REQUEST_FREE && request->block == request[1].block &&
           asked->recorded[place].event == asked->recorded[place + 1].event;
}

size_t mt_failed_last(const struct mt_asked *asked)
{
    size_t i = asked->n;
    while (i && !mt_failed(asked, i - 1))
        i--;
    return i;
}
