/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The limits of memory, work and output, one of each for the process. A small file may stand for
 * anything, so who reads or writes checks from time to time whether a limit is reached, and stops
 * there. The limits grow with the bytes that are read: what recordings need stays far below.
 */
#ifndef MT_ROOM_H
#define MT_ROOM_H

#include <stdbool.h>
#include <stdint.h>

/* Bytes of memory for each MiB of files. A sanitizer takes some itself. */
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
#define MT_ROOM_A_MIB (UINT64_C(4096) << 20)
#else
#define MT_ROOM_A_MIB (UINT64_C(256) << 20)
#endif

/* Bytes of output, and for each byte of files. Traces of PyTorch have at most 123 in any format. */
#define MT_ROOM_OUTPUT (UINT64_C(64) << 20)
#define MT_ROOM_OUTPUT_A_BYTE 512u

/* Return half of the machine's memory, or of the limit of a control group or of the process. */
uint64_t mt_room_of_machine(void);

/* Set limits; before, there are none. memory: bytes that the process may take; 0: as mt_room_input
 * allows. events: those that may be expanded; output: bytes of one; 0: likewise. */
void mt_room_begin(uint64_t memory, uint64_t events, uint64_t output);

/* Give the process the limit back that it had before mt_room_begin: it becomes another program. */
void mt_room_leave(void);

/* A file is read: MT_ROOM_A_MIB of memory are allowed for each MiB of all of them, that much at
 * least, at most the machine's room. The same file counts once; one that grows may be told
 * again. Any thread. */
void mt_room_input(const char *path);

/* Return the bytes that reading may take, 0: no limit. It is half of the process's: sorting and
 * printing the results need memory, too. */
uint64_t mt_room(void);

/* Return the bytes that one output may have (stdout, or a file); UINT64_MAX: no limit. Any thread.
 */
uint64_t mt_room_of_output(void);

/* Return whether reading has reached the limit. Takes some microseconds. */
bool mt_room_is_full(void);

/* Note work: so many steps, such as one request that is replayed. Return whether there is more of
 * it than the files that were read allow. Any thread. */
bool mt_work_is_too_much(uint64_t steps);

#endif
