/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the tail of a trace in memory, for tests. Running out of memory ends the test program. */
#ifndef MT_TAIL_BUILDER_H
#define MT_TAIL_BUILDER_H

#include "trace-format/tail.h"

struct mt_tail_builder;

/* A tail with rings for so many threads, 1 and so on. It goes on where the trace has so many bytes,
 * and had words put into its rings and bytes into its journal before. */
struct mt_tail_builder *mt_tail_builder_create(uint64_t trace_id, uint64_t trace_size,
                                               uint32_t threads, uint64_t before);
void mt_tail_builder_destroy(struct mt_tail_builder *builder);

void mt_tail_build_definition(struct mt_tail_builder *builder,
                              const struct mt_definition *definition);

/* Into its thread's ring. */
void mt_tail_build_event(struct mt_tail_builder *builder, const struct mt_event *event);

/* Parts of the tail, to do wrong things with. */
struct mt_tail_header *mt_tail_builder_header(struct mt_tail_builder *builder);
struct mt_ring *mt_tail_builder_ring(struct mt_tail_builder *builder, uint32_t thread);

/* The tail so far; the builder's. */
unsigned char *mt_tail_builder_bytes(struct mt_tail_builder *builder, size_t *size);

/* Write it next to a trace. */
void mt_tail_builder_write(struct mt_tail_builder *builder, const char *trace);

#endif
