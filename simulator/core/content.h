/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIM_CONTENT_H
#define SIM_CONTENT_H

#include <stddef.h>

/* Makes our own memory read as zero and commits none of it. */
void sim_clear(void *address, size_t size);

#endif
