/* SPDX-License-Identifier: Apache-2.0 */
#include "analyzer/support/grow.h"
#include "analyzer/support/hash.h"
#include "watch.h"

#include <stdbool.h>

#define MOST_TURNS 4u
#define EQUAL_SHAPES 6u     /* iterations of one shape in a row, if addresses do not repeat */
#define WARM_UPS 12u        /* iterations on a separate stream; PyTorch recommends up to 11 */
#define MOST_ITERATIONS 64u /* how far back iterations are compared */
#define OFTEN                                                                                      \
    512u /* spans; beyond this, count iterations less often, since each count scans all spans */

/* The complete iterations, the last one first. */
struct recent {
    struct mt_repeat_span of[MOST_ITERATIONS];
    uint64_t most[MOST_ITERATIONS];
    size_t n;
};

/* Collect an iteration, except the first, which allocates the optimizer's state. */
static void collect(const struct mt_repeat *repeat, const struct mt_spans *spans,
                    struct recent *recent)
{
    uint32_t last = spans->iterations - 1;
    *recent = (struct recent){0};
    for (size_t i = 0; i < spans->n && i < repeat->n; i++) {
        const struct mt_span *span = &spans->span[i];
        if (span->iteration < 2 || span->iteration > last ||
            last - span->iteration >= MOST_ITERATIONS)
            continue;
        size_t back = last - span->iteration;
        struct mt_repeat_span *sum = &recent->of[back];
        if (!mt_span_is_beside(spans, span)) {
            sum->exact = mt_hash_number(sum->exact, repeat->span[i].exact);
            sum->shape += repeat->span[i].shape;
        }
        sum->reserved = repeat->span[i].reserved;
        sum->plain += repeat->span[i].plain;
        recent->most[back] = span->most > recent->most[back] ? span->most : recent->most[back];
        recent->n = back + 1 > recent->n ? back + 1 : recent->n;
    }
}

static bool take_turns(const struct recent *recent, size_t turns)
{
    if (recent->n < 2 * turns)
        return 0;
    for (size_t i = 0; i < turns; i++)
        if (recent->of[i].exact != recent->of[i + turns].exact ||
            recent->of[i].reserved != recent->of[i + turns].reserved)
            return 0;
    return 1;
}

static bool have_one_shape(const struct recent *recent)
{
    for (size_t i = 1; i < EQUAL_SHAPES; i++)
        if (i >= recent->n || recent->of[i].shape != recent->of[0].shape ||
            recent->of[i].reserved != recent->of[0].reserved || recent->most[i] != recent->most[0])
            return 0;
    return 1;
}

static bool may_be_warm_up(const struct recent *recent)
{
    uint64_t plain = 0;
    for (size_t i = 0; i < recent->n; i++)
        plain += recent->of[i].plain;
    return !plain && recent->n < WARM_UPS;
}

static bool has_steps(const struct mt_spans *spans)
{
    for (size_t i = 0; i < spans->n; i++)
        if (spans->span[i].phase == MT_PHASE_STEP)
            return 1;
    return 0;
}

/* Count iterations. Only optimizer steps show where they end, since a program may evaluate before
 * it trains. */
static void count(struct mt_repeat *repeat, struct mt_spans *spans)
{
    struct recent recent;
    repeat->looked = spans->n;
    if (!has_steps(spans))
        return;
    mt_spans_number(spans, 1);
    if (spans->iterations < 2)
        return;
    repeat->complete = spans->iterations - 1;
    collect(repeat, spans, &recent);
    repeat->repeats = have_one_shape(&recent);
    for (size_t turns = 1; turns <= MOST_TURNS; turns++)
        repeat->repeats |= take_turns(&recent, turns);
    repeat->repeats &= !may_be_warm_up(&recent);
}

int mt_repeat_note(struct mt_repeat *repeat, struct mt_replay *replay, const struct mt_event *event,
                   bool is_beside)
{
    unsigned slot = mt_device_slot(event->device);
    struct mt_spans *spans = &replay->spans[slot];
    if ((event->kind != MT_ALLOC && event->kind != MT_FREE) || !spans->n)
        return 0;
    if (mt_grow(&repeat->span, &repeat->capacity, spans->n, sizeof *repeat->span))
        return -ENOMEM;
    repeat->n = spans->n;
    struct mt_repeat_span *span = &repeat->span[spans->n - 1];
    span->exact =
        mt_hash_number(mt_hash_number(span->exact, event->address ^ event->kind), event->size);
    if (event->kind == MT_ALLOC) {
        span->shape += mt_hash_number(1, event->size);
        span->plain += !is_beside;
    }
    span->reserved = replay->of_torch.now[slot].reserved;
    if (spans->n > repeat->looked + spans->n / OFTEN)
        count(repeat, spans);
    return 0;
}

void mt_repeat_clear(struct mt_repeat *repeat)
{
    free(repeat->span);
    *repeat = (struct mt_repeat){0};
}
