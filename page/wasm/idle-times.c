/* SPDX-License-Identifier: Apache-2.0 */
#include "idle-times.h"
#include "analyzer/model/user-line.h"
#include "analyzer/support/grow.h"
#include "analyzer/support/search.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const struct mt_course *course_of(const struct mt_idle_times *idle, uint32_t life)
{
    return &idle->lives->course[mt_life(idle->lives, life)->slot];
}

static uint32_t at_least(uint64_t a, uint64_t b)
{
    return (uint32_t)(a > b ? a : b);
}

static int add_change(struct mt_idle_times *idle, uint32_t moment, uint32_t life, bool is_end)
{
    unsigned slot = mt_life(idle->lives, life)->slot;
    return MT_APPEND(idle->change[slot], idle->changes_capacity[slot], idle->n_changes[slot],
                     (struct mt_idle_change){moment, life, is_end});
}

/* Add a time within a life, up to which its uses are known. */
static int add(struct mt_idle_times *idle, const struct mt_life_uses *uses,
               const struct mt_unneeded_time *time, bool is_killed)
{
    const struct mt_life *life = mt_life(idle->lives, uses->life);
    const struct mt_course *course = &idle->lives->course[life->slot];
    uint64_t from_ns = time->from_ns > life->born_ns ? time->from_ns : life->born_ns;
    uint64_t known_ns = uses->of.known_ns + !is_killed;
    uint64_t to_ns = time->to_ns < known_ns ? time->to_ns : known_ns;
    size_t end = life->ended == MT_LIFE_GOES_ON ? course->n : life->ended;
    size_t to = mt_moment_at_ns(idle->lives, course, to_ns);
    struct mt_idle_time one = {
        .life = uses->life,
        .from = at_least(mt_moment_at_ns(idle->lives, course, from_ns + 1), life->born + 1),
        .to = (uint32_t)(to < end ? to : end)};
    if (one.from >= one.to)
        return 0;
    if (time->kind == MT_UNNEEDED_AFTER)
        one.line = mt_request_line(idle->replay->definitions, time->use->stack, 0);
    idle->n_late += one.line != 0;
    return MT_APPEND(idle->time, idle->capacity, idle->n, one) ||
                   add_change(idle, one.from, one.life, false) ||
                   add_change(idle, one.to, one.life, true)
               ? -ENOMEM
               : 0;
}

static int find_of(struct mt_idle_times *idle, const struct mt_life_uses *uses,
                   const struct mt_unneeded_run *run)
{
    const struct mt_life *life = mt_life(idle->lives, uses->life);
    struct mt_unneeded_time time[MT_UNNEEDED_TIMES];
    int rc = 0;
    if (!run->is_known || !uses->is_judged || uses->of.is_passed ||
        life->category == MT_CATEGORY_WORKSPACE)
        return 0;
    unsigned n = mt_unneeded_times(run, &uses->of, life->stack, time);
    for (unsigned i = 0; i < n && !rc; i++)
        if (!mt_unneeded_may_be_used(run, time[i].kind, &uses->of, life->born_ns))
            rc = add(idle, uses, &time[i], idle->replay->survey.kinds[MT_USE]);
    return rc;
}

MT_ORDER(by_moment, struct mt_idle_change, MT_RISING(moment) ?: MT_FALLING(is_end))

static int by_line(const void *a, const void *b, void *data)
{
    const struct mt_idle_times *idle = data;
    const struct mt_idle_time *x = &idle->time[*(const uint32_t *)a];
    const struct mt_idle_time *y = &idle->time[*(const uint32_t *)b];
    int slots = mt_life(idle->lives, x->life)->slot - mt_life(idle->lives, y->life)->slot;
    return slots                ? slots
           : x->line != y->line ? (x->line > y->line) - (x->line < y->line)
                                : (x->from > y->from) - (x->from < y->from);
}

int mt_idle_times_find(struct mt_idle_times *idle, const struct mt_lives *lives,
                       const struct mt_analysis *analysis)
{
    struct mt_unneeded_run run[MT_DEVICES];
    int rc = 0;
    idle->lives = lives;
    idle->replay = &analysis->replay;
    if (!lives->n_uses)
        return 0;
    for (unsigned slot = 0; slot < MT_DEVICES; slot++)
        run[slot] = mt_unneeded_run_of(idle->replay, &idle->replay->spans[slot]);
    for (size_t i = 0; i < lives->n_uses && !rc; i++)
        rc = find_of(idle, &lives->uses[i], &run[mt_life(lives, lives->uses[i].life)->slot]);
    if (rc || !(idle->late = malloc((idle->n_late + 1) * sizeof *idle->late)))
        return -ENOMEM;
    size_t n = 0;
    for (size_t i = 0; i < idle->n; i++)
        if (idle->time[i].line)
            idle->late[n++] = (uint32_t)i;
    qsort_r(idle->late, n, sizeof *idle->late, by_line, idle);
    for (unsigned slot = 0; slot < MT_DEVICES; slot++)
        if (idle->n_changes[slot])
            qsort(idle->change[slot], idle->n_changes[slot], sizeof *idle->change[slot], by_moment);
    return 0;
}

void mt_idle_times_clear(struct mt_idle_times *idle)
{
    for (unsigned slot = 0; slot < MT_DEVICES; slot++)
        free(idle->change[slot]);
    free(idle->time);
    free(idle->late);
    memset(idle, 0, sizeof *idle);
}

const struct mt_idle_time *mt_idle_times_of(const struct mt_idle_times *idle, uint32_t life,
                                            size_t *n)
{
    size_t at = MT_LEADING(i, idle->n, idle->time[i].life < life);
    for (*n = 0; at + *n < idle->n && idle->time[at + *n].life == life;)
        ++*n;
    return &idle->time[at];
}

/* Return the time that a life is in after a moment; NULL: none. */
static const struct mt_idle_time *time_at(const struct mt_idle_times *idle, uint32_t life,
                                          size_t moment)
{
    size_t n;
    const struct mt_idle_time *time = mt_idle_times_of(idle, life, &n);
    for (size_t i = 0; i < n; i++)
        if (time[i].from <= moment && moment < time[i].to)
            return &time[i];
    return NULL;
}

bool mt_is_idle(const struct mt_idle_times *idle, uint32_t life, size_t moment)
{
    return time_at(idle, life, moment) != NULL;
}

/* Return the line that allocates at a moment; 0: none does. */
static uint32_t line_at(const struct mt_idle_times *idle, const struct mt_course *course,
                        size_t moment)
{
    return moment >= course->n || mt_is_end(course, moment)
               ? 0
               : mt_request_line(idle->replay->definitions,
                                 mt_life_at(idle->lives, course, moment)->stack, 0);
}

/* Return whether a moment is of the same iteration as a later one. */
static bool is_of_iteration(const struct mt_idle_times *idle, const struct mt_course *course,
                            size_t moment, size_t later)
{
    const struct mt_spans *spans = &idle->replay->spans[course - idle->lives->course];
    uint64_t event = course->event[later];
    size_t next = MT_LEADING(i, spans->n, spans->span[i].event <= event);
    return mt_unneeded_is_of_iteration(spans, next ? &spans->span[next - 1] : NULL,
                                       course->event[moment], event);
}

bool mt_is_unneeded(const struct mt_idle_times *idle, uint32_t life, size_t moment)
{
    const struct mt_idle_time *time = time_at(idle, life, moment);
    const struct mt_course *course = course_of(idle, life);
    return time && (!time->line || time->line != line_at(idle, course, moment) ||
                    !is_of_iteration(idle, course, mt_life(idle->lives, life)->born, moment));
}

/* Subtract the blocks that were last used by the line that allocates at a moment, in its iteration.
 */
static void leave_out(const struct mt_idle_times *idle, unsigned slot, size_t moment,
                      uint64_t group[MT_CATEGORY_COUNT])
{
    const struct mt_course *course = &idle->lives->course[slot];
    uint32_t line = line_at(idle, course, moment);
    if (!line)
        return;
#define LATE(i) (&idle->time[idle->late[i]])
#define SLOT(i) (mt_life(idle->lives, LATE(i)->life)->slot)
    size_t at = MT_LEADING(
        i, idle->n_late,
        SLOT(i) < slot || (SLOT(i) == slot && (LATE(i)->line < line || (LATE(i)->line == line &&
                                                                        LATE(i)->from <= moment))));
    while (at-- && SLOT(at) == slot && LATE(at)->line == line &&
           is_of_iteration(idle, course, LATE(at)->from, moment)) {
        const struct mt_life *life = mt_life(idle->lives, LATE(at)->life);
        if (moment < LATE(at)->to && is_of_iteration(idle, course, life->born, moment))
            group[life->group] -= life->size;
    }
#undef SLOT
#undef LATE
}

void mt_bands_unneeded(const struct mt_idle_times *idle, const struct mt_range_shown *range,
                       double *out)
{
    const struct mt_lives *lives = idle->lives;
    const struct mt_course *course = &lives->course[range->slot];
    const struct mt_idle_change *change = idle->change[range->slot];
    const struct mt_idle_change *end = change + idle->n_changes[range->slot];
    uint64_t sum[MT_CATEGORY_COUNT] = {0};
    for (size_t i = 0; i < range->columns; i++) {
        long moment = mt_highest_moment(lives, course, mt_column_moments(lives, range, i));
        for (; change < end && (long)change->moment <= moment; change++) {
            const struct mt_life *life = mt_life(lives, change->life);
            sum[life->group] += change->is_end ? -life->size : life->size;
        }
        uint64_t group[MT_CATEGORY_COUNT];
        memcpy(group, sum, sizeof group);
        if (moment >= 0)
            leave_out(idle, range->slot, (size_t)moment, group);
        for (unsigned c = 0; c < MT_CATEGORY_COUNT; c++)
            *out++ = (double)group[c];
    }
}
