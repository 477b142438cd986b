/* SPDX-License-Identifier: Apache-2.0 */
/* The places where copies and fills left contents: one bit for 64 KiB of addresses. Thread-safe. */
#ifndef SIM_WRITTEN_H
#define SIM_WRITTEN_H

#include "../base/base.h"

/* Call before the memory is written. */
SIM_API void sim_mark_written(const void *address, size_t size);
/* Return whether any of it may have contents; else it reads as zero. */
SIM_API bool sim_is_written(const void *address, size_t size);
/* Clear memory of ours. Only marked parts are examined. */
SIM_API void sim_clear_written(void *address, size_t size);

#endif
