/* SPDX-License-Identifier: Apache-2.0 */
/* The id of the calling thread's stack, from its frames. */
#ifndef MT_PRELOAD_PYTHON_FRAMES_H
#define MT_PRELOAD_PYTHON_FRAMES_H

#include <stdbool.h>

#include "preload/python/python-versions.h"
#include "preload/record/recorder.h"

/* Read frames by this layout from now on. code_type is PyCode_Type. Return 0, or -EFAULT if frees
 * of code objects cannot be counted. */
int mt_frames_start(const struct mt_python_layout *layout, void *code_type);

/* Return the id of the stack that ends with this frame; 0: none. */
uint32_t mt_frames_stack(struct mt_thread *self, uint64_t innermost);

/* Return the object whose frame, the innermost of the last stack, knows how many tokens have room
 * in what it allocates (kv-cache.h), or 0. */
uint64_t mt_frames_cache(const struct mt_thread *self);

/* Return whether the frame is a Python function's, not C code's. */
static inline bool mt_is_python_frame(const struct mt_python_layout *layout, uint64_t frame)
{
    enum { OWNED_BY_C_STACK = 3 }; /* from 3.12 on */
    return layout->frame_owner < 0 ||
           ((const char *)(uintptr_t)frame)[layout->frame_owner] < OWNED_BY_C_STACK;
}

/* Reset in a forked child, whose ids start over. */
void mt_frames_reset(void);

#endif
