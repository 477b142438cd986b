/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of compose.c share: where the events have led to, and how events are written. */
#ifndef MT_IMPORT_COMPOSE_PARTS_H
#define MT_IMPORT_COMPOSE_PARTS_H

#include "compose.h"
#include "extents.h"
#include "spool.h"
#include "trace-format/cuda-apis.h"

#define PAGE (2u << 20) /* of expandable segments */
#define MAIN_THREAD 1
#define AUTOGRAD_THREAD 2

struct mt_composer {
    struct mt_records *records;
    struct mt_import_summary *summary;
    struct mt_script *script;
    struct mt_extents segments, blocks;
    /* What was there at first. */
    struct mt_import_extent *first_blocks, *first_segments;
    size_t n_first_blocks, first_blocks_capacity, n_first_segments, first_segments_capacity;
    uint64_t unknown[MT_IMPORT_DEVICES]; /* bytes from before a profile that nothing tells of */
    uint64_t allocated[MT_IMPORT_DEVICES], reserved[MT_IMPORT_DEVICES];
    struct mt_spool spool;
    uint64_t time_ns;
    size_t next_note;
    uint64_t running; /* the backward node that runs in autograd's thread, and its line; 0: none */
    uint32_t lane[AUTOGRAD_THREAD + 1][MT_IMPORT_DEVICES]; /* that a thread has on a device */
    bool is_writing;
    int rc;
};

/* Write an event of a kind, in the second pass. */
void mt_compose_write(struct mt_composer *self, enum mt_kind kind, unsigned device, uint32_t thread,
                      uint32_t stack, const uint64_t arg[MT_EVENT_ARGS]);

#define WRITE(self, kind, device, thread, stack, ...)                                              \
    mt_compose_write(self, kind, device, thread, stack,                                            \
                     (const uint64_t[MT_EVENT_ARGS]){__VA_ARGS__})

const struct mt_whence *mt_compose_whence(const struct mt_composer *self, uint32_t number);

/* The thread that requests from there. */
uint32_t mt_compose_thread(const struct mt_composer *self, const struct mt_whence *whence);

/* The node that runs in autograd's thread from now on: by its name and its line of forward. */
void mt_compose_node(struct mt_composer *self, unsigned device, uint32_t thread,
                     const struct mt_whence *whence);

/* A block, and a segment, come or go. */
void mt_compose_alloc(struct mt_composer *self, const struct mt_import_extent *block);
void mt_compose_segment(struct mt_composer *self, const struct mt_import_extent *segment,
                        uint32_t whence, bool is_free);

#endif
