/* SPDX-License-Identifier: Apache-2.0 */
#include "turns.h"
#include "analyzer/support/grow.h"
#include "analyzer/support/search.h"
#include "loops.h"

#include <errno.h>
#include <string.h>

#define AGAIN_LEAST 5u    /* turns but the first */
#define LEAST_AGAIN 3u    /* turns that are only perhaps some */
#define OFTEN 3u          /* times a turn */
#define THREADS_MOST 256u /* with the same loop; others are left out */
#define NEARLY(part, all) (10 * (part) >= 9 * (all))

#define SIGN(sign) (1u << MT_TURN_##sign)

/* Return bits of the signs that begin a loop's turns. What is only perhaps done again counts where
 * no line goes back, and then all that is done again does; or where it is done so often that no
 * operator does it. Where a line goes back and more is perhaps done again than surely, a line calls
 * something several times a turn. */
static unsigned signs_of(const struct mt_found_loop *loop)
{
    const uint64_t *turns = loop->turns;
    bool is_often = turns[MT_TURN_PERHAPS_AGAIN] >= OFTEN * turns[MT_TURN_BACK],
         is_sure = is_often || turns[MT_TURN_AGAIN] >= turns[MT_TURN_PERHAPS_AGAIN];
    if (turns[MT_TURN_BACK])
        return SIGN(BACK) | (is_sure ? SIGN(AGAIN) : 0) | (is_often ? SIGN(PERHAPS_AGAIN) : 0);
    if (turns[MT_TURN_CALLED_AGAIN])
        return SIGN(CALLED_AGAIN);
    return SIGN(AGAIN) | (turns[MT_TURN_PERHAPS_AGAIN] ? SIGN(PERHAPS_AGAIN) : 0) |
           (turns[MT_TURN_OTHER_AGAIN] ? SIGN(OTHER_AGAIN) : 0);
}

/* Return whether a loop is one. What only does the same again, without a source that has a loop
 * there, may be a few calls in a row. */
static bool turns_at_all(const struct mt_found_loop *loop)
{
    uint64_t n = 0;
    for (unsigned sign = 0; sign < MT_TURN_SIGNS; sign++)
        n += signs_of(loop) >> sign & 1 ? loop->turns[sign] : 0;
    return n >= (loop->turns[MT_TURN_PERHAPS_AGAIN] == n && loop->until ? AGAIN_LEAST : 1);
}

/* Return whether one loop is around most of another one. Where each is around the other, the one in
 * the outer function, or whose line comes first, is. */
static bool is_around(const struct mt_loop_finder *f, unsigned outer, unsigned inner)
{
    const struct mt_found_loop *o = &f->loop[outer], *i = &f->loop[inner];
    if (outer == inner || i->in[outer] <= i->bytes / 2)
        return false;
    return o->in[inner] <= o->bytes / 2 || o->depth < i->depth ||
           (o->depth == i->depth && o->line < i->line);
}

static bool is_outermost(const struct mt_loop_finder *f, unsigned loop)
{
    for (unsigned i = 0; i < f->n_loops; i++)
        if (turns_at_all(&f->loop[i]) && is_around(f, i, loop))
            return false;
    return true;
}

/* Return whether one loop is rather the program's than another one that is in no loop, either: the
 * one that the program was in when it was broken off; one that calls modules; one that allocates
 * more. */
static bool is_rather(const struct mt_found_loop *a, const struct mt_found_loop *b, bool is_last_a,
                      bool is_last_b)
{
    if (is_last_a != is_last_b)
        return is_last_a;
    return a->in_forward != b->in_forward ? a->in_forward : a->bytes > b->bytes;
}

/* Return the program's loop; last: bits of the loops that it was in when it was broken off; -1:
 * none. */
static int choose(const struct mt_loop_finder *f, uint64_t last)
{
    int best = -1;
    for (unsigned i = 0; i < f->n_loops; i++)
        if (turns_at_all(&f->loop[i]) && is_outermost(f, i) &&
            (best < 0 || is_rather(&f->loop[i], &f->loop[best], last >> i & 1, last >> best & 1)))
            best = (int)i;
    return best;
}

#define PERIOD_MOST 32u

/* What a thread allocates from one visit that may begin a turn to the next; number: the event's
 * that begins it, without others (visits.h). */
struct part {
    uint64_t n, bytes, number;
};

/* An operator that makes several blocks, or a line with several calls, begins again several times a
 * turn: return how many, by the events in between; 1: nothing repeats so. */
static size_t period_of_events(const struct part *part, size_t n)
{
    for (size_t period = 1; period <= PERIOD_MOST && 3 * period < n; period++) {
        size_t equal = 0, of = 0;
        for (size_t i = n / 4 + period; i + 1 < n; i++, of++)
            equal += part[i + 1].number - part[i].number ==
                     part[i + 1 - period].number - part[i - period].number;
        if (of && NEARLY(equal, of))
            return period;
    }
    return 1;
}

/* Return how a part differs from the one before: its number of allocations, and whether it has
 * other bytes, or also which of the two has more. */
static uint64_t difference(const struct part *part, bool with_order)
{
    uint64_t now = part->bytes, before = part[-1].bytes;
    return part->n << 2 | (now == before ? 0 : !with_order || now > before ? 1 : 2);
}

/* Return after how many parts their differences repeat; 0: they do not. */
static size_t period_of_differences(const struct part *part, size_t n, bool with_order)
{
    for (size_t period = 1; period <= PERIOD_MOST && 3 * period <= n; period++) {
        size_t equal = 0, of = 0;
        for (size_t i = n / 4 + 1; i + period < n; i++, of++)
            equal += difference(part + i, with_order) == difference(part + i + period, with_order);
        if (of && NEARLY(equal, of))
            return period;
    }
    return 0;
}

/* Return whether not all sizes come back after a period: each turn has one of its own. */
static bool change(const struct part *part, size_t n, size_t period)
{
    size_t other = 0;
    for (size_t i = 0; i + period < n; i++)
        other += part[i].bytes != part[i + period].bytes;
    return NEARLY(other * period, n - period);
}

/* Return how many parts are a turn, where sizes change: what is allocated in one turn has the same
 * relations in each. Parts of several allocations are a turn each, unless they differ. 0: unknown.
 */
static size_t period_of_parts(const struct part *part, size_t n)
{
    size_t period = period_of_differences(part, n, false);
    if (period > 1)
        return change(part, n, period) ? period : 0;
    if (!period || part[n - 1].n > 1)
        return period;
    period = period_of_differences(part, n, true);
    return period > 1 && !change(part, n, period) ? 0 : period;
}

/* Return the parts of a thread's turns; NULL: out of memory. */
static struct part *parts_of(const struct mt_turns *turns, const struct mt_visits *visits)
{
    struct part *part = calloc(turns->n + 1, sizeof *part);
    uint64_t others = 0;
    size_t i = 0;
    for (size_t k = 0; part && k < visits->n; k++) {
        const struct mt_visit *visit = &visits->visit[k];
        others += visit->others;
        for (; i < turns->n && turns->begin[i] <= visit->event; i++)
            part[i].number = turns->begin[i] - others;
        if (i && visit->thread == turns->thread && !(turns->end && visit->event >= turns->end)) {
            part[i - 1].n += visit->n;
            part[i - 1].bytes += visit->bytes;
        }
    }
    return part;
}

/* Leave one of each period. At a line that calls something several times, calls that cannot be
 * distinguished do not show how many form one turn: then there are none. A first turn may have
 * more, and the last one fewer if the program was broken off. 0 or -ENOMEM. */
static int thin(struct mt_turns *turns, const struct mt_visits *visits,
                const struct mt_found_loop *loop, bool is_broken_off)
{
    struct part *part = parts_of(turns, visits);
    if (!part)
        return -ENOMEM;
    bool is_one = turns->n_first == 1, has_others = loop->turns[MT_TURN_OTHER_AGAIN] > 0,
         is_sure = !has_others && !loop->turns[MT_TURN_PERHAPS_AGAIN];
    size_t by_sizes = is_one ? period_of_parts(part, turns->n) : 0,
           period = by_sizes > 1 ? by_sizes
                    : is_one && !is_sure && !(by_sizes && has_others)
                        ? period_of_events(part, turns->n)
                        : 1,
           more = is_broken_off ? 0 : turns->n % period, n = 0;
    free(part);
    bool is_few = turns->n < LEAST_AGAIN && !loop->turns[MT_TURN_AGAIN];
    if (is_few || (period == 1 && (loop->is_doubtful || (has_others && !by_sizes))))
        turns->n = 0;
    for (size_t i = 0; i < turns->n; i += period + (i ? 0 : more))
        turns->begin[n++] = turns->begin[i];
    turns->n = n;
    return 0;
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
                      size_t end, bool is_broken_off)
{
    unsigned signs = signs_of(&f->loop[loop]);
    bool is_in = false;
    int rc = 0;
    for (size_t i = first; !rc && i < end; i++) {
        const struct mt_visit *visit = &f->visits->visit[i];
        if (visit->thread != turns->thread)
            continue;
        uint32_t place = mt_address_map_get(&f->places, visit->node);
        bool was_in = is_in;
        is_in = place && f->node[place - 1].in >> loop & 1;
        if (is_in && (!was_in || (f->turned[i].loop == loop + 1 && signs >> f->turned[i].sign & 1)))
            rc = add_turn(turns, visit->event, !was_in);
        else if (was_in && !is_in)
            turns->end = visit->event;
    }
    if (!rc && signs & SIGN(AGAIN) && !(signs & SIGN(BACK)))
        return thin(turns, f->visits, &f->loop[loop], is_broken_off);
    return rc;
}

void mt_turns_name(struct mt_turns *turns, const struct mt_definitions *definitions, uint32_t stack)
{
    const uint32_t installed = MT_MARK_LIBRARY | MT_MARK_FRAMEWORK;
    uint32_t at = stack;
    turns->stack = stack;
    turns->frame = mt_named_frame(definitions, mt_stack(definitions, stack)->frame);
    while (at && mt_stack_frame(definitions, at)->marks & installed)
        at = mt_stack(definitions, at)->parent;
    turns->caller =
        at && at != stack ? mt_named_frame(definitions, mt_stack(definitions, at)->frame) : NULL;
}

static int take_loop(struct mt_loop_finder *f, struct mt_turns *turns, unsigned loop, size_t first,
                     size_t end, bool is_broken_off)
{
    mt_turns_name(turns, f->definitions, f->loop[loop].stack);
    turns->line = f->loop[loop].line;
    turns->in_forward = f->loop[loop].in_forward;
    return list_turns(f, turns, loop, first, end, is_broken_off);
}

/* Return bits of the loops that a thread's last visit is in. */
static uint64_t loops_at_end(const struct mt_loop_finder *f, uint32_t thread, size_t first,
                             size_t end)
{
    while (end > first && f->visits->visit[end - 1].thread != thread)
        end--;
    uint32_t place =
        end > first ? mt_address_map_get(&f->places, f->visits->visit[end - 1].node) : 0;
    return place ? f->node[place - 1].in : 0;
}

static bool is_same_loop(const struct mt_found_loop *loop, const struct mt_turns *turns)
{
    return loop->line == turns->line && !strcmp(loop->frame->function, turns->frame->function) &&
           !strcmp(loop->frame->file, turns->frame->file);
}

/* Note of a loop that another thread runs it, too. *f: a cleared finder. */
static int note_thread(struct mt_loop_finder *f, struct mt_turns *turns, uint32_t thread,
                       size_t first, size_t end, bool is_broken_off)
{
    struct mt_turns other = {.thread = thread};
    int rc = mt_loops_find(f, first, end, thread);
    for (unsigned i = 0; !rc && !other.n && i < f->n_loops; i++)
        if (is_same_loop(&f->loop[i], turns))
            rc = take_loop(f, &other, i, first, end, is_broken_off);
    turns->threads += other.n ? 1 + !turns->threads : 0;
    turns->differ |= other.n && other.n != turns->n;
    mt_turns_clear(&other);
    return rc;
}

/* Note how many threads run the loop, and whether as often. */
static int note_threads(struct mt_loop_finder *f, struct mt_turns *turns, size_t first, size_t end,
                        bool is_broken_off)
{
    const struct mt_loop_finder empty = {.visits = f->visits, .definitions = f->definitions};
    bool is_known[THREADS_MOST] = {0};
    int rc = 0;
    for (size_t i = first; !rc && turns->n > 1 && i < end; i++) {
        uint32_t thread = empty.visits->visit[i].thread;
        if (thread == turns->thread || thread >= THREADS_MOST || is_known[thread])
            continue;
        is_known[thread] = true;
        mt_loops_clear(f);
        *f = empty;
        rc = note_thread(f, turns, thread, first, end, is_broken_off);
    }
    return rc;
}

int mt_turns_find(struct mt_turns *turns, const struct mt_visits *visits,
                  const struct mt_definitions *definitions, const struct mt_turns_range *range)
{
    size_t begin = MT_LEADING(i, visits->n, visits->visit[i].event < range->first),
           end = MT_LEADING(i, visits->n, visits->visit[i].event <= range->last);
    if (begin >= end)
        return 0;
    struct mt_loop_finder *f = calloc(1, sizeof *f);
    if (!f)
        return -ENOMEM;
    *f = (struct mt_loop_finder){.visits = visits, .definitions = definitions};
    turns->thread = mt_loops_busiest(visits, begin, end);
    int rc = mt_loops_find(f, begin, end, turns->thread);
    uint64_t at_end = !rc && range->is_broken_off ? loops_at_end(f, turns->thread, begin, end) : 0;
    int loop = rc ? -1 : choose(f, at_end);
    if (loop >= 0)
        rc = take_loop(f, turns, (unsigned)loop, begin, end, range->is_broken_off);
    if (!rc && loop >= 0)
        rc = note_threads(f, turns, begin, end, range->is_broken_off);
    mt_loops_clear(f);
    free(f);
    return rc;
}

/* Return the first visit of the thread from an event on; visits->n: there is none. */
static size_t visit_at(const struct mt_visits *visits, uint32_t thread, uint64_t event)
{
    size_t i = MT_LEADING(k, visits->n, visits->visit[k].event < event);
    while (i < visits->n && visits->visit[i].thread != thread)
        i++;
    return i;
}

/* Return bits of the loops that nearly all of these events are in. */
static uint64_t loops_around(const struct mt_loop_finder *f, uint32_t thread, const uint64_t *event,
                             size_t n)
{
    size_t has[MT_LOOPS_MOST] = {0};
    uint64_t around = 0;
    for (size_t i = 0; i < n; i++) {
        size_t at = visit_at(f->visits, thread, event[i]);
        uint32_t place =
            at < f->visits->n ? mt_address_map_get(&f->places, f->visits->visit[at].node) : 0;
        for (unsigned k = 0; place && k < f->n_loops; k++)
            has[k] += f->node[place - 1].in >> k & 1;
    }
    for (unsigned i = 0; i < f->n_loops; i++)
        if (NEARLY(has[i], n))
            around |= UINT64_C(1) << i;
    return around;
}

/* Return the innermost of some loops; -1: there are none. */
static int innermost(const struct mt_loop_finder *f, uint64_t loops)
{
    int best = -1;
    for (unsigned i = 0; i < f->n_loops; i++)
        if (loops >> i & 1 && (best < 0 || is_around(f, (unsigned)best, i)))
            best = (int)i;
    return best;
}

/* Return bits of the loops that turn at all. */
static uint64_t turning(const struct mt_loop_finder *f)
{
    uint64_t loops = 0;
    for (unsigned i = 0; i < f->n_loops; i++)
        loops |= (uint64_t)turns_at_all(&f->loop[i]) << i;
    return loops;
}

/* Return how many turns have so many of these events or more. */
static size_t turns_with(const struct mt_turns *turns, const uint64_t *event, size_t n,
                         size_t least)
{
    size_t with = 0, run = 0;
    for (size_t i = 0; i < n; i++) {
        run = i && mt_turns_at(turns, event[i]) == mt_turns_at(turns, event[i - 1]) ? run + 1 : 1;
        with += run == least;
    }
    return with;
}

/* Find the loop around these events as mt_turns_find_around does. */
static int find_around(struct mt_loop_finder *f, struct mt_turns *turns, const uint64_t *event,
                       size_t n)
{
    uint32_t thread = turns->thread;
    uint64_t around = loops_around(f, thread, event, n), left = around & turning(f);
    int inner = innermost(f, left), outer = inner;
    for (int loop = inner; loop >= 0; loop = innermost(f, left)) {
        int rc = take_loop(f, turns, (unsigned)loop, 0, f->visits->n, false);
        bool are_any = !rc && turns->n > 1 && NEARLY(turns_with(turns, event, n, 1), turns->n),
             are_several = 2 * turns_with(turns, event, n, 2) >= turns->n;
        if (rc || (are_any && (loop == inner || !are_several))) {
            turns->n = are_several ? turns->n : 0;
            return rc;
        }
        mt_turns_clear(turns);
        turns->thread = thread;
        left &= ~(UINT64_C(1) << loop);
    }
    for (unsigned i = 0; inner >= 0 && i < f->n_loops; i++)
        if (around >> i & 1 && is_around(f, i, (unsigned)outer))
            outer = (int)i;
    if (outer >= 0) {
        mt_turns_name(turns, f->definitions, f->loop[outer].stack);
        turns->line = f->loop[outer].line;
    }
    return 0;
}

int mt_turns_find_around(struct mt_turns *turns, const struct mt_visits *visits,
                         const struct mt_definitions *definitions, const uint64_t *event, size_t n)
{
    size_t begin = n ? MT_LEADING(i, visits->n, visits->visit[i].event < event[0]) : visits->n,
           first = begin;
    while (first < visits->n && !visits->visit[first].in_forward)
        first++;
    if (n < 2 || begin == visits->n)
        return 0;
    struct mt_loop_finder *f = calloc(1, sizeof *f);
    if (!f)
        return -ENOMEM;
    *f = (struct mt_loop_finder){.visits = visits, .definitions = definitions};
    if (!turns->thread)
        turns->thread = first < visits->n ? visits->visit[first].thread
                                          : mt_loops_busiest(visits, begin, visits->n);
    int rc = mt_loops_find(f, 0, visits->n, turns->thread);
    if (!rc)
        rc = find_around(f, turns, event, n);
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

int mt_spans_turn(struct mt_spans *spans, const struct mt_turns *turns)
{
    const struct mt_span *parts = spans->part ? spans->part : spans->span;
    size_t n_parts = spans->part ? spans->n_parts : spans->n;
    struct mt_span *cut = NULL;
    size_t n = 0, of = 0, last = SIZE_MAX;
    uint32_t iteration = 0;
    if (!spans->n)
        return 0;
    cut = malloc(n_parts * sizeof *cut);
    if (!cut)
        return -ENOMEM;
    for (size_t i = 0; i < n_parts; i++) {
        const struct mt_span *part = &parts[i];
        bool is_after = is_past(turns, part->event);
        while (iteration < turns->n && turns->begin[iteration] <= part->event)
            iteration++;
        while (of + 1 < spans->n && spans->span[of + 1].run <= part->run)
            of++;
        if (last == of && cut[n - 1].iteration == iteration && cut[n - 1].is_past == is_after) {
            mt_span_join(&cut[n - 1], part);
            continue;
        }
        struct mt_span span = *part; /* numbering has changed what it is */
        span.phase = spans->span[of].phase;
        span.is_apart = spans->span[of].is_apart && turns->threads < 2;
        span.serving = spans->span[of].serving;
        span.iteration = iteration;
        span.is_past = is_after;
        last = of;
        cut[n++] = span;
    }
    struct mt_span *shrunk = n ? realloc(cut, n * sizeof *cut) : NULL;
    free(spans->span);
    spans->span = shrunk ? shrunk : cut;
    spans->n = n;
    spans->capacity = shrunk ? n : n_parts;
    mt_spans_count_turns(spans, turns);
    return 0;
}

void mt_spans_count_turns(struct mt_spans *spans, const struct mt_turns *turns)
{
    spans->iterations = (uint32_t)turns->n;
    spans->counted = turns->named       ? MT_COUNTED_RANGES
                     : turns->are_steps ? MT_COUNTED_STEPS
                                        : MT_COUNTED_TURNS;
    spans->turns = spans->loop = turns;
}
