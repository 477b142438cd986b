/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writing traces that are made of traces: what an encoder holds, to a file. All return 0 or a
 * negative errno.
 */
#ifndef MT_WRITE_H
#define MT_WRITE_H

#include "trace-format/encoder.h"

#include <stdio.h>

int mt_write_bytes(FILE *out, const void *bytes, size_t size);

/* Ends the encoder's block, which may be empty. */
int mt_write_block(FILE *out, struct mt_encoder *encoder);

/* Takes a record in, and ends the block where that has made it full. */
int mt_write_definition(FILE *out, struct mt_encoder *encoder,
                        const struct mt_definition *definition);
int mt_write_event(FILE *out, struct mt_encoder *encoder, const struct mt_event *event);

/* The end block; the encoder's own has been ended. */
int mt_write_end(FILE *out, struct mt_encoder *encoder, const struct mt_end *end);

/* All bytes, to a file descriptor, whatever interrupts that. */
int mt_write_all(int fd, const void *bytes, size_t size);

#endif
