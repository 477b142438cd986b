/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files of compose.c: the state after the events so far, and how events are
 * written. */
#ifndef MT_IMPORT_COMPOSE_PARTS_H
#define MT_IMPORT_COMPOSE_PARTS_H

#include "analyzer/support/address-map.h"
#include "analyzer/support/ordered.h"
#include "import.h"
#include "records.h"
#include "trace-format/cuda-apis.h"

#include <stdbool.h>

/* The events of all devices in time order, read from the records' file. */

#define MT_SPOOL_EVENTS 512u

struct mt_spool {
    FILE *file;       /* the records' */
    bool has_devices; /* each device has its part of the file; otherwise each run of rising times
                         has one */
    struct mt_spool_part {
        struct mt_import_event some[MT_SPOOL_EVENTS];
        uint64_t next, end; /* events of the file */
        size_t at, n;
        bool has;
        struct mt_import_event event; /* the next one */
    } *part;
    unsigned n;
    int rc;
};

/* Start at the first event; may be called again. Return 0 or a negative errno. The caller must end
 * it in any case; a zeroed struct counts as not started. */
int mt_spool_begin(struct mt_spool *spool, struct mt_records *records);
void mt_spool_end(struct mt_spool *spool);

/* Read the next event, with its device. Return false at the end, or on an error, which is in
 * spool->rc. */
bool mt_spool_next(struct mt_spool *spool, struct mt_import_event *event);

/* Return the device's next event without consuming it, or NULL if there is none or devices have no
 * parts. */
const struct mt_import_event *mt_spool_peek(const struct mt_spool *spool, unsigned device);

/*
 * The state of PyTorch's allocator at a moment of a snapshot: segments and the blocks in them.
 * Events have the requested bytes; a block's size is derived from the free piece that it was cut
 * from.
 */

struct mt_import_extent {
    uint64_t address, size;
    uint32_t tag, lane; /* the caller's */
    uint64_t requested; /* bytes requested for a block; 0: its whole size */
    uint16_t device;
    bool is_pending; /* a block whose free was requested but not completed */
    bool waits;      /* the trace says that it waits for other streams */
    bool is_small;   /* a segment of the small pool */
    bool is_pages;   /* a segment that grows page by page */
};

/* Non-overlapping pieces of memory, sorted by address. A zeroed struct is empty. */
struct mt_extents {
    struct mt_import_extent *extent; /* 0 is none */
    uint32_t n, first_free;          /* free ones are linked by tag */
    size_t capacity;
    struct mt_ordered order;
    struct mt_address_map by_address;
};

void mt_extents_clear(struct mt_extents *extents);
/* Add an extent. Return 0, -EEXIST if one begins there, or -ENOMEM. */
int mt_extents_add(struct mt_extents *extents, const struct mt_import_extent *extent);
/* Return the extent that begins there, or NULL. Valid until the next change. */
struct mt_import_extent *mt_extents_at(const struct mt_extents *extents, uint64_t address);
/* Return the last extent that begins at or below the address, or the first that begins above it;
 * NULL if there is none. */
void mt_extents_remove(struct mt_extents *extents, uint64_t address);

/* Return the size of a block that begins there and for which so many bytes were requested. */
uint64_t mt_block_bytes(const struct mt_extents *segments, const struct mt_extents *blocks,
                        uint64_t address, uint64_t requested);

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
