/* SPDX-License-Identifier: Apache-2.0 */
/*
 * This process's strings, frames and stacks, each stored once, with ids from 1 (0: unknown). The
 * tables only grow; the writer reads new entries (mt_intern_read). Additions take a lock and are
 * the slow path; the hot path finds ids in a mt_cache. The lock's holder is neither interrupted by
 * signal handlers nor cancelled, so that nobody waits for a thread that has jumped away.
 */
#ifndef MT_PRELOAD_INTERN_H
#define MT_PRELOAD_INTERN_H

#include "trace-format/model.h"

#include <stdbool.h>

/* Return an id, or 0 if the 20 MiB for everything interned are full. Call with the lock held. */
uint32_t mt_intern_string(const char *text, size_t size);
uint32_t mt_intern_frame(uint32_t function, uint32_t file, uint32_t line);
/* Intern a frame that runs for a torch.nn module, given the string ids of the outermost module's
 * class and of the path. */
uint32_t mt_intern_call(uint32_t function, uint32_t file, uint32_t line, uint32_t root,
                        uint32_t path);
uint32_t mt_intern_image(uint32_t build_id, uint32_t path); /* string ids */
uint32_t mt_intern_native_frame(uint32_t image, uint64_t address);
uint32_t mt_intern_stack(uint32_t parent, uint32_t frame);

/* Return a string's text, which is not terminated, and its length in *size; "" for 0. */
const char *mt_intern_text(uint32_t string, size_t *size);

/* Return whether the caller has the lock now. It does not if another thread is stopped while
 * holding it (lock.h); the caller then continues without an id, which is counted. */
bool mt_intern_lock(void);
/* Return whether the lock was free and is the caller's now. */
bool mt_intern_try_lock(void);
void mt_intern_unlock(void);

/* How many of each were read; zeros at first. */
struct mt_intern_position {
    uint32_t strings, images, frames, stacks;
};

/* Read the next definition after the position; definitions that it refers to come first. Return 1,
 * or 0 if there is none. The text stays valid. Not for threads that add. */
bool mt_intern_read(struct mt_intern_position *position, struct mt_definition *out);

/* Return whether something got no id, and write what as text. Any thread. */
int mt_intern_full(char *out, size_t size);

/* Return how often the lock was unavailable. Any thread. */
uint64_t mt_intern_refused(void);

/* Forget everything, in a forked child. */
void mt_intern_reset(void);

#endif
