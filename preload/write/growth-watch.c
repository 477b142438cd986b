/* SPDX-License-Identifier: Apache-2.0 */
/* Notice growth, once, to find what holds the memory then. A recording that does not want that has
 * none of this. */
#include "preload/holders/holders.h"
#include "preload/host/memory.h"
#include "preload/host/settings.h"
#include "preload/light/growth.h"
#include "preload/light/light-phases.h"
#include "writer-parts.h"

#define DEVICES 64u

static struct watch {
    struct mt_light_phases phases;
    struct mt_light_growth device[DEVICES];
} *watch; /* NULL: not wanted, or over */

void mt_growth_watch_start(void)
{
    if (mt_settings.holders_at & 1u << MT_HOLDERS_GROWTH)
        watch = mt_map(sizeof *watch);
}

void mt_growth_watch_end(void)
{
    if (!watch)
        return;
    mt_light_phases_clear(&watch->phases);
    mt_unmap(watch, sizeof *watch);
    watch = NULL;
}

void mt_growth_watch_define(const struct mt_definition *definition)
{
    if (watch && mt_light_phases_define(&watch->phases, definition))
        mt_growth_watch_end();
}

/* Follow an event. Return whether memory grows. */
static bool follow(const struct mt_event *event)
{
    struct mt_light_thread *thread = mt_light_phases_thread(&watch->phases, event->thread);
    if (!thread)
        return false;
    mt_light_phases_follow(&watch->phases, &thread->at, event);
    return (event->kind == MT_ALLOC || event->kind == MT_FREE) && event->device >= 0 &&
           mt_light_growth_note(&watch->device[(unsigned)event->device % DEVICES],
                                mt_light_iterations(&watch->phases),
                                event->kind == MT_ALLOC ? event->ALLOC.allocated
                                                        : event->FREE.allocated);
}

void mt_growth_watch_note(const struct mt_event *events, size_t n)
{
    for (size_t i = 0; watch && i < n; i++)
        if (follow(&events[i])) {
            mt_growth_watch_end();
            mt_holders_search(MT_HOLDERS_GROWTH);
        }
}

void mt_growth_watch_reset(void)
{
    watch = NULL; /* the writer may have been using it */
}
