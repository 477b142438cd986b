/* SPDX-License-Identifier: Apache-2.0 */
#include "heap.h"
#include "analyzer/support/grow.h"

#include <sys/random.h>

#define GOLDEN_FACTOR 0x9e3779b97f4a7c15u
#define FEWEST_SLOTS 64u
#define MOST_SLOTS (UINT32_C(1) << 31)

static struct mt_death no_death;
static struct mt_deaths no_deaths = {.death = &no_death, .capacity = 1};
struct mt_birth mt_no_birth = {.deaths = &no_deaths};

struct mt_birth *mt_birth_new(const struct mt_birth *like)
{
    struct mt_birth *birth = malloc(sizeof *birth);
    if (!birth)
        return NULL;
    if (mt_grow(&like->deaths->death, &like->deaths->capacity, 1, sizeof *like->deaths->death)) {
        free(birth);
        return NULL;
    }
    *birth = *like;
    birth->users = 1;
    return birth;
}

void mt_birth_free(struct mt_birth *birth)
{
    free(birth);
}

void mt_deaths_clear(struct mt_deaths *deaths)
{
    free(deaths->death);
    *deaths = (struct mt_deaths){0};
}

int mt_deaths_add(struct mt_deaths *deaths, const struct mt_when *when)
{
    uint32_t before = deaths->latest;
    uint32_t place =
        MT_TAKE_PLACE(deaths->death, deaths->capacity, deaths->n, deaths->first_free, next);
    if (!place)
        return -ENOMEM;
    deaths->death[place] = (struct mt_death){.when = *when};
    deaths->latest = place;
    if (before && !deaths->death[before].users) {
        deaths->death[before].next = deaths->first_free;
        deaths->first_free = before;
    }
    return 0;
}

void mt_block_copy(struct mt_block_copy *copy, const struct mt_block *block)
{
    copy->block = *block;
    copy->birth = *block->birth;
    copy->death[1].when = *mt_block_ended(block);
    copy->deaths = (struct mt_deaths){.death = copy->death};
    copy->birth.deaths = &copy->deaths;
    copy->block.birth = &copy->birth;
    copy->block.ended = 1;
}

static void drop_births(struct mt_heap *heap)
{
    for (uint32_t i = 1; i < heap->n_records; i++)
        if (mt_heap_record(heap, i)->state != MT_BLOCK_UNUSED)
            mt_birth_drop(mt_heap_record(heap, i)->birth);
    for (unsigned i = 0; i < MT_HEAP_RECENT; i++)
        mt_birth_drop(heap->recent[i]);
}

void mt_heap_clear(struct mt_heap *heap)
{
    drop_births(heap);
    mt_deaths_clear(&heap->deaths);
    for (size_t i = 0; i < heap->n_chunks; i++)
        free(heap->chunks[i]);
    free(heap->chunks);
    free(heap->slots);
    mt_ordered_clear(&heap->ordered);
    memset(heap, 0, sizeof *heap);
}

uint32_t mt_heap_index(const struct mt_heap *heap, const struct mt_block *block)
{
    if (block->state == MT_BLOCK_LIVE)
        return *mt_heap_locate(heap, block->address) & heap->mask;
    for (size_t i = 0; i < heap->n_chunks; i++)
        if (block >= heap->chunks[i]->record && block < heap->chunks[i]->record + MT_HEAP_CHUNK)
            return (uint32_t)(i * MT_HEAP_CHUNK + (size_t)(block - heap->chunks[i]->record));
    return 0;
}

/* Move all blocks to a table with this many slots, hashed by this factor. */
static int move(struct mt_heap *heap, uint32_t n_slots, uint64_t factor)
{
    uint32_t *old = heap->slots, mask = heap->mask;
    uint32_t *slots = calloc(n_slots, sizeof *slots);
    if (!slots)
        return -ENOMEM;
    heap->slots = slots;
    heap->mask = n_slots - 1;
    heap->factor = factor;
    for (uint32_t i = 0; old && i <= mask; i++) {
        uint32_t index = old[i] & mask;
        if (!index)
            continue;
        uint64_t address = mt_heap_record(heap, index)->address;
        *mt_heap_locate(heap, address) = (mt_heap_hash(heap, address) & ~heap->mask) | index;
    }
    free(old);
    return 0;
}

int mt_heap_mix(struct mt_heap *heap)
{
    uint64_t factor;
    if (getrandom(&factor, sizeof factor, 0) != sizeof factor)
        factor = heap->factor * GOLDEN_FACTOR; /* a different one at least */
    return move(heap, heap->mask + 1, factor | 1);
}

/* Make room for this many records, all of which may be live. */
static int enlarge(struct mt_heap *heap, uint32_t n)
{
    uint32_t slots = heap->slots ? heap->mask + 1 : 0;
    if ((uint64_t)n * 5 <= (uint64_t)slots * 4)
        return 0;
    if (slots == MOST_SLOTS)
        return -ENOMEM;
    return slots ? move(heap, slots * 2, heap->factor) : move(heap, FEWEST_SLOTS, GOLDEN_FACTOR);
}

int mt_heap_new_record(struct mt_heap *heap)
{
    uint32_t index = heap->n_records ? heap->n_records : 1;
    if (enlarge(heap, index + 1))
        return -ENOMEM;
    if (index / MT_HEAP_CHUNK >= heap->n_chunks) {
        if (MT_GROW(heap->chunks, heap->chunks_capacity, heap->n_chunks))
            return -ENOMEM;
        heap->chunks[heap->n_chunks] = calloc(1, sizeof **heap->chunks);
        if (!heap->chunks[heap->n_chunks])
            return -ENOMEM;
        heap->n_chunks++;
    }
    heap->n_records = index + 1;
    heap->first_free = index;
    return 0;
}

/* Close a gap: a later entry that a search from its home would miss moves into it and leaves the
 * next gap. */
void mt_heap_close_gap(struct mt_heap *heap, uint32_t gap)
{
    uint32_t mask = heap->mask, slot;
    for (uint32_t i = (gap + 1) & mask; (slot = heap->slots[i]); i = (i + 1) & mask) {
        uint32_t home = mt_heap_hash(heap, mt_heap_record(heap, slot & mask)->address);
        if (((i - home) & mask) < ((i - gap) & mask))
            continue;
        heap->slots[gap] = slot;
        gap = i;
    }
    heap->slots[gap] = 0;
}

static struct mt_birth *birth_of(struct mt_heap *heap, const struct mt_event *event)
{
    struct mt_birth **recent = &heap->recent[event->thread % MT_HEAP_RECENT];
    if (*recent && (*recent)->thread == event->thread &&
        mt_birth_is_near(*recent, event->time_ns, 0))
        return *recent;
    struct mt_birth *birth = mt_birth_new(&(struct mt_birth){
        .deaths = &heap->deaths, .time_ns = event->time_ns, .thread = event->thread});
    if (!birth)
        return NULL;
    mt_birth_drop(*recent);
    return *recent = birth;
}

struct mt_block *mt_heap_add(struct mt_heap *heap, const struct mt_event *event)
{
    struct mt_birth *birth = birth_of(heap, event);
    if (!birth || mt_heap_make_room(heap))
        return NULL;
    struct mt_block *block = mt_heap_add_unborn(heap, mt_heap_locate(heap, event->address), event);
    if (block)
        mt_block_give_birth(block, birth, event->time_ns, 0);
    return block;
}

int mt_block_set_event(struct mt_block *block, uint64_t event)
{
    struct mt_birth like = *block->birth;
    like.time_ns = mt_block_time(block);
    like.event = event;
    struct mt_birth *birth = mt_birth_new(&like);
    if (!birth)
        return -ENOMEM;
    mt_birth_drop(block->birth);
    mt_block_give_birth(block, birth, like.time_ns, event);
    mt_birth_drop(birth); /* the block is its only user */
    return 0;
}

static uint64_t address_of(const void *heap, uint32_t index)
{
    return mt_heap_record(heap, index)->address;
}

static struct mt_ordered_keys keys(const struct mt_heap *heap)
{
    return (struct mt_ordered_keys){address_of, heap};
}

static int bring_word(struct mt_heap *heap, uint32_t first, uint64_t *word)
{
    for (; *word; *word &= *word - 1) {
        uint32_t index = first + (uint32_t)__builtin_ctzll(*word);
        if (mt_ordered_put(&heap->ordered, keys(heap), index))
            return -ENOMEM;
    }
    return 0;
}

/* Append the chunk: older records come first, which mostly have lower addresses. */
void mt_heap_list_pending(struct mt_heap *heap, uint32_t number)
{
    heap->chunks[number]->next_pending = 0;
    if (heap->first_pending)
        heap->chunks[heap->last_pending - 1]->next_pending = number + 1;
    else
        heap->first_pending = number + 1;
    heap->last_pending = number + 1;
}

static int bring_order(struct mt_heap *heap)
{
    while (heap->first_pending) {
        uint32_t number = heap->first_pending - 1;
        struct mt_heap_chunk *chunk = heap->chunks[number];
        for (; chunk->words; chunk->words &= chunk->words - 1) {
            unsigned word = (unsigned)__builtin_ctzll(chunk->words);
            if (bring_word(heap, number * MT_HEAP_CHUNK + word * 64, &chunk->pending[word]))
                return -ENOMEM;
        }
        heap->first_pending = chunk->next_pending;
    }
    return 0;
}

struct mt_block *mt_heap_within(struct mt_heap *heap, uint64_t address)
{
    uint32_t index;
    if (bring_order(heap) || !mt_ordered_below(&heap->ordered, keys(heap), address, &index))
        return NULL;
    struct mt_block *block = mt_heap_record(heap, index);
    return address - block->address < block->size ? block : NULL;
}

void mt_heap_remove_from_order(struct mt_heap *heap, uint64_t address)
{
    mt_ordered_remove(&heap->ordered, keys(heap), address);
}

/* Start over. All live blocks are remembered and may count as the oldest. */
static __attribute__((cold)) void begin_moments_anew(struct mt_heap *heap, unsigned slot)
{
    for (uint32_t i = 1; i < heap->n_records; i++) {
        struct mt_block *block = mt_heap_record(heap, i);
        if (block->state == MT_BLOCK_LIVE && mt_device_slot(block->device) == slot)
            block->moment = 0;
    }
    heap->memory[slot].moments = 0;
}

void mt_heap_remember(struct mt_heap *heap, unsigned slot)
{
    uint32_t index = heap->memory[slot].first_kept;
    while (index) {
        struct mt_block *block = mt_heap_record(heap, index);
        uint32_t next = block->next;
        mt_heap_give_record(heap, block, index);
        index = next;
    }
    heap->memory[slot].first_kept = 0;
    if (heap->memory[slot].moments == UINT32_MAX)
        begin_moments_anew(heap, slot);
    heap->memory[slot].moments++;
}
