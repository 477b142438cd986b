/* SPDX-License-Identifier: Apache-2.0 */
#include "turns.h"
#include "analyzer/support/grow.h"
#include "analyzer/support/search.h"
#include "loops.h"

#include <errno.h>
#include <string.h>

#define AGAIN_LEAST 5u /* turns but the first */

/* A loop that only runs another one may have accumulators. */
#define SMALL (64u << 10)
#define SMALL_PART 16u

static enum mt_turn_sign sign_of(const struct mt_found_loop *loop)
{
    unsigned sign = MT_TURN_BACK;
    while (sign + 1 < MT_TURN_SIGNS && !loop->turns[sign])
        sign++;
    return (enum mt_turn_sign)sign;
}

/* Return whether a loop is one. What only does the same again, without a source that has a loop
 * there, may be a few calls in a row. */
static bool turns_at_all(const struct mt_found_loop *loop)
{
    enum mt_turn_sign sign = sign_of(loop);
    return loop->turns[sign] >= (sign == MT_TURN_AGAIN && loop->until ? AGAIN_LEAST : 1);
}

/* Return whether one loop is around all of another one. Where each is around the other, the one in
 * the outer function, or whose line comes first, is. */
static bool is_around(const struct mt_loop_finder *f, unsigned outer, unsigned inner)
{
    const struct mt_found_loop *o = &f->loop[outer], *i = &f->loop[inner];
    if (outer == inner || !(i->inside_of >> outer & 1))
        return false;
    return !(o->inside_of >> inner & 1) || o->depth < i->depth ||
           (o->depth == i->depth && o->line < i->line);
}

/* Return whether a loop does nothing of its own: it runs another one again and again. */
static bool is_only_around(const struct mt_found_loop *outer, const struct mt_found_loop *inner)
{
    uint64_t small = inner->largest / SMALL_PART < SMALL ? inner->largest / SMALL_PART : SMALL;
    return !outer->own_forward && outer->own_largest < small;
}

/* Return the loop that an outer one leaves the turns to, or itself. */
static unsigned in_earnest(const struct mt_loop_finder *f, unsigned outer)
{
    for (bool goes_on = true; goes_on;) {
        int inner = -1;
        for (unsigned i = 0; i < f->n_loops; i++)
            if (turns_at_all(&f->loop[i]) && is_around(f, outer, i) &&
                (inner < 0 || is_around(f, i, (unsigned)inner) ||
                 (!is_around(f, (unsigned)inner, i) && f->loop[i].bytes > f->loop[inner].bytes)))
                inner = (int)i;
        goes_on = inner >= 0 && is_only_around(&f->loop[outer], &f->loop[inner]);
        outer = goes_on ? (unsigned)inner : outer;
    }
    return outer;
}

static bool is_outermost(const struct mt_loop_finder *f, unsigned loop)
{
    for (unsigned i = 0; i < f->n_loops; i++)
        if (turns_at_all(&f->loop[i]) && is_around(f, i, loop))
            return false;
    return true;
}

/* Return the program's loop; -1: none. */
static int choose(const struct mt_loop_finder *f)
{
    int best = -1;
    for (unsigned i = 0; i < f->n_loops; i++) {
        if (!turns_at_all(&f->loop[i]) || !is_outermost(f, i))
            continue;
        unsigned loop = in_earnest(f, i);
        const struct mt_found_loop *a = &f->loop[loop], *b = best < 0 ? NULL : &f->loop[best];
        if (!b || a->in_forward > b->in_forward ||
            (a->in_forward == b->in_forward && a->bytes > b->bytes))
            best = (int)loop;
    }
    return best;
}

/* An operator that makes several blocks, or a line with several calls, begins again several times a
 * turn: return how many, by the events in between; 1: nothing repeats so. */
#define PERIOD_MOST 32u
static size_t period_of(const uint64_t *begin, size_t n)
{
    for (size_t period = 1; period <= PERIOD_MOST && 3 * period < n; period++) {
        size_t equal = 0, of = 0;
        for (size_t i = n / 4 + period; i + 1 < n; i++, of++)
            equal += begin[i + 1] - begin[i] == begin[i + 1 - period] - begin[i - period];
        if (of && 10 * equal >= 9 * of)
            return period;
    }
    return 1;
}

static void thin(struct mt_turns *turns)
{
    size_t period = turns->n_first == 1 ? period_of(turns->begin, turns->n) : 1;
    size_t n = 0;
    for (size_t i = 0; i < turns->n; i += period)
        turns->begin[n++] = turns->begin[i];
    turns->n = n;
}

static int add_turn(struct mt_turns *turns, uint64_t event, bool is_first)
{
    if (is_first &&
        MT_APPEND(turns->first, turns->first_capacity, turns->n_first, (uint32_t)turns->n))
        return -ENOMEM;
    turns->end = 0;
    return MT_APPEND(turns->begin, turns->capacity, turns->n, event);
}

static int list_turns(struct mt_loop_finder *f, struct mt_turns *turns, unsigned loop, size_t first,
                      size_t end)
{
    enum mt_turn_sign sign = sign_of(&f->loop[loop]);
    bool is_in = false;
    int rc = 0;
    for (size_t i = first; !rc && i < end; i++) {
        const struct mt_visit *visit = &f->visits->visit[i];
        if (visit->thread != turns->thread)
            continue;
        uint32_t place = mt_address_map_get(&f->places, visit->node);
        bool was_in = is_in;
        is_in = place && f->node[place - 1].in >> loop & 1;
        if (is_in && (!was_in || (f->turned[i].loop == loop + 1 && f->turned[i].sign == sign)))
            rc = add_turn(turns, visit->event, !was_in);
        else if (was_in && !is_in)
            turns->end = visit->event;
    }
    if (!rc && sign == MT_TURN_AGAIN)
        thin(turns);
    return rc;
}

int mt_turns_find(struct mt_turns *turns, const struct mt_visits *visits,
                  const struct mt_definitions *definitions, uint64_t first, uint64_t last)
{
    size_t begin = MT_LEADING(i, visits->n, visits->visit[i].event < first),
           end = MT_LEADING(i, visits->n, visits->visit[i].event <= last);
    if (begin >= end)
        return 0;
    struct mt_loop_finder *f = calloc(1, sizeof *f);
    if (!f)
        return -ENOMEM;
    *f = (struct mt_loop_finder){.visits = visits, .definitions = definitions};
    int rc = mt_loops_find(f, begin, end, &turns->thread);
    int loop = rc ? -1 : choose(f);
    if (loop >= 0) {
        turns->frame = f->loop[loop].frame;
        turns->stack = f->loop[loop].stack;
        turns->line = f->loop[loop].line;
        turns->in_forward = f->loop[loop].in_forward;
        rc = list_turns(f, turns, (unsigned)loop, begin, end);
    }
    mt_loops_clear(f);
    free(f);
    return rc;
}

void mt_turns_clear(struct mt_turns *turns)
{
    free(turns->begin);
    free(turns->first);
    *turns = (struct mt_turns){0};
}

uint32_t mt_turns_at(const struct mt_turns *turns, uint64_t event)
{
    return (uint32_t)MT_LEADING(i, turns->n, turns->begin[i] <= event);
}

static bool is_past(const struct mt_turns *turns, uint64_t event)
{
    return turns->end && event >= turns->end;
}

int mt_spans_turn(struct mt_spans *spans, const struct mt_visit_levels *levels,
                  const struct mt_turns *turns)
{
    struct mt_span *cut = NULL;
    size_t n = 0, capacity = 0, of = 0, last = SIZE_MAX;
    if (!levels->n || !spans->n)
        return 0;
    for (size_t i = 0; i < levels->n; i++) {
        const struct mt_visit_level *level = &levels->level[i];
        uint32_t iteration = mt_turns_at(turns, level->event);
        bool is_after = is_past(turns, level->event);
        while (of + 1 < spans->n && spans->span[of + 1].run <= level->run)
            of++;
        if (last == of && cut[n - 1].iteration == iteration && cut[n - 1].is_past == is_after) {
            struct mt_span *span = &cut[n - 1];
            span->left = level->left;
            span->least = level->least < span->least ? level->least : span->least;
            if (level->most <= span->most)
                continue;
            span->most = level->most;
            span->most_event = level->most_event;
            span->most_time_ns = level->most_time_ns;
            span->most_reserved = level->most_reserved;
            continue;
        }
        struct mt_span span = spans->span[of];
        span.iteration = iteration;
        span.is_past = is_after;
        span.event = level->event;
        span.time_ns = level->time_ns;
        span.before = level->before;
        span.least = level->least;
        span.most = level->most;
        span.left = level->left;
        span.most_event = level->most_event;
        span.most_time_ns = level->most_time_ns;
        span.most_reserved = level->most_reserved;
        last = of;
        if (MT_APPEND(cut, capacity, n, span)) {
            free(cut);
            return -ENOMEM;
        }
    }
    free(spans->span);
    spans->span = cut;
    spans->n = n;
    spans->capacity = capacity;
    spans->iterations = (uint32_t)turns->n;
    spans->counted = turns->named ? MT_COUNTED_RANGES : MT_COUNTED_TURNS;
    spans->turns = turns;
    return 0;
}
