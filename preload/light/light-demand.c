/* SPDX-License-Identifier: Apache-2.0 */
/* When everything is recorded: at the beginning, on request, and after an alarm. */
#include "light-window.h"

#define LEAST_RECORDED 1000u   /* events recorded at the beginning */
#define ALL_EVENTS 1000000u    /* of an iteration, and of the beginning */
#define ALARM_NS 600000000000u /* between two alarms */

bool mt_light_writes_iterations(const struct mt_light *light)
{
    return light->all_until && light->events < light->all_until_event &&
           mt_light_iterations(&light->phases) - light->iterations_before <= light->all_until;
}

bool mt_light_is_writing_all(struct mt_light *light, uint64_t time_ns)
{
    bool is_before = time_ns <= light->all_until_ns;
    if (is_before) /* the iterations are those after it */
        light->iterations_before = mt_light_iterations(&light->phases);
    return is_before || light->events < LEAST_RECORDED || mt_light_writes_iterations(light);
}

void mt_light_write_all(struct mt_light *light, uint64_t until_ns, uint32_t iterations)
{
    uint32_t now = mt_light_iterations(&light->phases), begun = now - light->iterations_before;
    uint32_t left = mt_light_writes_iterations(light) ? light->all_until - begun : 0;
    uint64_t events = light->events + (now && iterations ? iterations : 1) * (uint64_t)ALL_EVENTS;
    light->iterations_before = now;
    light->all_until = iterations > left ? iterations : left;
    if (events > light->all_until_event)
        light->all_until_event = events;
    light->all_until_ns = until_ns;
}

void mt_light_alarm(struct mt_light *light, uint64_t time_ns)
{
    if (light->alarmed_ns && time_ns - light->alarmed_ns < ALARM_NS)
        return;
    light->alarmed_ns = time_ns;
    if (!light->all_until_ns || time_ns > light->all_until_ns)
        mt_light_write_all(light, time_ns, MT_LIGHT_ITERATIONS);
}
