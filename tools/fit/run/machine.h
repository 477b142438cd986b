/* SPDX-License-Identifier: Apache-2.0 */
/* What the machine has for runs. */
#ifndef MT_FIT_MACHINE_H
#define MT_FIT_MACHINE_H

#include <stdint.h>

/* Bytes of the host's memory that a run may take, while none has shown it. */
#define MT_FIRST_RUN ((uint64_t)2 << 30)

/* Return the processors that this process may use. */
unsigned mt_machine_processors(void);

/* Return the bytes of the host's memory that the kernel could give without swapping. */
uint64_t mt_machine_available(void);

#endif
