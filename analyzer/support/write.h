/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Write traces derived from traces: an encoder's blocks, to a file. All functions return 0 or a
 * negative errno.
 */
#ifndef MT_WRITE_H
#define MT_WRITE_H

#include "trace-format/encoder.h"

#include <stdio.h>

int mt_write_bytes(FILE *out, const void *bytes, size_t size);

/* Begin a trace with a new id, whose blocks alternate between two encoders (definitions, events)
 * that keep the chain. */
int mt_write_begin(FILE *out, struct mt_encoder *definitions, struct mt_encoder *events,
                   struct mt_chain *chain);

/* End the encoder's block, which may be empty. */
int mt_write_block(FILE *out, struct mt_encoder *encoder);

/* Add a record, and end the block if it is full. */
int mt_write_definition(FILE *out, struct mt_encoder *encoder,
                        const struct mt_definition *definition);
int mt_write_event(FILE *out, struct mt_encoder *encoder, const struct mt_event *event);

/* Write the end block, after the encoder's block was ended. */
int mt_write_end(FILE *out, struct mt_encoder *encoder, const struct mt_end *end);

/* Write all bytes to a file descriptor, despite interrupts. */
int mt_write_all(int fd, const void *bytes, size_t size);

#endif
