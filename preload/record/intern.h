/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Strings, frames and stacks of this process, each once, by ids that begin at 1 (0: not known).
 * They only grow; the writer passes on what is new (mt_intern_read). Adding takes a lock and is the
 * slow path: the hot one finds ids in a mt_cache. The lock is taken inside of a hook (mt_enter): a
 * signal handler's events are refused there, so that it does not come to wait for its own thread.
 */
#ifndef MT_PRELOAD_INTERN_H
#define MT_PRELOAD_INTERN_H

#include "trace-format/model.h"

/* Ids, or 0 when there is no more room: all that is interned has 20 MiB at most. Call with the lock
 * held. */
uint32_t mt_intern_string(const char *text, size_t size);
uint32_t mt_intern_frame(uint32_t function, uint32_t file, uint32_t line);
/* One that is at work for a torch.nn module: string ids of the outermost one's class and the path.
 */
uint32_t mt_intern_call(uint32_t function, uint32_t file, uint32_t line, uint32_t root,
                        uint32_t path);
uint32_t mt_intern_image(uint32_t build_id, uint32_t path); /* string ids */
uint32_t mt_intern_native_frame(uint32_t image, uint64_t address);
uint32_t mt_intern_stack(uint32_t parent, uint32_t frame);

/* A string's text, not terminated: *size bytes; "" for 0. */
const char *mt_intern_text(uint32_t string, size_t *size);

void mt_intern_lock(void);
/* For what is outside of a hook, with signals held back (no-signals.h): 1, or 0 where somebody has
 * the lock, perhaps the very thread that a handler has interrupted. */
int mt_intern_try_lock(void);
void mt_intern_unlock(void);

/* How many of each were passed on; begins as zeros. */
struct mt_intern_position {
    uint32_t strings, images, frames, stacks;
};

/* The next definition after the position, what it refers to before itself: 1, or 0 where there is
 * none. The text is this module's and stays. Another thread than the adding ones. */
int mt_intern_read(struct mt_intern_position *position, struct mt_definition *out);

/* Whether something got no id, and of which sort, in words. Any thread. */
int mt_intern_full(char *out, size_t size);

/* Forgets everything; for a forked child. */
void mt_intern_reset(void);

#endif
