/* SPDX-License-Identifier: Apache-2.0 */
/* Count iterations, to stop after so many. A recording that does not want that has none of this. */
#include "iterations.h"
#include "preload/host/memory.h"
#include "preload/host/settings.h"
#include "preload/selection/phases.h"
#include "writer-state.h"

static struct watch {
    struct mt_selection_phases phases;
    uint32_t most; /* iterations */
} *watch;          /* NULL: not wanted, or over */

void mt_iterations_start(uint32_t most)
{
    if (most)
        watch = mt_map(sizeof *watch);
    if (watch)
        watch->most = most;
}

void mt_iterations_end(void)
{
    if (!watch)
        return;
    mt_selection_phases_clear(&watch->phases);
    mt_unmap(watch, sizeof *watch);
    watch = NULL;
}

void mt_iterations_define(const struct mt_definition *definition)
{
    if (watch && mt_selection_phases_define(&watch->phases, definition))
        mt_iterations_end();
}

static void follow(const struct mt_event *event)
{
    struct mt_selection_thread *thread = mt_selection_phases_thread(&watch->phases, event->thread);
    if (thread)
        mt_selection_phases_follow(&watch->phases, &thread->at, event);
}

/* Return whether the iterations to be recorded are over: another one has begun. Only the writer's
 * thread can stop the recording. */
static bool is_over(void)
{
    return mt_settings.has_thread && mt_selection_iterations(&watch->phases) > watch->most;
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
    }
    return n;
}

void mt_iterations_reset(void)
{
    watch = NULL; /* the writer may have been using it */
}
