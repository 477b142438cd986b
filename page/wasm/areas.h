/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where blocks lie: the memory that CUDA handed out, by address, over the whole run. PyTorch calls it
 * segments; an expandable segment is mapped in pieces, one after the other.
 */
#ifndef MT_PAGE_AREAS_H
#define MT_PAGE_AREAS_H

#include "lives.h"

/* Never freed. */
#define MT_AREA_STAYS UINT32_MAX

struct mt_area {
    uint64_t address, size;  /* bytes */
    uint32_t made, ended;    /* numbers of events; MT_AREA_STAYS */
    uint32_t stack, name;    /* of the call; what the program calls it: ids */
    uint32_t range;          /* the path of ranges that it was made in */
    uint8_t slot, api;       /* mt_device_slot; enum mt_cuda_api */
    bool is_mapped;          /* a piece of a range of addresses */
};

struct mt_areas {
    struct mt_area *area; /* in the order in which they were made */
    size_t n, capacity;
    struct mt_address_map live; /* by address: the area's place + 1 */
};

/* Looks at what an event has changed. 0 or -ENOMEM. */
int mt_areas_see(struct mt_areas *areas, const struct mt_replay *replay,
                 const struct mt_event *event);
void mt_areas_clear(struct mt_areas *areas);

/* What lies where on a device after a moment; both in the order of addresses. */
struct mt_map_segment {
    double address, size, used, hole; /* bytes; hole: the largest free piece */
    double first, n_blocks;           /* block[first], ... lie in it */
    double is_expandable;             /* pieces that touch are one segment */
    double area;                      /* its place, of the first piece */
};

struct mt_map_block {
    double address, size, life, category;
};

struct mt_map {
    struct mt_map_segment *segment;
    struct mt_map_block *block;
    size_t n_segments, n_blocks, segment_capacity, block_capacity;
};

/* 0 or -ENOMEM. Blocks that lie in no segment (the trace lacks some) are left out. */
int mt_map_draw(struct mt_map *map, const struct mt_areas *areas, const struct mt_lives *lives,
                unsigned slot, size_t moment);
void mt_map_clear(struct mt_map *map);

#endif
