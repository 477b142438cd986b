/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MT_WRITE_HOLDER_EVENTS_H
#define MT_WRITE_HOLDER_EVENTS_H

#include "trace-format/model.h"

#include <stddef.h>
#include <stdint.h>

/* Take the holders that a search has found (holders.h), before a drain. Write
 * them after its events. write: events, with a bit for each of their kinds. */
void mt_holder_events_take(void);
void mt_holder_events_write(void (*write)(struct mt_event *events, size_t n, uint64_t kinds));

#endif
