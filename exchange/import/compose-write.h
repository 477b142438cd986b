/* SPDX-License-Identifier: Apache-2.0 */
/* The state of an imported trace after the events so far, and how its events are written. */
#ifndef MT_IMPORT_COMPOSE_WRITE_H
#define MT_IMPORT_COMPOSE_WRITE_H

#include "extents.h"
#include "import.h"
#include "records.h"
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
    /* What was allocated before the first event. */
    struct mt_import_extent *first_blocks, *first_segments;
    size_t n_first_blocks, first_blocks_capacity, n_first_segments, first_segments_capacity;
    uint64_t unknown[MT_IMPORT_DEVICES]; /* bytes from before a profile that no event explains */
    uint64_t allocated[MT_IMPORT_DEVICES], reserved[MT_IMPORT_PLACES];
    struct mt_spool spool;
    uint64_t time_ns;
    size_t next_note;
    uint64_t running; /* the backward node running in autograd's thread, and its line; 0: none */
    uint32_t lane[AUTOGRAD_THREAD + 1][MT_IMPORT_DEVICES]; /* that a thread has on a device */
    bool is_writing;
    bool is_before; /* writing what was allocated before the events */
    int rc;
};

/* Write an event of a kind, in the second pass. */
void mt_compose_write(struct mt_composer *self, enum mt_kind kind, unsigned device, uint32_t thread,
                      uint32_t stack, const uint64_t arg[MT_EVENT_ARGS]);

#define WRITE(self, kind, device, thread, stack, ...)                                              \
    mt_compose_write(self, kind, device, thread, stack,                                            \
                     (const uint64_t[MT_EVENT_ARGS]){__VA_ARGS__})

const struct mt_whence *mt_compose_whence(const struct mt_composer *self, uint32_t number);

/* Return the thread that makes requests from there. */
uint32_t mt_compose_thread(const struct mt_composer *self, const struct mt_whence *whence);

/* Note the node that autograd's thread runs from now on: its name and its forward line. */
void mt_compose_node(struct mt_composer *self, unsigned device, uint32_t thread,
                     const struct mt_whence *whence);

/* Write the allocation or free of a block or segment. */
void mt_compose_alloc(struct mt_composer *self, const struct mt_import_extent *block);
void mt_compose_segment(struct mt_composer *self, const struct mt_import_extent *segment,
                        uint32_t whence, bool is_free);

#endif
