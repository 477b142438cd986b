/* SPDX-License-Identifier: Apache-2.0 */
#include "failed.h"
#include "analyzer/support/grow.h"

#include <string.h>

/* Return the block that failed. It is freed at its own event. */
static struct mt_recorded_block as_block(const struct mt_recording *recording, uint64_t event,
                                         uint64_t end, uint64_t bytes, enum mt_phase phase)
{
    return (struct mt_recorded_block){
        .begin = event,
        .end = end,
        .size = bytes,
        .device = (int16_t)recording->device,
        .was_caught = true,
        .step = phase == MT_PHASE_STEP,
        .phase = (uint8_t)phase,
        .category = phase == MT_PHASE_FORWARD ? MT_CATEGORY_ACTIVATIONS : MT_CATEGORY_TEMPORARIES};
}

static bool is_in_step(const struct mt_recording *recording, uint64_t event)
{
    size_t i = recording->n_steps;
    while (i && recording->step[i - 1].begin > event)
        i--;
    return i && event <= recording->step[i - 1].end;
}

enum mt_phase mt_failed_phase(const struct mt_recording *recording, uint64_t event)
{
    const struct mt_turn *next = mt_turn_after(recording, event);
    size_t before = next ? (size_t)(next - recording->turn) : recording->n_turns;
    if (is_in_step(recording, event))
        return MT_PHASE_STEP;
    enum mt_phase phase =
        before ? (enum mt_phase)recording->turn[before - 1].phase : MT_PHASE_OUTSIDE;
    return phase == MT_PHASE_STEP ? MT_PHASE_OUTSIDE : phase; /* that one has ended */
}

int mt_failed_add_all(struct mt_recording *recording, const struct mt_requests *requests)
{
    size_t n = recording->n;
    for (size_t i = 0; i < requests->n; i++) {
        uint64_t event = requests->recorded[i].event;
        if (!mt_failed(requests, i) || requests->request[i].kind != MT_REQUEST_ALLOCATE)
            continue;
        struct mt_recorded_block block = as_block(
            recording, event, event + 1, (requests->request[i].size + 511) & ~UINT64_C(511),
            mt_failed_phase(recording, event));
        block.stack = requests->recorded[i].stack;
        if (MT_APPEND(recording->block, recording->capacity, recording->n, block))
            return -ENOMEM;
    }
    if (recording->n > n)
        mt_recording_sort(recording);
    return 0;
}
