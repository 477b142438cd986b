/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Limits on the process's memory, work and output. A small file may expand to anything, so readers
 * and writers check from time to time whether a limit is reached, and stop there. The limits grow
 * with the bytes read; recordings stay far below them.
 */
#ifndef MT_ROOM_H
#define MT_ROOM_H

#include "trace-format/settings/limits.h"

#include <stdbool.h>
#include <stdint.h>

/* Return half of the machine's memory, or of the control group's or process's limit. */
uint64_t mt_room_of_machine(void);

/* Set limits; initially there are none. 0: as mt_room_input allows. */
void mt_room_begin(const struct mt_limits *limits);

/* Restore the limit from before mt_room_begin, for exec. */
void mt_room_leave(void);

/* Count an input file: all of them together allow mt_memory_for their bytes, at most the machine's
 * room. The same file counts once; a growing one may be counted again. Thread-safe. */
void mt_room_input(const char *path);

/* Return the bytes that reading may use; 0: no limit. It is half of the process's limit, since
 * sorting and printing need memory, too. */
uint64_t mt_room(void);

/* Return this thread's memory account, for a helper thread; NULL: the process. */
void *mt_room_of_thread(void);
void mt_room_use(void *room);

/* Return the option that allows more memory, for a message. */
const char *mt_room_raised_by(void);

/* Return the most bytes of one output (stdout or a file); UINT64_MAX: no limit. Thread-safe. */
uint64_t mt_room_of_output(void);

/* Return whether reading has reached the limit. Costs some microseconds. */
bool mt_room_is_full(void);

/* Add steps of work, such as replayed requests. Return whether the total exceeds what the input
 * files allow. Thread-safe. */
bool mt_work_is_too_much(uint64_t steps);

/* The machine's resources for runs. */

/* Return the number of processors that this process may use. */
unsigned mt_machine_processors(void);

/* Return the bytes of the host's memory that the kernel could give without swapping. */
uint64_t mt_machine_available(void);

#endif
