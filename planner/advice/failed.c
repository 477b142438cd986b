/* SPDX-License-Identifier: Apache-2.0 */
#include "failed.h"
#include "analyzer/support/grow.h"

#include <string.h>

/* It is freed at its own event. */
bool mt_failed(const struct mt_asked *asked, size_t place)
{
    const struct mt_request *request = &asked->request[place];
    return place + 1 < asked->n && request->kind == MT_REQUEST_ALLOCATE &&
           request[1].kind == MT_REQUEST_FREE && request->block == request[1].block &&
           asked->recorded[place].event == asked->recorded[place + 1].event;
}

size_t mt_failed_last(const struct mt_asked *asked)
{
    size_t i = asked->n;
    while (i && !mt_failed(asked, i - 1))
        i--;
    return i;
}

int mt_failed_add(struct mt_recording *recording, uint64_t event, uint64_t bytes,
                  enum mt_phase phase)
{
    if (mt_grow(&recording->block, &recording->capacity, recording->n + 1, sizeof *recording->block))
        return -ENOMEM;
    size_t at = recording->n;
    while (at && recording->block[at - 1].begin > event)
        at--;
    memmove(recording->block + at + 1, recording->block + at,
            (recording->n - at) * sizeof *recording->block);
    recording->block[at] = (struct mt_recorded_block){
        .begin = event,
        .end = MT_EVER,
        .size = bytes,
        .device = (int16_t)recording->device,
        .step = phase == MT_PHASE_STEP,
        .phase = (uint8_t)phase,
        .category = phase == MT_PHASE_FORWARD ? MT_CATEGORY_ACTIVATIONS : MT_CATEGORY_TEMPORARIES};
    recording->n++;
    return 0;
}
