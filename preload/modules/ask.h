/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the thread has done since its last event may have changed what PyTorch's objects are. Taking
 * a stack notes whom to ask: the outermost module that is called, optimizers whose steps have ended,
 * leaves whose gradients may have changed. A hook asks them after it has taken the stack and before
 * it records its own event, since they record events, too:
 *
 *     uint32_t stack = mt_python_stack(self);
 *     mt_ask(self);
 *     mt_record(self, kind, device, stack, ...);
 */
#ifndef MT_PRELOAD_ASK_H
#define MT_PRELOAD_ASK_H

#include "preload/record/recorder.h"
#include "trace-format/likely.h"

void mt_ask_slow(struct mt_thread *self) __attribute__((cold));

/* Ask whom the thread has noted. Call between mt_enter and mt_leave. */
static inline void mt_ask(struct mt_thread *self)
{
    if (MT_UNLIKELY(self->has_to_ask))
        mt_ask_slow(self);
}

#endif
