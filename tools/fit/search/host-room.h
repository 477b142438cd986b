/* SPDX-License-Identifier: Apache-2.0 */
/* How many runs this machine has room for. */
#ifndef MT_FIT_HOST_ROOM_H
#define MT_FIT_HOST_ROOM_H

#include "crew.h"

#include <stdbool.h>

/* Bytes of the host's memory that are free, apart from what runs that go on will still take. */
uint64_t mt_host_free(const struct mt_fit *fit);

/* Whether another run may be started beside so many. */
bool mt_host_has_room(const struct mt_fit *fit, size_t running);

#endif
