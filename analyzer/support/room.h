/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much memory reading may take. A small file may stand for any number of blocks, so whoever
 * reads looks from time to time whether the process has taken what it may, and stops there. One
 * number for the process.
 */
#ifndef MT_ROOM_H
#define MT_ROOM_H

#include <stdbool.h>
#include <stdint.h>

/* Half of the machine's memory, or of what a control group or a limit of the process leaves. */
uint64_t mt_room_of_machine(void);

/* Bytes that reading may take; 0, as at first: as much as there is. */
void mt_room_set(uint64_t bytes);
uint64_t mt_room(void);

/* Whether the process has that much in memory. Takes some microseconds. */
bool mt_room_is_full(void);

#endif
