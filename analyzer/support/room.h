/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The limits of memory, work and output, one of each for the process. A small file may stand for
 * anything, so who reads or writes checks from time to time whether a limit is reached, and stops
 * there. The limits grow with the bytes that are read: what recordings need stays far below.
 */
#ifndef MT_ROOM_H
#define MT_ROOM_H

#include "settings/limits.h"

#include <stdbool.h>
#include <stdint.h>

/* Return half of the machine's memory, or of the limit of a control group or of the process. */
uint64_t mt_room_of_machine(void);

/* Set limits; before, there are none. 0: as mt_room_input allows. */
void mt_room_begin(const struct mt_limits *limits);

/* Give the process the limit back that it had before mt_room_begin: it becomes another program. */
void mt_room_leave(void);

/* Count a file that is read: all of them together allow mt_memory_for their bytes, at most the
 * machine's room. The same file counts once; one that grows may be counted again. Any thread. */
void mt_room_input(const char *path);

/* Return the bytes that reading may take, 0: no limit. It is half of the process's: sorting and
 * printing the results need memory, too. */
uint64_t mt_room(void);

/* Return what this thread's memory counts for, for a thread that helps it; NULL: the process. */
void *mt_room_of_thread(void);
void mt_room_use(void *room);

/* Return what allows more memory, for a message. */
const char *mt_room_raised_by(void);

/* Return the bytes that one output may have (stdout, or a file); UINT64_MAX: no limit. Any thread.
 */
uint64_t mt_room_of_output(void);

/* Return whether reading has reached the limit. Takes some microseconds. */
bool mt_room_is_full(void);

/* Note work: so many steps, such as one request that is replayed. Return whether there is more of
 * it than the files that were read allow. Any thread. */
bool mt_work_is_too_much(uint64_t steps);

/* What the machine has for runs. */

/* Return the processors that this process may use. */
unsigned mt_machine_processors(void);

/* Return the bytes of the host's memory that the kernel could give without swapping. */
uint64_t mt_machine_available(void);

#endif
