/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes small traces for tests, in memory: definitions get their ids, events their times (1 ms
 * apart) and PyTorch's totals by themselves. Running out of memory ends the test program.
 */
#ifndef MT_TRACE_BUILDER_H
#define MT_TRACE_BUILDER_H

#include "trace-format/model.h"

struct mt_builder;

#define MT_BUILDER_TRACE_ID 4711u

struct mt_builder *mt_builder_create(void);
void mt_builder_destroy(struct mt_builder *builder);

/* The trace so far; the builder's. */
const unsigned char *mt_builder_bytes(struct mt_builder *builder, size_t *size);

/* Writes it to a file. */
void mt_builder_write(struct mt_builder *builder, const char *path);

/* "key=value" */
void mt_build_info(struct mt_builder *builder, const char *text);

uint32_t mt_build_string(struct mt_builder *builder, const char *text);

/* A stack from the outermost frame to the innermost, each "FILE:LINE FUNCTION", one that calls a
 * torch.nn module "FILE:LINE FUNCTION|ROOT|PATH", a native one "LIBRARY@ADDRESS", ended by NULL. */
uint32_t mt_build_stack(struct mt_builder *builder, ...);

/* One with one frame more. */
uint32_t mt_build_child(struct mt_builder *builder, uint32_t parent, const char *text);

/* Says what the native frame is that was built last: "FILE:LINE FUNCTION". */
void mt_build_symbol(struct mt_builder *builder, const char *text);

/* What the next events have; at first device 0, thread 1, stack 0. */
void mt_build_on(struct mt_builder *builder, int device, uint32_t thread, uint32_t stack);

/* PyTorch's blocks. reserved grows to what is allocated, in steps of 2 MiB. */
void mt_build_alloc(struct mt_builder *builder, uint64_t address, uint64_t size);
void mt_build_free(struct mt_builder *builder, uint64_t address);

/* Any other event. */
void mt_build_event(struct mt_builder *builder, enum mt_kind kind, uint64_t arg0, uint64_t arg1,
                    uint64_t arg2);
void mt_build_event4(struct mt_builder *builder, enum mt_kind kind, uint64_t arg0, uint64_t arg1,
                     uint64_t arg2, uint64_t arg3);
void mt_build_raw(struct mt_builder *builder, const struct mt_event *event);
void mt_build_definition(struct mt_builder *builder, const struct mt_definition *definition);

/* The recording is closed. */
void mt_build_end(struct mt_builder *builder);

#endif
