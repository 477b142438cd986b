/* SPDX-License-Identifier: Apache-2.0 */
#include "keep-scout.h"
#include "analyzer/replay/replay-parts.h"
#include "analyzer/support/grow.h"

int mt_marks_add(struct mt_marks_list *list, uint64_t number)
{
    if (mt_grow(&list->number, &list->capacity, list->n + 1, sizeof *list->number))
        return -ENOMEM;
    list->number[list->n++] = number;
    return 0;
}

static int rising(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

void mt_marks_sort(struct mt_marks_list *list)
{
    size_t kept = 0;
    if (list->n)
        qsort(list->number, list->n, sizeof *list->number, rising);
    for (size_t i = 0; i < list->n; i++)
        if (!kept || list->number[kept - 1] != list->number[i])
            list->number[kept++] = list->number[i];
    list->n = kept;
}

void mt_marks_clear(struct mt_marks_list *list)
{
    free(list->number);
    *list = (struct mt_marks_list){0};
}

static void note_free(struct mt_keep_scout *scout, uint64_t address, uint64_t number)
{
    unsigned at = scout->next++ % MT_SCOUT_RECENT;
    scout->recent[at].address = address;
    scout->recent[at].number = number;
}

/* The newest free of the address failed. */
static int note_failure(struct mt_keep_scout *scout, uint64_t address)
{
    for (unsigned i = 1; i <= MT_SCOUT_RECENT; i++) {
        unsigned at = (scout->next - i) % MT_SCOUT_RECENT;
        uint64_t number = scout->recent[at].number;
        if (!number || scout->recent[at].address != address)
            continue;
        scout->recent[at].number = 0;
        return mt_marks_add(&scout->failed, number);
    }
    return 0;
}

static void note_oom(struct mt_keep_scout *scout, const struct mt_replay *replay)
{
    scout->last_oom = replay->events;
    for (unsigned slot = 0; slot < MT_DEVICES; slot++)
        scout->before_oom[slot] = replay->cuda_now[slot].event;
}

int mt_keep_scout_saw(void *data, const struct mt_replay *replay, const struct mt_event *event)
{
    struct mt_keep_scout *scout = data;
    const struct mt_oom *oom = mt_replay_last_oom(replay);
    switch (event->kind) {
    case MT_CUDA_FREE:
    case MT_CUDA_FREE_ASYNC:
        note_free(scout, event->address, replay->events);
        return 0;
    case MT_CUDA_FREE_FAILED:
        return note_failure(scout, event->address);
    case MT_DEVICE_MEMORY:
        return mt_marks_add(&scout->samples[mt_device_slot(event->device)], replay->events);
    case MT_OOM:
        note_oom(scout, replay);
        return 0;
    case MT_CUDA_MALLOC:
        if (!event->address && oom && oom->of_cuda && oom->time_ns == event->time_ns)
            note_oom(scout, replay);
        return 0;
    }
    return 0;
}

void mt_keep_scout_clear(struct mt_keep_scout *scout)
{
    mt_marks_clear(&scout->failed);
    for (unsigned slot = 0; slot < MT_DEVICES; slot++)
        mt_marks_clear(&scout->samples[slot]);
}
