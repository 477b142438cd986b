/* SPDX-License-Identifier: Apache-2.0 */
#include "areas.h"
#include "analyzer/findings/private-pools.h"
#include "analyzer/support/grow.h"
#include "analyzer/support/search.h"
#include "trace-format/cuda-apis.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Return whether the memory is a device's and has an address. */
static bool has_address(uint8_t api)
{
    enum mt_space space = mt_cuda_api_space(api);
    return space == MT_SPACE_DEVICE || space == MT_SPACE_MANAGED;
}

static int begin(struct mt_areas *areas, const struct mt_replay *replay,
                 const struct mt_block *block, bool is_mapped, uint64_t time_ns)
{
    if (MT_GROW(areas->area, areas->capacity, areas->n) ||
        mt_address_map_put(&areas->live, block->address, (uint32_t)areas->n + 1))
        return -ENOMEM;
    areas->area[areas->n++] = (struct mt_area){.address = block->address,
                                               .size = block->size,
                                               .made = (uint32_t)replay->events,
                                               .ended = MT_AREA_STAYS,
                                               .made_ns = time_ns,
                                               .stack = block->stack,
                                               .name = block->name,
                                               .range = block->range,
                                               .slot = (uint8_t)mt_device_slot(block->device),
                                               .api = block->api,
                                               .is_mapped = is_mapped};
    return 0;
}

/* Compare the analyzer's block at an address, after an event, with the area there, and update the
 * area. Set *size to the old area's bytes. */
static int compare(struct mt_areas *areas, const struct mt_replay *replay,
                   const struct mt_event *event, uint64_t address, uint64_t *size)
{
    uint32_t place = mt_address_map_get(&areas->live, address);
    struct mt_area *area = place ? &areas->area[place - 1] : NULL;
    const struct mt_block *block = mt_heap_at(&replay->cuda.mapped, address);
    bool is_mapped = block;
    if (!block)
        block = mt_heap_at(&replay->cuda.heap, address);
    if (block && !is_mapped && !has_address(block->api))
        block = NULL;
    *size = area ? area->size : 0;
    if (area && block && area->size == block->size && area->stack == block->stack)
        return 0;
    if (area) {
        area->ended = (uint32_t)replay->events;
        area->ended_ns = event->time_ns;
        mt_address_map_take(&areas->live, address);
    }
    return block ? begin(areas, replay, block, is_mapped, event->time_ns) : 0;
}

/* Note which areas the event has shown to be segments of PyTorch's allocator. */
static void note_segments(struct mt_areas *areas, const struct mt_replay *replay)
{
    const struct mt_new_segments *new = &replay->reserved.new;
    for (size_t i = 0; i < new->n &&new->event == replay->events; i++) {
        uint32_t place = mt_address_map_get(&areas->live, new->call[i].address);
        if (!place)
            continue;
        areas->area[place - 1].shown = (uint32_t)replay->events;
        areas->has_segments[areas->area[place - 1].slot] = true;
    }
}

int mt_areas_note(struct mt_areas *areas, const struct mt_replay *replay,
                  const struct mt_event *event)
{
    uint64_t size;
    int rc;
    note_segments(areas, replay);
    switch (event->kind) {
    case MT_CUDA_MALLOC:
    case MT_CUDA_FREE:
    case MT_CUDA_FREE_FAILED:
    case MT_CUDA_MALLOC_ASYNC:
    case MT_CUDA_FREE_ASYNC:
    case MT_CUDA_MAP:
        return compare(areas, replay, event, event->address, &size);
    case MT_CUDA_UNMAP: /* may unmap several neighbours */
        for (uint64_t at = event->address; at - event->address < event->size; at += size)
            if ((rc = compare(areas, replay, event, at, &size)) || !size)
                return rc;
        return 0;
    default:
        return 0;
    }
}

void mt_areas_clear(struct mt_areas *areas)
{
    free(areas->area);
    mt_address_map_clear(&areas->live);
    memset(areas, 0, sizeof *areas);
}

/* Return the life that an event began; NULL: none. */
static const struct mt_life *born_at(const struct mt_lives *lives, unsigned slot, uint32_t event)
{
    const struct mt_course *course = &lives->course[slot];
    for (size_t i = mt_moment_at_event(course, event); i < course->n && course->event[i] == event;
         i++)
        if (!mt_is_end(course, i))
            return mt_life_at(lives, course, i);
    return NULL;
}

void mt_area_purpose(char out[MT_LIFE_TEXT], const struct mt_areas *areas,
                     const struct mt_lives *lives, const struct mt_replay *replay, size_t number)
{
    const struct mt_area *area = &areas->area[number];
    const struct mt_block as_block = {.birth = &mt_no_birth,
                                      .stack = area->stack,
                                      .name = area->name,
                                      .range = area->range,
                                      .api = area->api};
    const struct mt_definitions *d = replay->definitions;
    bool is_named = area->name || area->range || mt_stack(d, area->stack)->user;
    const struct mt_life *life = is_named ? NULL : born_at(lives, area->slot, area->shown);
    char line[MT_LIFE_TEXT];
    if (!life || !life->node_name) {
        mt_segment_text(out, MT_LIFE_TEXT, replay, &as_block);
        return;
    }
    mt_life_operator(d, life, out);
    mt_life_line(d, life, line);
    size_t used = strlen(out);
    if (life->forward_stack)
        snprintf(out + used, MT_LIFE_TEXT - used, " in backward of %s", line);
}

static int by_address(const void *left, const void *right)
{
    double a, b; /* both structs begin with the address */
    memcpy(&a, left, sizeof a);
    memcpy(&b, right, sizeof b);
    return (a > b) - (a < b);
}

static int collect_segments(struct mt_map *map, const struct mt_areas *areas, unsigned slot,
                            uint32_t event)
{
    map->n_segments = 0;
    for (size_t i = 0; i < areas->n; i++) {
        const struct mt_area *area = &areas->area[i];
        if (area->slot != slot || area->made > event || area->ended <= event ||
            (areas->has_segments[slot] && !area->shown)) /* a library's, of no block's */
            continue;
        if (MT_APPEND(map->segment, map->segment_capacity, map->n_segments,
                      (struct mt_map_segment){.address = (double)area->address,
                                              .size = (double)area->size,
                                              .is_expandable = area->is_mapped,
                                              .area = (double)i}))
            return -ENOMEM;
    }
    if (map->n_segments)
        qsort(map->segment, map->n_segments, sizeof *map->segment, by_address);
    return 0;
}

static void join_pieces(struct mt_map *map)
{
    size_t kept = 0;
    for (size_t i = 0; i < map->n_segments; i++) {
        struct mt_map_segment *last = kept ? &map->segment[kept - 1] : NULL, one = map->segment[i];
        if (last && last->is_expandable && one.is_expandable &&
            last->address + last->size == one.address)
            last->size += one.size;
        else
            map->segment[kept++] = one;
    }
    map->n_segments = kept;
}

static int collect_blocks(struct mt_map *map, const struct mt_lives *lives, unsigned slot,
                          size_t moment)
{
    const struct mt_course *course = &lives->course[slot];
    uint32_t after = mt_first_after(course, moment);
    map->n_blocks = 0;
    for (size_t i = 0; i <= moment && i < course->n; i++) {
        if (!mt_begins_after(course, i, after))
            continue;
        const struct mt_life *life = mt_life_at(lives, course, i);
        if (MT_APPEND(map->block, map->block_capacity, map->n_blocks,
                      (struct mt_map_block){.address = (double)life->address,
                                            .size = (double)life->size,
                                            .life = course->what[i] >> 1,
                                            .category = life->category,
                                            .is_found = life->is_found}))
            return -ENOMEM;
    }
    if (map->n_blocks)
        qsort(map->block, map->n_blocks, sizeof *map->block, by_address);
    return 0;
}

static void place_blocks(struct mt_map *map)
{
    size_t next = 0;
    for (size_t i = 0; i < map->n_segments; i++) {
        struct mt_map_segment *segment = &map->segment[i];
        double at = segment->address, end = at + segment->size;
        while (next < map->n_blocks && map->block[next].address < at)
            next++; /* in no segment */
        segment->first = (double)next;
        for (; next < map->n_blocks && map->block[next].address < end; next++) {
            const struct mt_map_block *block = &map->block[next];
            if (block->address - at > segment->hole)
                segment->hole = block->address - at;
            at = block->address + block->size;
            segment->used += block->size;
            segment->n_blocks++;
        }
        if (end - at > segment->hole)
            segment->hole = end - at;
    }
}

int mt_map_draw(struct mt_map *map, const struct mt_areas *areas, const struct mt_lives *lives,
                unsigned slot, size_t moment)
{
    const struct mt_course *course = &lives->course[slot];
    map->n_segments = map->n_blocks = 0;
    if (moment >= course->n)
        return 0;
    /* before a request failed, PyTorch gave back what it could, as in the reserved bytes */
    uint32_t event = mt_reserved_at(course, moment)->event;
    int rc = collect_segments(map, areas, slot,
                              event > course->event[moment] ? event : course->event[moment]);
    if (!rc)
        rc = collect_blocks(map, lives, slot, moment);
    if (!rc) {
        join_pieces(map);
        place_blocks(map);
    }
    return rc;
}

void mt_map_clear(struct mt_map *map)
{
    free(map->segment);
    free(map->block);
    memset(map, 0, sizeof *map);
}

static bool overlaps(const struct mt_area *area, const struct mt_life *life)
{
    return area->slot == life->slot && area->address < life->address + life->size &&
           life->address < area->address + area->size;
}

enum mt_origin mt_life_source(const struct mt_areas *areas, const struct mt_lives *lives,
                              const struct mt_life *life, uint64_t *made)
{
    const struct mt_course *course = &lives->course[life->slot];
    uint32_t event = course->event[life->born];
    size_t moment = mt_moment_at_event(course, event), bytes = 0;
    uint32_t last = moment ? course->event[moment - 1] : 0;
    /* PyTorch holds its allocator's lock from CUDA's call to the block's event */
    for (size_t i = MT_LEADING(k, areas->n, areas->area[k].made <= last);
         i < areas->n && areas->area[i].made <= event; i++) {
        if (!overlaps(&areas->area[i], life))
            continue;
        if (areas->area[i].api == MT_API_CUDA_MALLOC_ASYNC)
            return MT_FROM_UNKNOWN;
        bytes += areas->area[i].size;
    }
    if (made)
        *made = bytes;
    return bytes ? MT_FROM_CUDA : areas->n ? MT_FROM_CACHE : MT_FROM_UNKNOWN;
}

double mt_map_room(const struct mt_map *map, const struct mt_life *life)
{
    double address = (double)life->address;
    for (size_t i = 0; i < map->n_segments; i++) {
        const struct mt_map_segment *segment = &map->segment[i];
        double from = segment->address, to = from + segment->size;
        if (address < from || address >= to)
            continue;
        const struct mt_map_block *block = &map->block[(size_t)segment->first];
        for (size_t k = 0; k < (size_t)segment->n_blocks; k++, block++) {
            if (block->address < address)
                from = block->address + block->size;
            if (block->address > address)
                return block->address - from;
        }
        return to - from;
    }
    return 0;
}
