/* SPDX-License-Identifier: Apache-2.0 */
/* The trace's blocks: bytes in the file, and what the tail can drop since then. */
#ifndef MT_WRITE_BLOCKS_H
#define MT_WRITE_BLOCKS_H

#include "trace-format/model.h"

#include <stddef.h>

/* Note that writing has failed. If a segment was being created, the previous one continues. */
void mt_writer_fail(int rc);
/* End the recording with a message: what could not be done to the trace ("write"), and why. */
void mt_writer_give_up(int rc, const char *doing);

void mt_writer_append(const void *bytes, size_t size);
void mt_writer_end_block(void);
/* Commit: everything read is in the file, so free it in the tail. */
void mt_writer_commit(void);

/* Write events, overwriting their arguments; write one event, returning 0. */
void mt_writer_put_all(struct mt_event *events, size_t n);
int mt_writer_put(const struct mt_event *event);

#endif
