/* SPDX-License-Identifier: Apache-2.0 */
/* When everything is recorded: at the beginning, on request, and after an alarm. */
#include "window.h"

#define LEAST_RECORDED 1000u   /* events recorded at the beginning */
#define ALL_EVENTS 1000000u    /* of an iteration, and of the beginning */
#define ALARM_NS 600000000000u /* between two alarms */

bool mt_selection_writes_iterations(const struct mt_selection *selection)
{
    return selection->all_until && selection->events < selection->all_until_event &&
           mt_selection_iterations(&selection->phases) - selection->iterations_before <=
               selection->all_until;
}

bool mt_selection_is_writing_all(struct mt_selection *selection, uint64_t time_ns)
{
    bool is_before = time_ns <= selection->all_until_ns;
    if (is_before) /* the iterations are those after it */
        selection->iterations_before = mt_selection_iterations(&selection->phases);
    return is_before || selection->events < LEAST_RECORDED ||
           mt_selection_writes_iterations(selection);
}

void mt_selection_write_all(struct mt_selection *selection, uint64_t until_ns, uint32_t iterations)
{
    uint32_t now = mt_selection_iterations(&selection->phases),
             begun = now - selection->iterations_before;
    uint32_t left = mt_selection_writes_iterations(selection) ? selection->all_until - begun : 0;
    uint64_t events =
        selection->events + (now && iterations ? iterations : 1) * (uint64_t)ALL_EVENTS;
    selection->iterations_before = now;
    selection->all_until = iterations > left ? iterations : left;
    if (events > selection->all_until_event)
        selection->all_until_event = events;
    selection->all_until_ns = until_ns;
}

void mt_selection_alarm(struct mt_selection *selection, uint64_t time_ns)
{
    if (selection->alarmed_ns && time_ns - selection->alarmed_ns < ALARM_NS)
        return;
    selection->alarmed_ns = time_ns;
    if (!selection->all_until_ns || time_ns > selection->all_until_ns)
        mt_selection_write_all(selection, time_ns, MT_SELECTION_ITERATIONS);
}
