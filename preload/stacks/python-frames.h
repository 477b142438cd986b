/* SPDX-License-Identifier: Apache-2.0 */
/* From the frames of the calling thread to the id of its stack. */
#ifndef MT_PRELOAD_PYTHON_FRAMES_H
#define MT_PRELOAD_PYTHON_FRAMES_H

#include <stdbool.h>

#include "preload/python/python-versions.h"
#include "preload/record/recorder.h"

/* Frames lie in memory like this from now on; code_type: PyCode_Type. 0, or -EFAULT: code objects
 * that go away cannot be noticed. */
int mt_frames_start(const struct mt_python_layout *layout, void *code_type);

/* Id of the stack that ends with this frame; 0: there is none. */
uint32_t mt_frames_stack(struct mt_thread *self, uint64_t innermost);

/* Whether it is one of a Python function, not of C code. */
static inline bool mt_is_python_frame(const struct mt_python_layout *layout, uint64_t frame)
{
    enum { OWNED_BY_C_STACK = 3 }; /* from 3.12 on */
    return layout->frame_owner < 0 ||
           ((const char *)(uintptr_t)frame)[layout->frame_owner] < OWNED_BY_C_STACK;
}

/* For a forked child, whose ids begin anew. */
void mt_frames_reset(void);

#endif
