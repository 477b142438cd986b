/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The memory that CUDA handed out, by address, over the whole run: it contains the blocks. PyTorch
 * calls it segments. An expandable segment is mapped in pieces, one after another.
 */
#ifndef MT_PAGE_AREAS_H
#define MT_PAGE_AREAS_H

#include "life-facts.h"
#include "lives.h"

/* Never freed. */
#define MT_AREA_STAYS UINT32_MAX

struct mt_area {
    uint64_t address, size; /* bytes */
    uint64_t made_ns, ended_ns;
    uint32_t made, ended; /* numbers of events; MT_AREA_STAYS */
    uint32_t stack, name; /* ids of the call's stack and the program's name for it */
    uint32_t range;       /* the path of ranges around the call */
    uint32_t shown;       /* the event of the block that showed it to be a segment; 0: none */
    uint8_t slot, api;    /* mt_device_slot; enum mt_cuda_api */
    bool is_mapped;       /* a piece of a range of addresses */
};

struct mt_areas {
    struct mt_area *area; /* in order of creation */
    size_t n, capacity;
    struct mt_address_map live;    /* by address: the area's index + 1 */
    bool has_segments[MT_DEVICES]; /* that are known */
};

/* Apply an event. Return 0 or -ENOMEM. */
int mt_areas_note(struct mt_areas *areas, const struct mt_replay *replay,
                  const struct mt_event *event);
void mt_areas_clear(struct mt_areas *areas);

/* Write what an area was requested by. In backward, where no line is running, it is the operator
 * and line of the block that it was requested for. */
void mt_area_purpose(char out[MT_LIFE_TEXT], const struct mt_areas *areas,
                     const struct mt_lives *lives, const struct mt_replay *replay, size_t number);

/* Segments and blocks of a device after a moment, both in order of address. */
struct mt_map_segment {
    double address, size, used, hole; /* bytes; hole: the largest free piece */
    double first, n_blocks;           /* block[first], ... are inside */
    double is_expandable;             /* adjacent pieces are one segment */
    double area;                      /* index of its first piece's area */
};

struct mt_map_block {
    double address, size, life, category, is_found, is_unneeded;
};

struct mt_map {
    struct mt_map_segment *segment;
    struct mt_map_block *block;
    size_t n_segments, n_blocks, segment_capacity, block_capacity;
};

/* Return 0 or -ENOMEM. Leave out blocks outside of all segments (the trace lacks some segments). */
int mt_map_draw(struct mt_map *map, const struct mt_areas *areas, const struct mt_lives *lives,
                unsigned slot, size_t moment);
void mt_map_clear(struct mt_map *map);

/* The place that PyTorch's allocator took a block from. UNKNOWN: the trace has no segments, or the
 * block is cudaMallocAsync's. */
enum mt_origin { MT_FROM_UNKNOWN, MT_FROM_CACHE, MT_FROM_CUDA };

/* Set *made (unless NULL) to the bytes that CUDA handed out for the block. */
enum mt_origin mt_life_source(const struct mt_areas *areas, const struct mt_lives *lives,
                              const struct mt_life *life, uint64_t *made);

/* Return the bytes around a block's address that no other block of its segment has. The map is that
 * of the block's allocation. 0: the trace lacks the segment. */
double mt_map_room(const struct mt_map *map, const struct mt_life *life);

#endif
