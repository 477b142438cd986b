/* SPDX-License-Identifier: Apache-2.0 */
/* The allocator settings that a program made at run time, for the trace. */
#ifndef MT_PRELOAD_ALLOC_CONF_H
#define MT_PRELOAD_ALLOC_CONF_H

#include "preload/record/recorder.h"

#define MT_ALLOC_CONF_SIZE 1024u /* bytes of a text, with its end; longer ones are not kept */

/* Note settings that the program made. self is NULL while nothing is recorded. */
void mt_alloc_conf_set(struct mt_thread *self, const char *text);

/* Record, once, those that were made before the recording began. In a hook. */
void mt_alloc_conf_record(struct mt_thread *self);

/* Reset in a forked child, which has its parent's settings. */
void mt_alloc_conf_reset(void);

#endif
