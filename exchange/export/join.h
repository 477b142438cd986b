/* SPDX-License-Identifier: Apache-2.0 */
/* Traces of other tools, event by event. */
#ifndef MT_JOIN_H
#define MT_JOIN_H

#include <jansson.h>
#include <stdint.h>

/* An event as Chrome's trace format has it; its time is base_ns plus its "ts" in us. Anything but 0
 * ends it. */
typedef int mt_join_taker(void *data, const json_t *event, uint64_t base_ns);

/* Read the file twice: names first, then events. 0, what a taker returned, or a negative errno
 * (-EINVAL: it is no such JSON). */
int mt_join_json(const char *path, mt_join_taker *learn, mt_join_taker *take, void *data);

#endif
