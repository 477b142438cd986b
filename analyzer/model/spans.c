/* SPDX-License-Identifier: Apache-2.0 */
#include "spans.h"
#include "analyzer/support/grow.h"
#include "analyzer/support/search.h"

#include <string.h>

/* The first iterations make state, and the last one may be cut short. With only a few, hardly any
 * remain: then the second one counts, and the growth must be the same each time, except for the
 * allocator's rounding. */
#define FIRST_STEADY 3u
#define FEW_ITERATIONS 8u

/* Of a list that is folded: spans that remain, and how many there are before. */
#define KEPT 1024u
#define FOLD_AT (4u * KEPT)

void mt_spans_clear(struct mt_spans *spans)
{
    free(spans->span);
    free(spans->part);
    *spans = (struct mt_spans){.is_folded = spans->is_folded};
}

/* Count an iteration's lowest total. */
static void add_floor(struct mt_rise *rise, uint32_t iteration, uint64_t least)
{
    if (iteration < FIRST_STEADY)
        return;
    if (iteration == FIRST_STEADY)
        rise->first = rise->last = least;
    rise->steps += iteration > FIRST_STEADY;
    rise->rises += least > rise->last;
    rise->last = least;
}

/* Return the lowest total in the iteration whose spans begin at *i, and move *i past it. */
static uint64_t iteration_floor(const struct mt_spans *spans, size_t *i)
{
    uint32_t iteration = spans->span[*i].iteration;
    uint64_t least = UINT64_MAX;
    for (; *i < spans->n && spans->span[*i].iteration == iteration; (*i)++)
        if (spans->span[*i].least < least)
            least = spans->span[*i].least;
    return least;
}

static void fold_span(struct mt_spans *spans, const struct mt_span *span)
{
    struct mt_spans_past *past = &spans->past;
    past->has_phase[span->phase] |= !mt_span_is_beside(spans, span);
    past->trains |= span->phase != MT_PHASE_OUTSIDE && !span->is_evaluation;
    past->serves |= span->serving != 0;
    if (past->most[span->phase] < span->most)
        past->most[span->phase] = span->most;
}

/* Fold the oldest iterations. The first span that remains begins one, so that numbering goes on
 * there. */
static void fold(struct mt_spans *spans)
{
    size_t first = spans->n - KEPT;
    mt_spans_number(spans, true);
    while (first && spans->span[first].iteration == spans->span[first - 1].iteration)
        first--;
    if (spans->iterations >= FEW_ITERATIONS && first) {
        for (size_t i = 0; i < first; i++)
            fold_span(spans, &spans->span[i]);
        for (size_t i = 0; i < first;) {
            uint32_t iteration = spans->span[i].iteration;
            uint64_t least = iteration_floor(spans, &i);
            add_floor(&spans->past.rise, iteration, least);
        }
        spans->past.iterations = spans->span[first].iteration - 1;
        spans->n -= first;
        memmove(spans->span, spans->span + first, spans->n * sizeof *spans->span);
    }
    spans->fold_at = spans->n < FOLD_AT / 2 ? FOLD_AT : 2 * spans->n;
}

static int append(struct mt_spans *spans, const struct mt_span *span)
{
    if (spans->n == spans->capacity) { /* mt_grow would clear what is new, which takes longer */
        size_t capacity = spans->capacity + spans->capacity / 4 + 16;
        struct mt_span *grown = reallocarray(spans->span, capacity, sizeof *grown);
        if (!grown)
            return -ENOMEM;
        spans->span = grown;
        spans->capacity = capacity;
    }
    spans->span[spans->n++] = *span;
    return 0;
}

int mt_spans_add(struct mt_spans *spans, const struct mt_when *now, uint32_t part, uint64_t event,
                 uint64_t time_ns, uint64_t allocated, uint64_t reserved)
{
    if (spans->is_folded && spans->n >= FOLD_AT && spans->n >= spans->fold_at)
        fold(spans);
    struct mt_span span = {.run = now->run,
                           .calls = now->calls,
                           .called = now->called,
                           .caller = now->caller,
                           .steps = now->steps,
                           .makes_graph = now->makes_graph,
                           .phase = now->after,
                           .has_called = now->has_called,
                           .is_evaluation = now->is_evaluation,
                           .serving = now->serving,
                           .turn = now->turn,
                           .left = allocated};
    struct mt_span *last = spans->n ? &spans->span[spans->n - 1] : NULL;
    spans->key = now->run + part;
    if (last && last->run == now->run) {
        span = *last;
        span.makes_graph = now->makes_graph;
        span.left = now->serving == last->serving ? allocated : last->left;
        spans->has_too_many |= spans->n_cut == MT_SPANS_CUT_MOST;
        spans->n_cut += !spans->has_too_many;
    }
    span.time_ns = span.most_time_ns = time_ns;
    span.event = span.most_event = event;
    span.before = spans->last;
    span.least = span.most = allocated;
    span.most_reserved = reserved;
    spans->last = event;
    if (!spans->has_too_many || !last || last->run != now->run)
        return append(spans, &span);
    mt_span_join(last, &span);
    return 0;
}

const char *const mt_counted_names[] = {[MT_COUNTED_NOT] = "none",
                                        [MT_COUNTED_FORWARDS] = "forward passes",
                                        [MT_COUNTED_BACKWARDS] = "backward passes",
                                        [MT_COUNTED_STEPS] = "optimizer steps",
                                        [MT_COUNTED_REQUESTS] = "server steps",
                                        [MT_COUNTED_TURNS] = "turns of a loop",
                                        [MT_COUNTED_RANGES] = "ranges"};

static bool has_phase(const struct mt_spans *spans, enum mt_phase phase)
{
    for (size_t i = 0; i < spans->n; i++)
        if (spans->span[i].phase == phase && !mt_span_is_beside(spans, &spans->span[i]))
            return true;
    return spans->past.has_phase[phase];
}

static void count_warm_up_as_start(struct mt_spans *spans)
{
    size_t n = spans->past.iterations ? spans->n : 0;
    while (n < spans->n && !spans->span[n].has_called && spans->span[n].phase != MT_PHASE_STEP)
        n++;
    for (size_t i = 0; i < n && n < spans->n && spans->span[n].has_called; i++)
        spans->span[i].phase = MT_PHASE_OUTSIDE;
}

static bool only_evaluates(const struct mt_spans *spans)
{
    for (size_t i = 0; i < spans->n; i++)
        if (spans->span[i].phase != MT_PHASE_OUTSIDE && !spans->span[i].is_evaluation)
            return false;
    return !spans->past.trains;
}

/* Number the iterations by optimizer steps, which end them. A step without a backward before it
 * does not: if the step calls the model (a closure, as in Lightning), its own code comes first.
 * After a step, forward begins the next iteration; a second backward, or one whose hooks step, does
 * not. */
static uint32_t number_by_steps(struct mt_spans *spans)
{
    uint32_t iteration = spans->past.iterations;
    bool has_forward = has_phase(spans, MT_PHASE_FORWARD), has_ended = iteration > 0;
    bool saw_backward = !has_phase(spans, MT_PHASE_BACKWARD), without = saw_backward;
    uint32_t steps = iteration && spans->n ? spans->span[0].steps : 0;
    for (size_t i = 0; i < spans->n; i++) {
        struct mt_span *span = &spans->span[i];
        span->iteration = iteration;
        if (mt_span_is_beside(spans, span))
            continue;
        has_ended |= span->steps != steps && saw_backward;
        steps = span->steps;
        bool may_begin =
            has_forward ? span->phase == MT_PHASE_FORWARD : span->phase != MT_PHASE_STEP;
        if (span->phase != MT_PHASE_OUTSIDE && (!iteration || (has_ended && may_begin))) {
            iteration++;
            saw_backward = without;
        }
        saw_backward |= span->phase == MT_PHASE_BACKWARD;
        has_ended = span->phase == MT_PHASE_STEP && saw_backward;
        span->iteration = iteration;
    }
    return iteration;
}

/* Number iterations: forward after backward begins one; without backward each forward does. */
static uint32_t number_by(struct mt_spans *spans, enum mt_phase last)
{
    uint32_t iteration = spans->past.iterations;
    enum mt_phase before = iteration ? last : MT_PHASE_OUTSIDE;
    for (size_t i = 0; i < spans->n; i++) {
        struct mt_span *span = &spans->span[i];
        span->iteration = iteration;
        if (mt_span_is_beside(spans, span))
            continue;
        iteration +=
            span->phase != MT_PHASE_OUTSIDE &&
            (!iteration || (before == last && (span->phase != last || last == MT_PHASE_FORWARD)));
        span->iteration = iteration;
        if (span->phase != MT_PHASE_OUTSIDE)
            before = (enum mt_phase)span->phase;
    }
    return iteration;
}

static bool serves(const struct mt_spans *spans)
{
    for (size_t i = 0; i < spans->n; i++)
        if (spans->span[i].serving)
            return true;
    return spans->past.serves;
}

/* Let a span of a step be of its neighbour's sort, if that one says more. */
static void refine(struct mt_span *span, const struct mt_span *by)
{
    if (span->turn == by->turn && span->serving < by->serving &&
        mt_serving_is_step((enum mt_serving)span->serving) &&
        mt_serving_is_step((enum mt_serving)by->serving))
        span->serving = by->serving;
}

static void refine_steps(struct mt_spans *spans)
{
    for (size_t i = 1; i < spans->n; i++)
        refine(&spans->span[i], &spans->span[i - 1]);
    for (size_t i = spans->n; i > 1; i--)
        refine(&spans->span[i - 2], &spans->span[i - 1]);
}

/* Number the steps by requests. A step may be several spans. What comes after one, as sampling, is
 * part of it. */
static uint32_t number_by_requests(struct mt_spans *spans)
{
    uint32_t iteration = spans->past.iterations, turn = UINT32_MAX;
    refine_steps(spans);
    for (size_t i = 0; i < spans->n; i++) {
        struct mt_span *span = &spans->span[i];
        if (mt_serving_is_step((enum mt_serving)span->serving) && span->turn != turn) {
            iteration++;
            turn = span->turn;
        }
        span->iteration = iteration;
    }
    return iteration;
}

void mt_spans_number(struct mt_spans *spans, bool is_broken_off)
{
    count_warm_up_as_start(spans);
    spans->only_evaluates = only_evaluates(spans);
    /* A step that allocates nothing, such as plain SGD's, has no span. */
    bool is_stepped =
             has_phase(spans, MT_PHASE_STEP) || (spans->n && spans->span[spans->n - 1].steps),
         has_backward = has_phase(spans, MT_PHASE_BACKWARD);
    mt_spans_part_forwards(spans, has_backward, is_broken_off);
    spans->serves = !is_stepped && !has_backward && serves(spans);
    bool goes_back = has_backward || (is_broken_off && mt_spans_begin_training(spans));
    spans->counted = spans->serves ? MT_COUNTED_REQUESTS
                     : is_stepped  ? MT_COUNTED_STEPS
                     : goes_back   ? MT_COUNTED_BACKWARDS
                                   : MT_COUNTED_FORWARDS;
    spans->iterations = spans->serves ? number_by_requests(spans)
                        : is_stepped
                            ? number_by_steps(spans)
                            : number_by(spans, goes_back ? MT_PHASE_BACKWARD : MT_PHASE_FORWARD);
    if (!spans->iterations)
        spans->counted = MT_COUNTED_NOT;
}

uint32_t mt_spans_calls_before_backward(const struct mt_spans *spans)
{
    uint32_t most = 0, first = 0;
    for (size_t i = 0; i + 1 < spans->n; i++) {
        const struct mt_span *span = &spans->span[i], *next = span + 1;
        if (span->phase != MT_PHASE_FORWARD || span->is_apart)
            first = 0;
        else if (!first)
            first = span->calls;
        if (first && next->phase == MT_PHASE_BACKWARD && next->calls - first >= most)
            most = next->calls - first + 1;
    }
    return most;
}

const struct mt_span *mt_spans_at(const struct mt_spans *spans, uint32_t run, uint64_t event)
{
    if (spans->turns)
        return mt_spans_until(spans, event);
    size_t low = MT_LEADING(i, spans->n, spans->span[i].run <= run);
    return low ? &spans->span[low - 1] : NULL;
}

const struct mt_span *mt_spans_until(const struct mt_spans *spans, uint64_t event)
{
    size_t low = MT_LEADING(i, spans->n, spans->span[i].event <= event);
    return low ? &spans->span[low - 1] : NULL;
}

const struct mt_span *mt_spans_highest(const struct mt_spans *spans, int but_phase)
{
    const struct mt_span *best = NULL;
    for (size_t i = 0; i < spans->n; i++)
        if (spans->span[i].phase != but_phase && (!best || spans->span[i].most > best->most))
            best = &spans->span[i];
    return best;
}

uint64_t mt_spans_most(const struct mt_spans *spans, enum mt_phase phase)
{
    uint64_t most = spans->past.most[phase];
    for (size_t i = 0; i < spans->n; i++)
        if (spans->span[i].phase == phase && most < spans->span[i].most)
            most = spans->span[i].most;
    return most;
}

const struct mt_span *mt_spans_of_iteration(const struct mt_spans *spans, uint64_t iteration)
{
    const struct mt_span *best = NULL;
    for (size_t i = 0; i < spans->n; i++)
        if (iteration && spans->span[i].iteration == iteration &&
            !mt_span_is_beside(spans, &spans->span[i]) &&
            (!best || spans->span[i].most > best->most))
            best = &spans->span[i];
    return best;
}

const struct mt_span *mt_spans_begin_of(const struct mt_spans *spans, uint64_t iteration)
{
    for (size_t i = 0; i < spans->n; i++)
        if (iteration && spans->span[i].iteration == iteration)
            return &spans->span[i];
    return NULL;
}

#define GROWTH_FLOOR (1u << 20) /* bytes an iteration, */
#define GROWTH_PART 1000u       /* and that part of the peak; */
#define GROWTH_SUM_PART 4u      /* or all of it together is that part, */
#define GROWTH_SUM_LEAST (256u << 20)
#define PARTS 3u      /* of the run, in each of which memory grows, */
#define PART_LEAST 6u /* by at least that part of the whole */

bool mt_growth_counts(uint64_t per_iteration, uint64_t iterations, uint64_t peak)
{
    uint64_t floor = peak / GROWTH_PART > GROWTH_FLOOR ? peak / GROWTH_PART : GROWTH_FLOOR;
    uint64_t sum = per_iteration * iterations;
    return per_iteration >= floor || (sum >= GROWTH_SUM_LEAST && sum >= peak / GROWTH_SUM_PART);
}

/* Return the growth over few iterations: the steps must be the same, except for the allocator's
 * rounding. */
static uint64_t growth_of_few(const uint64_t *least, size_t n)
{
    uint64_t smallest = UINT64_MAX, largest = 0;
    for (size_t i = 2; i + 1 < n; i++) {
        if (least[i] <= least[i - 1])
            return 0;
        uint64_t step = least[i] - least[i - 1];
        smallest = step < smallest ? step : smallest;
        largest = step > largest ? step : largest;
    }
    return largest - smallest <= largest / 20 ? (least[n - 2] - least[1]) / (n - 3) : 0;
}

/* Return whether totals rise in each part of the run, and hardly fall. */
static bool goes_on(const uint64_t *least, size_t n)
{
    uint64_t up = 0, down = 0;
    for (size_t i = 1; i < n; i++) {
        up += least[i] > least[i - 1] ? least[i] - least[i - 1] : 0;
        down += least[i] < least[i - 1] ? least[i - 1] - least[i] : 0;
    }
    if (up <= down || down > up / 4)
        return false;
    for (size_t part = 0; part < PARTS; part++) {
        uint64_t from = least[part * (n - 1) / PARTS], to = least[(part + 1) * (n - 1) / PARTS];
        if (to <= from || (to - from) < (up - down) / PART_LEAST)
            return false;
    }
    return true;
}

static uint64_t median_of(uint64_t a, uint64_t b, uint64_t c)
{
    return a < b ? (b < c ? b : a < c ? c : a) : (a < c ? a : b < c ? c : b);
}

/* Level out what is lower or higher in a single turn. */
static void smooth(uint64_t *least, size_t n)
{
    uint64_t before = least[0];
    for (size_t i = 1; i + 1 < n; i++) {
        uint64_t own = least[i];
        least[i] = median_of(before, own, least[i + 1]);
        before = own;
    }
}

uint64_t mt_floors_growth(uint64_t *least, size_t n)
{
    if (n < MT_GROWTH_ITERATIONS)
        return 0;
    if (n < FEW_ITERATIONS)
        return growth_of_few(least, n);
    uint64_t *steady = least + FIRST_STEADY - 1;
    size_t n_steady = n - FIRST_STEADY; /* without the last one */
    smooth(steady, n_steady);
    return goes_on(steady, n_steady) ? (steady[n_steady - 1] - steady[0]) / (n_steady - 1) : 0;
}

/* Return the growth where the oldest iterations are folded. */
static uint64_t growth_of_folded(const struct mt_spans *spans)
{
    struct mt_rise rise = spans->past.rise;
    for (size_t i = 0; i < spans->n;) {
        uint32_t iteration = spans->span[i].iteration;
        uint64_t least = iteration_floor(spans, &i);
        if (iteration != spans->iterations)
            add_floor(&rise, iteration, least);
    }
    return rise.steps && rise.rises * 10ull >= rise.steps * 9ull && rise.last > rise.first
               ? (rise.last - rise.first) / rise.steps
               : 0;
}

uint64_t mt_spans_growth(const struct mt_spans *spans)
{
    if (spans->iterations < MT_GROWTH_ITERATIONS)
        return 0;
    if (spans->past.iterations)
        return growth_of_folded(spans);
    uint64_t *least = malloc((spans->iterations + 1) * sizeof *least), growth = 0;
    if (!least)
        return 0;
    memset(least, 0xff, (spans->iterations + 1) * sizeof *least);
    for (size_t i = 0; i < spans->n; i++) {
        const struct mt_span *span = &spans->span[i];
        if (!span->is_past && span->least < least[span->iteration])
            least[span->iteration] = span->least;
    }
    for (uint32_t i = 2; i <= spans->iterations; i++) /* on this device nothing happened */
        least[i] = least[i] == UINT64_MAX ? least[i - 1] : least[i];
    growth = mt_floors_growth(least + 1, spans->iterations);
    free(least);
    return growth;
}

/* Return the free part of the reserved memory at an iteration's highest moment. */
static double free_part(const struct mt_spans *spans, uint32_t iteration)
{
    const struct mt_span *highest = mt_spans_of_iteration(spans, iteration);
    return highest && highest->most_reserved > highest->most
               ? 1 - (double)highest->most / (double)highest->most_reserved
               : 0;
}

struct mt_free_trend mt_spans_free_trend(const struct mt_spans *spans)
{
    if (spans->iterations < 2)
        return (struct mt_free_trend){0};
    return (struct mt_free_trend){.first = 2,
                                  .last = spans->iterations,
                                  .first_part = free_part(spans, 2),
                                  .last_part = free_part(spans, spans->iterations)};
}

const struct mt_phase_name mt_phase_names[MT_PHASE_COUNT] = {
#define ROW(id, name, label, where) [MT_PHASE_##id] = {name, label, where},
    MT_PHASE_LIST(ROW)
#undef ROW
};

#define CHOICE(id, name, label, where) " " name
static const char choices[] = MT_PHASE_LIST(CHOICE);
const char *const mt_phase_choices = choices + 1;

static bool is_word(const char *word, const char *name, size_t size)
{
    return strlen(word) == size && !memcmp(word, name, size);
}

enum mt_phase mt_phase_find(const char *name, size_t size)
{
    unsigned i = 0;
    while (i < MT_PHASE_COUNT && !is_word(mt_phase_names[i].name, name, size) &&
           !is_word(mt_phase_names[i].label, name, size))
        i++;
    return is_word("startup", name, size) ? MT_PHASE_OUTSIDE : (enum mt_phase)i;
}
