/* SPDX-License-Identifier: Apache-2.0 */
#include "tail-builder.h"
#include "trace-format/encoder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define START_NS 1000000000u /* CLOCK_MONOTONIC at the trace's time 0 */

struct mt_tail_builder {
    unsigned char *bytes;
    size_t size;
};

static void must(int holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "tail-builder: %s\n", what);
    abort();
}

struct mt_tail_header *mt_tail_builder_header(struct mt_tail_builder *b)
{
    return (struct mt_tail_header *)b->bytes;
}

struct mt_ring *mt_tail_builder_ring(struct mt_tail_builder *b, uint32_t thread)
{
    must(thread >= 1 && thread <= mt_tail_builder_header(b)->slots, "no such thread");
    return (struct mt_ring *)(b->bytes + mt_tail_ring_at(thread - 1));
}

static void make_ring(struct mt_ring *ring, uint32_t thread, uint64_t before)
{
    ring->thread = thread;
    ring->os_thread = 4700 + thread;
    ring->put = ring->safe[0] = ring->safe[1] = before;
    snprintf(ring->name, sizeof ring->name, "thread-%u", thread);
}

struct mt_tail_builder *mt_tail_builder_create(uint64_t trace_id, uint64_t trace_size,
                                               uint32_t threads, uint64_t before)
{
    struct mt_tail_builder *b = calloc(1, sizeof *b);
    must(b != NULL, "out of memory");
    b->size = mt_tail_ring_at(threads);
    b->bytes = aligned_alloc(MT_TAIL_PAGE, b->size);
    must(b->bytes != NULL, "out of memory");
    memset(b->bytes, 0, b->size);
    struct mt_tail_header *header = mt_tail_builder_header(b);
    memcpy(header->magic, MT_TAIL_MAGIC, MT_TAIL_MAGIC_SIZE);
    header->version = MT_TAIL_VERSION;
    header->pid = 4711;
    header->start_monotonic_ns = START_NS;
    header->slots = threads;
    header->mark[0] = (struct mt_tail_mark){trace_size, trace_id, before, 0, 0};
    header->journal_put = before;
    for (uint32_t i = 1; i <= threads; i++)
        make_ring(mt_tail_builder_ring(b, i), i, before);
    return b;
}

void mt_tail_builder_destroy(struct mt_tail_builder *b)
{
    free(b->bytes);
    free(b);
}

void mt_tail_build_definition(struct mt_tail_builder *b, const struct mt_definition *definition)
{
    static unsigned char bytes[MT_DEFINITION_SIZE];
    struct mt_tail_header *header = mt_tail_builder_header(b);
    size_t size = mt_encode_definition(bytes, definition);
    for (size_t i = 0; i < size; i++)
        b->bytes[MT_TAIL_JOURNAL + (header->journal_put + i) % MT_JOURNAL_SIZE] = bytes[i];
    header->journal_put += size;
}

void mt_tail_build_event(struct mt_tail_builder *b, const struct mt_event *event)
{
    struct mt_ring *ring = mt_tail_builder_ring(b, event->thread);
    uint64_t at = ring->put;
    ring->word[at++ % MT_RING_WORDS] = mt_ring_head(event->kind, event->device, event->stack);
    ring->word[at++ % MT_RING_WORDS] = START_NS + event->time_ns;
    for (unsigned i = 0; i < mt_kind_fields[event->kind]; i++)
        ring->word[at++ % MT_RING_WORDS] = event->arg[i];
    ring->put = at;
}

unsigned char *mt_tail_builder_bytes(struct mt_tail_builder *b, size_t *size)
{
    *size = b->size;
    return b->bytes;
}

void mt_tail_builder_write(struct mt_tail_builder *b, const char *trace)
{
    char path[4096];
    snprintf(path, sizeof path, "%s" MT_TAIL_SUFFIX, trace);
    FILE *file = fopen(path, "wb");
    must(file && fwrite(b->bytes, 1, b->size, file) == b->size && !fclose(file), path);
}
