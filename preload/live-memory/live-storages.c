/* SPDX-License-Identifier: Apache-2.0 */
#include "live-storages.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define PLACES 16384u
#define MOST_LABELS 4u

struct mt_live_storage {
    uint64_t storage;
    uint32_t n;
    struct mt_event label[MOST_LABELS];
};

void mt_live_storages_clear(struct mt_live_storages *storages)
{
    for (unsigned i = 0; storages->place && i < PLACES; i++)
        free(storages->place[i]);
    free(storages->place);
    storages->place = NULL;
}

static struct mt_live_storage **place_of(const struct mt_live_storages *storages,
                                         const struct mt_event *event)
{
    return &storages->place[(event->RESIZE.storage >> 4 ^ event->RESIZE.storage >> 18) % PLACES];
}

/* Return whether a label belongs to the tensor, whatever memory it has. */
static bool is_lasting(const struct mt_event *label)
{
    return label->kind == MT_LEAF || label->kind == MT_SET_DATA ||
           label->kind == MT_REQUIRES_GRAD || label->kind == MT_STATE || label->kind == MT_MEMBER;
}

int mt_live_storage_empty(struct mt_live_storages *storages, const struct mt_event *event,
                          const struct mt_event *label, uint32_t n)
{
    if (!storages->place && !(storages->place = calloc(PLACES, sizeof *storages->place)))
        return -ENOMEM;
    struct mt_live_storage **place = place_of(storages, event);
    if (!*place && !(*place = calloc(1, sizeof **place)))
        return -ENOMEM;
    (*place)->storage = event->RESIZE.storage;
    (*place)->n = 0;
    for (uint32_t i = 0; i < n && (*place)->n < MOST_LABELS; i++)
        if (is_lasting(&label[i]))
            (*place)->label[(*place)->n++] = label[i];
    return 0;
}

bool mt_live_storage_next(const struct mt_live_storages *storages, const struct mt_event *event,
                          uint32_t *i, struct mt_event *label)
{
    const struct mt_live_storage *kept = storages->place ? *place_of(storages, event) : NULL;
    if (!kept || kept->storage != event->RESIZE.storage || *i >= kept->n)
        return false;
    *label = kept->label[(*i)++];
    label->time_ns = event->time_ns;
    label->address = event->address;
    return true;
}
