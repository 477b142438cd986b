/* SPDX-License-Identifier: Apache-2.0 */
#include "pins.h"
#include "analyzer/model/user-line.h"
#include "analyzer/support/search.h"

/* A segment is pinned if at most 1 / PINNED_PART of it is used. */
#define PINNED_PART 2u

/* Return the block that stands for the segment's blocks: the largest. */
static const struct mt_verdict *keeper(const struct mt_segment *segment,
                                       const struct mt_verdict *verdicts)
{
    const struct mt_verdict *best = &verdicts[segment->first];
    for (size_t i = 1; i < segment->n_blocks; i++)
        if (verdicts[segment->first + i].block->size > best->block->size)
            best = &verdicts[segment->first + i];
    return best;
}

MT_ORDER(by_stack, struct mt_pin, MT_RISING(stack) ?: MT_RISING(category))

MT_ORDER(by_free, struct mt_pin, MT_FALLING(free) ?: by_stack(a, b))

static void join(void *into, void *from)
{
    struct mt_pin *pin = into;
    const struct mt_pin *other = from;
    pin->segments += other->segments;
    pin->blocks += other->blocks;
    pin->bytes += other->bytes;
    pin->free += other->free;
}

int mt_pins_find(struct mt_pins *found, const struct mt_segments *segments, unsigned pools,
                 const struct mt_verdict *verdicts, const struct mt_definitions *definitions)
{
    struct mt_pin *pins = calloc(segments->n + 1, sizeof *pins);
    size_t n = 0;
    *found = (struct mt_pins){.n = 0};
    if (!pins)
        return -ENOMEM;
    for (size_t i = 0; i < segments->n; i++) {
        const struct mt_segment *segment = &segments->segment[i];
        if (!(pools & 1u << segment->pool) || segment->used > segment->size / PINNED_PART)
            continue;
        const struct mt_verdict *verdict = keeper(segment, verdicts);
        pins[n++] = (struct mt_pin){.stack = mt_line_stack(definitions, verdict->block),
                                    .category = verdict->rule->category,
                                    .certainty = mt_certainty_of(verdict->rule),
                                    .segments = 1,
                                    .blocks = segment->n_blocks,
                                    .bytes = segment->used,
                                    .free = segment->size - segment->used};
    }
    n = mt_merge(pins, n, sizeof *pins, by_stack, by_stack, join);
    qsort(pins, n, sizeof *pins, by_free);
    found->n = n < MT_PINS_KEPT ? n : MT_PINS_KEPT;
    memcpy(found->pin, pins, found->n * sizeof *pins);
    free(pins);
    return 0;
}
