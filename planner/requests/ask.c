/* SPDX-License-Identifier: Apache-2.0 */
/* Add a request to those of a device. */
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
