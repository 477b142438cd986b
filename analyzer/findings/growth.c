/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis.h"
#include "analyzer/model/user-line.h"
#include "analyzer/support/grow.h"
#include "analyzer/support/search.h"

#include <errno.h>

#define LEAST_ITERATIONS 3u
struct remnant {
    uint32_t place, line, iteration; /* place: mt_stack_place of line; or the forward call */
    const struct mt_verdict *verdict;
};

static int by_place(const struct remnant *a, const struct remnant *b)
{
    return MT_RISING(place) ?: MT_RISING(verdict->rule->category);
}

MT_ORDER(by_place_and_iteration, struct remnant,
         by_place(a, b) ?: MT_RISING(iteration) ?: MT_RISING(line))

MT_ORDER(by_bytes, struct mt_growth_site,
         MT_FALLING(bytes) ?: MT_RISING(line) ?: MT_RISING(category))

/* Forwards in a row without a backward: from a run on (mt_when.run), and the newest call. */
struct forwards {
    uint32_t first, newest;
};

static bool is_among(const struct mt_when *when, const struct forwards *forwards,
                     const struct mt_device *device)
{
    return when->run >= forwards->first && when->run <= device->span->run;
}

bool mt_may_pass(const struct mt_verdict *verdict)
{
    enum mt_category category = verdict->rule->category;
    return category == MT_CATEGORY_ACTIVATIONS || category == MT_CATEGORY_INPUTS ||
           category == MT_CATEGORY_TEMPORARIES || category == MT_CATEGORY_OTHER;
}

/* Return a number of the earlier iteration, turn or forward that left a block; 0: none did. */
static uint32_t left_by(const struct mt_device *device, const struct mt_verdict *verdict,
                        const struct mt_growth *growth, const struct forwards *forwards)
{
    const struct mt_when *when = &verdict->block->birth->when;
    uint64_t event = mt_block_event(verdict->block);
    if (forwards)
        return is_among(when, forwards, device) && when->calls != forwards->newest &&
                       mt_may_pass(verdict)
                   ? when->calls + 1
                   : 0;
    if (growth->turns) {
        uint32_t turn = mt_turns_at(growth->turns, event);
        return turn < mt_turns_at(growth->turns, device->at.event) ? turn : 0;
    }
    const struct mt_span *span = mt_spans_at(device->spans, when->run, event);
    return span && span->iteration < device->span->iteration ? span->iteration : 0;
}

/* Return the number of the last iteration of which holders are known. */
static uint32_t newest_held(const struct mt_device *device, const struct remnant *remnant, size_t n)
{
    uint32_t newest = 0;
    for (size_t i = 0; i < n; i++)
        if (remnant[i].iteration > newest && mt_device_held(device, remnant[i].verdict->block))
            newest = remnant[i].iteration;
    return newest;
}

static int find_holder_before(struct mt_held_most *held, const struct mt_device *device,
                              const struct remnant *remnant, size_t n, uint32_t iteration)
{
    struct mt_verdict *verdicts = calloc(n, sizeof *verdicts);
    size_t n_before = 0;
    for (size_t i = 0; verdicts && i < n; i++)
        if (remnant[i].iteration < iteration)
            verdicts[n_before++] = *remnant[i].verdict;
    int rc = verdicts ? mt_held_most_of(held, device, verdicts, n_before) : -ENOMEM;
    free(verdicts);
    return rc;
}

/* Return whether two paths begin with the same variable. */
static bool are_of_one(const struct mt_held_most *one, const struct mt_held_most *other)
{
    size_t size = strcspn(one->path, ">");
    return size == strcspn(other->path, ">") && !strncmp(one->path, other->path, size);
}

/* Find what holds most of the remnants of a device (NULL: of the host). The iteration in which
 * holders were searched for still has its own variables: what holds most of those before it, keeps
 * them. 0 or -ENOMEM. */
static int find_holder(struct mt_held_most *held, const struct mt_device *device,
                       const struct remnant *remnant, size_t n)
{
    struct mt_held_most before = {0};
    if (!device || !device->n_held)
        return 0;
    int rc = find_holder_before(held, device, remnant, n, UINT32_MAX);
    if (!rc)
        rc = find_holder_before(&before, device, remnant, n, newest_held(device, remnant, n));
    if (!rc && before.path && !are_of_one(held, &before)) {
        struct mt_held_most most = *held;
        *held = before;
        before = most;
    }
    mt_held_most_clear(&before);
    return rc;
}

static int add_site(struct mt_growth *growth, size_t *capacity, const struct mt_device *device,
                    const struct remnant *first, const struct remnant *end, uint32_t least)
{
    struct mt_growth_site site = {.line = first->line, .category = first->verdict->rule->category};
    for (const struct remnant *at = first; at < end; at++) {
        bool is_next = at > first && at->iteration != at[-1].iteration;
        uint32_t gap = is_next ? at->iteration - at[-1].iteration : 0;
        if (is_next)
            site.every = site.iterations == 1 || site.every == gap ? gap : 0;
        site.iterations += at == first || is_next;
        site.bytes += at->verdict->block->size;
        if (mt_certainty_of(at->verdict->rule) > site.certainty)
            site.certainty = mt_certainty_of(at->verdict->rule);
    }
    if (site.iterations < least)
        return 0;
    int rc = find_holder(&site.held, device, first, (size_t)(end - first));
    if (!rc)
        rc = MT_APPEND(growth->site, *capacity, growth->n, site);
    if (rc)
        mt_held_most_clear(&site.held);
    return rc;
}

/* Add the lines of sorted remnants, the largest first. */
static int add_sites(struct mt_growth *growth, const struct mt_device *device,
                     const struct remnant *remnants, size_t n, uint32_t least)
{
    size_t capacity = 0;
    int rc = 0;
    for (size_t i = 0, end; i < n && !rc; i = end) {
        for (end = i + 1; end < n && !by_place(&remnants[i], &remnants[end]);)
            end++;
        rc = add_site(growth, &capacity, device, remnants + i, remnants + end, least);
    }
    if (growth->n)
        qsort(growth->site, growth->n, sizeof *growth->site, by_bytes);
    return rc;
}

static int find(struct mt_growth *growth, const struct mt_device *device,
                const struct forwards *forwards, uint32_t least)
{
    struct remnant *remnants = calloc(device->n_verdicts + 1, sizeof *remnants);
    size_t n = 0;
    if (!remnants)
        return -ENOMEM;
    for (size_t i = 0; i < device->n_verdicts; i++) {
        const struct mt_verdict *verdict = &device->verdicts[i];
        uint32_t iteration = left_by(device, verdict, growth, forwards);
        uint32_t line = iteration ? mt_line_stack(device->context.definitions, verdict->block) : 0;
        if (iteration)
            remnants[n++] = (struct remnant){mt_stack_place(device->context.definitions, line),
                                             line, iteration, verdict};
    }
    qsort(remnants, n, sizeof *remnants, by_place_and_iteration);
    int rc = add_sites(growth, device, remnants, n, least);
    uint32_t now = forwards        ? 0
                   : growth->turns ? mt_turns_at(growth->turns, device->at.event)
                                   : device->span->iteration;
    growth->before = now ? now - 1 : 0;
    free(remnants);
    return rc;
}

static void forget(struct mt_growth *growth)
{
    for (size_t i = 0; i < growth->n; i++)
        mt_held_most_clear(&growth->site[i].held);
    free(growth->site);
    growth->site = NULL;
    growth->n = 0;
    growth->per_iteration = 0;
}

/* Find what each of few iterations has left in the same way. The lowest totals do not show it: the
 * first iteration makes state, and the last one may be cut short. */
static int find_of_few(struct mt_growth *growth, const struct mt_device *device)
{
    uint32_t n = device->spans->iterations;
    uint64_t bytes = 0;
    if (device->span->iteration != n || device->span->is_past)
        return 0;
    int rc = find(growth, device, NULL, n - 1);
    for (size_t i = 0; i < growth->n; i++)
        bytes += growth->site[i].bytes;
    growth->is_likely = true;
    growth->per_iteration = bytes / (n - 1);
    if (!mt_growth_counts(growth->per_iteration, n - 1, device->peak.allocated))
        forget(growth);
    return rc;
}

/* Return whether the first iteration left the block for the second. What the program makes after
 * the step is for the next one. */
static bool is_of_first(const struct mt_device *device, const struct mt_verdict *verdict)
{
    const struct mt_when *when = &verdict->block->birth->when;
    const struct mt_span *span =
        mt_spans_at(device->spans, when->run, mt_block_event(verdict->block));
    return span && span->iteration == 1 && mt_may_pass(verdict) &&
           (when->phase != MT_PHASE_OUTSIDE || span->phase == MT_PHASE_OUTSIDE);
}

/* Find what the first of two iterations left for the second, without what is made to stay: it may
 * be the last of it, or the first of more. */
static void find_of_two(struct mt_growth *growth, const struct mt_device *device)
{
    uint64_t most = 0;
    if (device->span->iteration != 2 || device->span->is_past)
        return;
    for (size_t i = 0; i < device->n_verdicts; i++) {
        const struct mt_verdict *verdict = &device->verdicts[i];
        if (!is_of_first(device, verdict))
            continue;
        growth->undecided += verdict->block->size;
        if (verdict->block->size > most) {
            most = verdict->block->size;
            growth->undecided_line = mt_line_stack(device->context.definitions, verdict->block);
        }
    }
    if (!mt_growth_counts(growth->undecided, 1, device->peak.allocated))
        growth->undecided = 0;
}

static bool is_freed(const struct mt_verdict *verdict)
{
    return (verdict->block->evidence & MT_SAW_END) != 0;
}

/* Return whether a program without PyTorch frees at last what its turns left behind: they filled
 * tables, and were no leak. */
static bool is_all_freed(const struct mt_growth *growth, const struct mt_device *device,
                         const struct mt_replay *replay)
{
    if (!device->of_cuda || !replay->survey.complete)
        return false;
    for (size_t i = 0; i < device->n_verdicts; i++)
        if (left_by(device, &device->verdicts[i], growth, NULL) && !is_freed(&device->verdicts[i]))
            return false;
    return true;
}

static bool is_kept_for_backward(enum mt_category category)
{
    return category == MT_CATEGORY_ACTIVATIONS;
}

/* Return the first event of the evaluation that the moment is in, and set *end to the first one
 * after it; 0: there is none. */
static uint64_t range_of_evaluation(const struct mt_device *device, uint64_t *end)
{
    const struct mt_spans *spans = device->spans;
    size_t i = (size_t)(device->span - spans->span), first = i;
    while (first && mt_span_is_beside(spans, &spans->span[first - 1]))
        first--;
    while (i < spans->n && mt_span_is_beside(spans, &spans->span[i]))
        i++;
    *end = i < spans->n ? spans->span[i].event : UINT64_MAX;
    return spans->span[first].event;
}

/* Write the lowest totals of each turn. */
static void floors_of(const struct mt_turns *turns, const struct mt_spans *spans, uint64_t *least)
{
    memset(least, 0xff, turns->n * sizeof *least);
    for (size_t i = 0; i < spans->n_parts; i++) {
        const struct mt_span *part = &spans->part[i];
        uint32_t turn = mt_turns_at(turns, part->event);
        if (turn && !(turns->end && part->event >= turns->end) && part->least < least[turn - 1])
            least[turn - 1] = part->least;
    }
}

/* Find what the turns of an evaluation leave behind, of which each has its own. */
static int find_in_evaluation(struct mt_growth *growth, const struct mt_device *device,
                              const struct mt_replay *replay)
{
    uint64_t end, first = range_of_evaluation(device, &end), *least = NULL;
    struct mt_turns *turns = calloc(1, sizeof *turns);
    if (!turns)
        return -ENOMEM;
    growth->turns = turns;
    int rc = mt_turns_find(turns, &replay->visits, replay->definitions,
                           &(struct mt_turns_range){.first = first, .last = end - 1});
    if (!rc && turns->n >= MT_GROWTH_ITERATIONS)
        least = calloc(turns->n, sizeof *least);
    if (least) {
        floors_of(turns, device->spans, least);
        growth->per_iteration = mt_floors_growth(least, turns->n);
        if (!mt_growth_counts(growth->per_iteration, turns->n, device->peak.allocated))
            growth->per_iteration = 0;
        if (growth->per_iteration)
            rc = find(growth, device, NULL, LEAST_ITERATIONS);
        if (!growth->n || !is_kept_for_backward(growth->site[0].category))
            forget(growth);
    }
    free(least);
    if (!growth->per_iteration) {
        mt_turns_clear(turns);
        free(turns);
        growth->turns = NULL;
    }
    return rc;
}

/* Return whether growth is worth a word, by iteration or by the turn of a loop around them. */
static bool counts(const struct mt_growth *growth, const struct mt_device *device)
{
    uint64_t left, peak = device->peak.allocated;
    uint32_t n = device->spans->iterations, every = mt_growth_rhythm(growth, &left);
    return mt_growth_counts(growth->per_iteration, n, peak) ||
           (every > 1 && mt_growth_counts(left, n / every, peak));
}

int mt_growth_find(struct mt_growth *growth, const struct mt_device *device,
                   const struct mt_replay *replay)
{
    uint32_t n = device->spans->iterations;
    uint64_t rate = mt_spans_growth(device->spans);
    int rc = 0;
    if (rate) {
        growth->per_iteration = rate;
        rc = find(growth, device, NULL, LEAST_ITERATIONS);
        if (!counts(growth, device) || is_all_freed(growth, device, replay))
            forget(growth);
    } else if (n >= MT_GROWTH_FEW && n < MT_GROWTH_ITERATIONS && !device->spans->serves &&
               !mt_span_is_beside(device->spans, device->span)) {
        rc = find_of_few(growth, device);
    } else if (n == 2 && !device->spans->serves) {
        find_of_two(growth, device);
    }
    if (rc || growth->per_iteration || !mt_span_is_beside(device->spans, device->span))
        return rc;
    return find_in_evaluation(growth, device, replay);
}

/* Return the iteration of an event; 0: none. */
static uint32_t iteration_at(const struct mt_device *device, const struct mt_replay *replay,
                             uint64_t event)
{
    if (replay->turns.n)
        return mt_turns_at(&replay->turns, event);
    const struct mt_span *span =
        device && device->spans ? mt_spans_until(device->spans, event) : NULL;
    return span ? span->iteration : 0;
}

MT_ORDER(by_line_and_iteration, struct remnant,
         MT_RISING(place) ?: MT_RISING(iteration) ?: MT_RISING(line))

int mt_growth_find_host(struct mt_growth *growth, const struct mt_device *device,
                        const struct mt_replay *replay)
{
    static const struct mt_rule unknown = {.category = MT_CATEGORY_OTHER};
    const struct mt_heap *heap = &replay->host.heap;
    uint32_t n = replay->turns.n           ? (uint32_t)replay->turns.n
                 : device && device->spans ? device->spans->iterations
                                           : 0;
    struct remnant *remnants = NULL;
    struct mt_verdict *verdicts = NULL;
    size_t n_remnants = 0;
    uint64_t bytes = 0;
    if (n < MT_GROWTH_ITERATIONS || heap->n_records < 2)
        return 0;
    remnants = calloc(heap->n_records, sizeof *remnants);
    verdicts = calloc(heap->n_records, sizeof *verdicts);
    int rc = remnants && verdicts ? 0 : -ENOMEM;
    for (uint32_t i = 1; !rc && i < heap->n_records; i++) {
        const struct mt_block *block = mt_heap_record(heap, i);
        uint32_t iteration =
            block->state == MT_BLOCK_LIVE ? iteration_at(device, replay, mt_block_event(block)) : 0;
        uint32_t line = iteration ? mt_line_stack(replay->definitions, block) : 0;
        if (!iteration)
            continue;
        verdicts[i] = (struct mt_verdict){.block = block, .rule = &unknown};
        remnants[n_remnants++] = (struct remnant){mt_stack_place(replay->definitions, line), line,
                                                  iteration, &verdicts[i]};
    }
    if (!rc) {
        qsort(remnants, n_remnants, sizeof *remnants, by_line_and_iteration);
        rc = add_sites(growth, NULL, remnants, n_remnants, LEAST_ITERATIONS);
    }
    uint32_t last = 0, first = UINT32_MAX;
    for (size_t i = 0; i < n_remnants; i++) {
        last = remnants[i].iteration > last ? remnants[i].iteration : last;
        first = remnants[i].iteration < first ? remnants[i].iteration : first;
    }
    for (size_t i = 0; i < growth->n; i++)
        bytes += growth->site[i].bytes;
    growth->per_iteration = bytes / n;
    if (first > n / 2 || last <= n - n / 3 ||
        !mt_growth_counts(growth->per_iteration, n, replay->host.most))
        forget(growth);
    free(remnants);
    free(verdicts);
    return rc;
}

const struct mt_growth_site *mt_growth_main(const struct mt_growth *growth)
{
    for (size_t i = 0; i < growth->n; i++)
        if (growth->site[i].line)
            return &growth->site[i];
    return growth->n ? growth->site : NULL;
}

uint32_t mt_growth_rhythm(const struct mt_growth *growth, uint64_t *bytes)
{
    const struct mt_growth_site *most = mt_growth_main(growth);
    *bytes = growth->per_iteration;
    if (!most || most->every < 2 || most->iterations < LEAST_ITERATIONS || growth->turns)
        return 1;
    *bytes = 0;
    for (size_t i = 0; i < growth->n; i++)
        if (growth->site[i].every == most->every)
            *bytes += growth->site[i].bytes / growth->site[i].iterations;
    return most->every;
}

int mt_growth_find_forwards(struct mt_growth *growth, const struct mt_device *device)
{
    uint32_t usual = mt_spans_calls_before_backward(device->spans);
    const struct mt_span *first = device->span;
    while (first > device->spans->span && first[-1].phase == MT_PHASE_FORWARD)
        first--;
    struct forwards forwards = {.first = first->run};
    for (size_t i = 0; i < device->n_verdicts; i++) {
        const struct mt_when *when = &device->verdicts[i].block->birth->when;
        if (is_among(when, &forwards, device) && when->calls > forwards.newest)
            forwards.newest = when->calls;
    }
    if (!usual || forwards.newest - first->calls < 2 * usual)
        return 0;
    int rc = find(growth, device, &forwards, LEAST_ITERATIONS);
    if (growth->n)
        growth->per_iteration = growth->site[0].bytes / growth->site[0].iterations;
    return rc;
}

void mt_growth_clear(struct mt_growth *growth)
{
    for (size_t i = 0; i < growth->n; i++)
        mt_held_most_clear(&growth->site[i].held);
    free(growth->site);
    if (growth->turns)
        mt_turns_clear(growth->turns);
    free(growth->turns);
    *growth = (struct mt_growth){0};
}
