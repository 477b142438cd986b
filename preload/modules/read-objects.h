/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PyTorch's objects may have changed since the thread's last event. Reading a stack notes which
 * ones to read: the called outermost module, optimizers whose steps have ended, leaves whose
 * gradients may have changed. A hook reads them after the stack and before it records its own
 * event, because reading them records events, too:
 *
 *     uint32_t stack = mt_python_stack(self);
 *     mt_read_objects(self);
 *     mt_record(self, kind, device, stack, ...);
 */
#ifndef MT_PRELOAD_ASK_H
#define MT_PRELOAD_ASK_H

#include "gradients.h"
#include "preload/record/recorder.h"
#include "trace-format/likely.h"

void mt_read_objects_slow(struct mt_thread *self) __attribute__((cold));

/* Read the objects that the thread has noted. Call between mt_enter and mt_leave. */
static inline void mt_read_objects(struct mt_thread *self)
{
    if (MT_UNLIKELY(self->pending.has_to_read))
        mt_read_objects_slow(self);
}

/* The same at a free. Removing a gradient from a leaf (zero_grad) frees its data, and nothing is
 * read until other leaves have lost theirs, too: many are read in one system call. */
static inline void mt_read_objects_at_free(struct mt_thread *self, uint64_t address)
{
    if (MT_UNLIKELY(self->pending.has_to_read) && !mt_is_replaced_gradient(self, address))
        mt_read_objects_slow(self);
}

#endif
