/* SPDX-License-Identifier: Apache-2.0 */
/* Count iterations: to stop after so many, and to notice growth, once, and find what holds the
 * memory then. A recording that wants neither has none of this. */
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
    bool wants_growth;
    uint32_t most; /* iterations; 0: no limit */
} *watch;          /* NULL: not wanted, or over */

void mt_iterations_start(uint32_t most)
{
    bool wants_growth = mt_settings.holders_at & 1u << MT_HOLDERS_GROWTH;
    if (most || wants_growth)
        watch = mt_map(sizeof *watch);
    if (watch) {
        watch->most = most;
        watch->wants_growth = wants_growth;
    }
}

void mt_iterations_end(void)
{
    if (!watch)
        return;
    mt_light_phases_clear(&watch->phases);
    mt_unmap(watch, sizeof *watch);
    watch = NULL;
}

void mt_iterations_define(const struct mt_definition *definition)
{
    if (watch && mt_light_phases_define(&watch->phases, definition))
        mt_iterations_end();
}

static void follow(const struct mt_event *event)
{
    struct mt_light_thread *thread = mt_light_phases_thread(&watch->phases, event->thread);
    if (thread)
        mt_light_phases_follow(&watch->phases, &thread->at, event);
}

static bool grows(const struct mt_event *event)
{
    return watch->wants_growth && (event->kind == MT_ALLOC || event->kind == MT_FREE) &&
           event->device >= 0 &&
           mt_light_growth_note(&watch->device[(unsigned)event->device % DEVICES],
                                mt_light_iterations(&watch->phases),
                                event->kind == MT_ALLOC ? event->ALLOC.allocated
                                                        : event->FREE.allocated);
}

/* Return whether the iterations to be recorded are over: another one has begun. Only the writer's
 * thread can stop the recording. */
static bool is_over(void)
{
    return watch->most && mt_settings.has_thread &&
           mt_light_iterations(&watch->phases) > watch->most;
}

size_t mt_iterations_note(const struct mt_event *events, size_t n)
{
    for (size_t i = 0; watch && i < n; i++) {
        if (!is_over())
            follow(&events[i]);
        if (is_over()) {
            mt_writer.has_to_rest = true;
            return i;
        }
        if (!grows(&events[i]))
            continue;
        mt_holders_search(MT_HOLDERS_GROWTH);
        watch->wants_growth = false;
        if (!watch->most)
            mt_iterations_end();
    }
    return n;
}

void mt_iterations_reset(void)
{
    watch = NULL; /* the writer may have been using it */
}
