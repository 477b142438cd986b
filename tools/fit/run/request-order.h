/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MT_FIT_REQUEST_ORDER_H
#define MT_FIT_REQUEST_ORDER_H

#include "planner/allocator/requests.h"

#include <stddef.h>

/*
 * Puts n requests into the one order that they share with those of an equal run. Frees with no
 * allocation between them may come in any order: two threads free, or Python's garbage collector
 * does. They leave the allocator in the same state, so they are sorted by when their blocks began,
 * and blocks are numbered anew. 0 or -ENOMEM.
 */
int mt_requests_order(struct mt_request *request, size_t n);

#endif
