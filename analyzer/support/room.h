/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The limit of memory for reading. A small file may contain any number of blocks, so readers check
 * from time to time whether the process has reached the limit, and stop there. One number for the
 * process.
 */
#ifndef MT_ROOM_H
#define MT_ROOM_H

#include <stdbool.h>
#include <stdint.h>

/* Return half of the machine's memory, or of the limit of a control group or of the process. */
uint64_t mt_room_of_machine(void);

/* Set the bytes that reading may take; 0, as at first: no limit. */
void mt_room_set(uint64_t bytes);
uint64_t mt_room(void);

/* Return whether the process has reached the limit. Takes some microseconds. */
bool mt_room_is_full(void);

#endif
