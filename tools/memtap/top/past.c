/* SPDX-License-Identifier: Apache-2.0 */
#include "watch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define RATE_STEPS 30u
#define STEPS_A_COLUMN 10u /* at most */

static uint64_t step_of(uint64_t time_ns)
{
    return time_ns / MT_PAST_STEP_NS;
}

/* Advance to a step. Steps without an event repeat the previous value. */
static void reach(struct mt_past *past, unsigned slot, uint64_t step)
{
    uint64_t *most = past->most[slot], last = past->last[slot];
    uint64_t before = most[last % MT_PAST_STEPS];
    if (step - last > MT_PAST_STEPS)
        last = step - MT_PAST_STEPS;
    while (last < step)
        most[++last % MT_PAST_STEPS] = before;
    past->last[slot] = step;
    if (step - past->first[slot] >= MT_PAST_STEPS)
        past->first[slot] = step - MT_PAST_STEPS + 1;
}

static int begin(struct mt_past *past, unsigned slot, uint64_t step)
{
    past->most[slot] = calloc(MT_PAST_STEPS, sizeof **past->most);
    past->first[slot] = past->last[slot] = step;
    return past->most[slot] ? 0 : -ENOMEM;
}

static void count(struct mt_past *past, uint64_t step)
{
    if (step > past->last_step + MT_PAST_STEPS)
        past->last_step = step - MT_PAST_STEPS;
    while (past->last_step < step)
        past->allocations[++past->last_step % MT_PAST_STEPS] = 0;
    past->allocations[step % MT_PAST_STEPS]++;
}

/* Events that change the allocated bytes. */
#define CHANGES                                                                                    \
    (1ull << MT_ALLOC | 1ull << MT_FREE | 1ull << MT_CUDA_MALLOC | 1ull << MT_CUDA_FREE |          \
     1ull << MT_CUDA_MALLOC_ASYNC | 1ull << MT_CUDA_FREE_ASYNC | 1ull << MT_CUDA_MAP |             \
     1ull << MT_CUDA_UNMAP)

int mt_past_saw(void *data, const struct mt_replay *replay, const struct mt_event *event)
{
    struct mt_past *past = data;
    if (!(CHANGES >> event->kind & 1) || event->device == MT_NO_DEVICE)
        return 0;
    unsigned slot = mt_device_slot(event->device);
    uint64_t step = step_of(event->time_ns);
    bool of_cuda = mt_replay_is_of_cuda(replay, slot);
    const struct mt_totals *now = &mt_replay_level(replay, of_cuda)->now[slot];
    if (!now->event)
        return 0;
    if (event->kind == MT_ALLOC || (of_cuda && event->kind != MT_CUDA_FREE))
        count(past, step > past->last_step ? step : past->last_step);
    if (!past->most[slot] && begin(past, slot, step))
        return -ENOMEM;
    uint64_t last = past->last[slot];
    if (step > last)
        reach(past, slot, step);
    uint64_t *most = &past->most[slot][past->last[slot] % MT_PAST_STEPS];
    if (step > last || now->allocated > *most) /* a new step begins with the current bytes */
        *most = now->allocated;
    return 0;
}

void mt_past_clear(struct mt_past *past)
{
    for (unsigned slot = 0; slot < MT_DEVICES; slot++)
        free(past->most[slot]);
    memset(past, 0, sizeof *past);
}

uint64_t mt_past_columns(const struct mt_past *past, unsigned slot, unsigned n, uint64_t *columns)
{
    if (!past->most[slot] || !n)
        return 0;
    uint64_t known = past->last[slot] - past->first[slot] + 1;
    uint64_t each = (known + n - 1) / n;
    each = each > STEPS_A_COLUMN ? STEPS_A_COLUMN : each;
    uint64_t end = past->last[slot] + 1;
    for (unsigned i = n; i-- > 0;) {
        columns[i] = 0;
        for (uint64_t j = 0; j < each && end > past->first[slot]; j++) {
            uint64_t bytes = past->most[slot][--end % MT_PAST_STEPS];
            columns[i] = bytes > columns[i] ? bytes : columns[i];
        }
    }
    return each * MT_PAST_STEP_NS;
}

double mt_past_rate(const struct mt_past *past)
{
    uint64_t n = past->last_step < RATE_STEPS ? past->last_step : RATE_STEPS, sum = 0;
    for (uint64_t i = 1; i <= n; i++) /* the last step may not be over */
        sum += past->allocations[(past->last_step - i) % MT_PAST_STEPS];
    return n ? (double)sum * 1e9 / ((double)n * MT_PAST_STEP_NS) : 0;
}
