/* SPDX-License-Identifier: Apache-2.0 */
#include "analyzer/replay/summary-lists.h"
#include "analyzer/trace/survey.h"
#include "compact.h"
#include "keep-lives.h"
#include "keep-moments.h"
#include "trace-format/cuda-apis.h"

/* The state of a device so far. */
struct device_state {
    size_t spans; /* spans seen so far */
    bool has_least;
    uint64_t reserved;
};

/* What a thread last said of its requests: numbers of events, 0: nothing. */
struct last_requests {
    uint64_t unused;
    struct last_stream {
        uint64_t number;
        unsigned slot;
    } *stream; /* of a device each */
    size_t n, capacity;
};

struct planner {
    struct mt_keep_plan *plan;
    const struct mt_replay *whole; /* the first pass */
    struct mt_keep_scout *scout;   /* the first pass too */
    struct mt_keep_moments moments;
    struct mt_keep_nodes nodes;
    struct mt_keep_lives lives;
    struct mt_address_map blocks, cuda; /* PyTorch's and CUDA's blocks: lives by address */
    struct device_state device[MT_DEVICES];
    struct mt_by_id requests;               /* struct last_requests, by thread */
    struct mt_candidate newest[MT_DEVICES]; /* the last event of CUDA's memory on each device */
    size_t passed;                          /* moments */
    uint32_t made;                          /* the life that the present event begins */
    bool after_oom, saw_gradient, saw_touch;
    struct mt_tracker_seen seen; /* after the last event */
};

/* Note what a thread said of its next requests. 0 or -ENOMEM. */
static int note_request(struct planner *p, const struct mt_event *event, uint64_t number)
{
    unsigned slot = mt_device_slot(event->device);
    struct last_requests *last =
        mt_by_id_reach(&p->requests, event->thread, MT_THREAD_LIMIT, sizeof *last);
    if (!last)
        return -ENOMEM;
    if (event->kind == MT_REQUEST) {
        last->unused = number;
        return 0;
    }
    for (size_t i = 0; i < last->n; i++)
        if (last->stream[i].slot == slot) {
            last->stream[i].number = number;
            return 0;
        }
    return MT_APPEND(last->stream, last->capacity, last->n,
                     (struct last_stream){.number = number, .slot = slot});
}

/* Call `add` with the events that a thread's request on a device needs. */
static int each_request(struct planner *p, const struct mt_event *event,
                        int (*add)(struct planner *p, uint64_t number))
{
    unsigned slot = mt_device_slot(event->device);
    int rc = 0;
    if (!mt_by_id_has(&p->requests, event->thread))
        return 0;
    struct last_requests *last = mt_by_id(&p->requests, event->thread);
    if (last->unused)
        rc = add(p, last->unused);
    last->unused = 0;
    for (size_t i = 0; !rc && i < last->n; i++)
        if (last->stream[i].slot == slot)
            rc = add(p, last->stream[i].number);
    return rc;
}

static int add_to_life(struct planner *p, uint64_t number)
{
    struct mt_keep_life *life = &p->lives.life[p->made];
    return MT_APPEND(life->event, life->capacity, life->n, (struct mt_candidate){number, 0});
}

static int keep_request(struct planner *p, uint64_t number)
{
    mt_candidate_keep(&p->nodes, (struct mt_candidate){number, 0});
    return 0;
}

static void keep_event(struct planner *p, uint64_t number)
{
    mt_candidate_keep(&p->nodes, mt_candidate_take(&p->nodes, number));
}

/* Keep an event for its totals, not for its block. */
static void keep_totals(struct planner *p, uint64_t number)
{
    unsigned char bit = (unsigned char)(1 << number % 8);
    if (mt_kept_has(p->plan->kept.bits, number))
        return;
    keep_event(p, number);
    p->plan->kept.totals[number / 8] |= bit;
}

/* Keep each device's last event before a moment for the time and the totals that it has then. */
static void keep_newest(struct planner *p)
{
    for (unsigned slot = 0; slot < MT_DEVICES; slot++) {
        uint64_t number = p->newest[slot].number;
        if (number && !mt_kept_has(p->plan->kept.bits, number)) {
            mt_candidate_keep(&p->nodes, p->newest[slot]);
            p->plan->kept.totals[number / 8] |= (unsigned char)(1 << number % 8);
        } else if (number) {
            mt_candidate_drop(&p->nodes, p->newest[slot]);
        }
        p->newest[slot] = (struct mt_candidate){0};
    }
}

static void set_newest(struct planner *p, unsigned slot, uint64_t number)
{
    if (p->newest[slot].number)
        mt_candidate_drop(&p->nodes, p->newest[slot]);
    p->newest[slot] = mt_candidate_take(&p->nodes, number);
}

/* Return the number of passed moments. At a moment all live blocks are kept. */
static size_t moments_passed(struct planner *p, uint64_t number)
{
    return mt_marks_below(&p->moments.after_event, number);
}

/* Return the life of the block around an address at one level; 0: unknown. Like the tracker, only
 * search the heaps: their contents stay. */
static uint32_t life_around(const struct mt_heap *heap, const struct mt_address_map *by_address,
                            uint64_t address, const struct mt_block **block)
{
    *block = address ? mt_heap_around((struct mt_heap *)heap, address) : NULL;
    return *block ? mt_address_map_get(by_address, (*block)->address) : 0;
}

static int note_label(struct planner *p, const struct mt_replay *replay,
                      const struct mt_event *event, uint64_t address, uint64_t number)
{
    const struct mt_block *block;
    uint32_t index = life_around(&replay->blocks, &p->blocks, address, &block);
    if (!index && !block)
        index = life_around(&replay->cuda.heap, &p->cuda, address, &block);
    struct mt_label_counts labels = mt_tracker_label_counts(&replay->tracker, &p->seen);
    if (index)
        p->lives.life[index].is_wanted |= labels.of_others;
    if (index && (labels.of_storage || labels.of_part))
        return mt_keep_life_add(&p->lives, index, number);
    if (index)
        return mt_keep_life_label(&p->lives, index, block, number);
    if ((block && event->kind == MT_NAMED) || /* a segment: always kept */
        mt_replay_is_of_cuda(replay, mt_device_slot(event->device)))
        keep_event(p, number);
    return 0;
}

/* Return whether the totals are those of the first event of a phase, its lowest (turns of a loop
 * have theirs in a summary), or the highest of any total. */
static bool has_totals(struct planner *p, const struct mt_replay *replay,
                       const struct mt_event *event, uint64_t number)
{
    unsigned slot = mt_device_slot(event->device);
    struct device_state *device = &p->device[slot];
    size_t n = replay->spans[slot].n;
    const struct mt_spans *whole = &p->whole->spans[slot];
    bool is_first = n != device->spans, is_highest = event->ALLOC.reserved > device->reserved;
    if (is_first)
        device->has_least = false;
    bool is_least = !whole->turns && !device->has_least && n && n <= whole->n &&
                    whole->span[n - 1].least == event->ALLOC.allocated;
    device->has_least |= is_least;
    device->spans = n;
    if (is_highest)
        device->reserved = event->ALLOC.reserved;
    return is_first || is_least || is_highest || mt_marks_has(&p->moments.totals, number);
}

/* Note a block. The first event of a device shows the memory before it. An allocation after an
 * out-of-memory shows that the program went on. */
static int note_block(struct planner *p, const struct mt_replay *replay,
                      const struct mt_event *event, uint64_t number, size_t moments)
{
    bool is_first = !p->device[mt_device_slot(event->device)].spans;
    bool shows_segment = replay->reserved.new.n && replay->reserved.new.event == number;
    bool is_wanted = is_first || shows_segment || (event->kind == MT_ALLOC && p->after_oom);
    int rc = 0;
    bool is_kept = false;
    if (event->kind == MT_ALLOC) {
        p->after_oom = false;
        rc = mt_keep_life_begin(&p->lives, &p->blocks, event->address, number, moments, is_wanted);
        p->made = mt_address_map_get(&p->blocks, event->address);
        if (!rc)
            rc = each_request(p, event, add_to_life);
    } else {
        uint32_t index = mt_address_map_take(&p->blocks, event->address);
        is_kept = index ? mt_keep_life_end(&p->lives, index, moments) : is_first;
    }
    if (is_kept)
        keep_event(p, number);
    if (has_totals(p, replay, event, number))
        keep_totals(p, number);
    return rc;
}

/* Return whether memory is one block at one address, whose events are only needed with it. Mappings
 * are always kept, and so are PyTorch's segments, which show the pools of its blocks. */
static int comes_and_goes(const struct planner *p, const struct mt_event *event, uint64_t api)
{
    switch (mt_cuda_api_space(api)) {
    case MT_SPACE_HOST:
        return 1;
    case MT_SPACE_DEVICE:
    case MT_SPACE_MANAGED:
    case MT_SPACE_ARRAY:
        return mt_replay_is_of_cuda(p->whole, mt_device_slot(event->device));
    default:
        return 0;
    }
}

static int note_cuda_malloc(struct planner *p, const struct mt_event *event, uint64_t number,
                            size_t moments)
{
    if (!event->address || !comes_and_goes(p, event, event->CUDA_MALLOC.api)) {
        p->after_oom |= mt_cuda_is_oom(event);
        keep_event(p, number);
        return 0;
    }
    bool is_of_host = mt_cuda_api_space(event->CUDA_MALLOC.api) == MT_SPACE_HOST;
    bool is_wanted = p->after_oom && !is_of_host;
    p->after_oom &= is_of_host;
    return mt_keep_life_begin(&p->lives, &p->cuda, event->address, number, moments, is_wanted);
}

/* Note a free. A failed one belongs to the life that goes on, and so does the event that reports
 * the failure. */
static int note_cuda_free(struct planner *p, const struct mt_event *event, uint64_t number,
                          size_t moments)
{
    bool ends = event->kind != MT_CUDA_FREE_FAILED && !mt_marks_has(&p->scout->failed, number);
    uint32_t index = ends ? mt_address_map_take(&p->cuda, event->address)
                          : mt_address_map_get(&p->cuda, event->address);
    if (index && !ends)
        return mt_keep_life_add(&p->lives, index, number);
    if (!index || mt_keep_life_end(&p->lives, index, moments))
        keep_event(p, number);
    return 0;
}

static int note_host_request(struct planner *p, const struct mt_event *event, uint64_t number)
{
    uint32_t index = mt_address_map_get(&p->cuda, event->address);
    return index ? mt_keep_life_add(&p->lives, index, number) : 0;
}

/* Keep an event of each device that was used in a phase. */
static int note_cuda(struct planner *p, const struct mt_replay *replay,
                     const struct mt_event *event, uint64_t number, size_t moments)
{
    unsigned slot = mt_device_slot(event->device);
    int rc = event->kind == MT_CUDA_MALLOC || event->kind == MT_CUDA_MALLOC_ASYNC
                 ? note_cuda_malloc(p, event, number, moments)
                 : note_cuda_free(p, event, number, moments);
    if (!mt_replay_is_of_cuda(p->whole, slot))
        return rc;
    if (p->device[slot].spans != replay->spans[slot].n || mt_marks_has(&p->moments.totals, number))
        keep_totals(p, number);
    p->device[slot].spans = replay->spans[slot].n;
    set_newest(p, slot, number);
    return rc;
}

static void note_touch(struct planner *p, const struct mt_replay *replay, uint64_t address,
                       uint64_t number)
{
    const struct mt_block *block;
    uint32_t index = life_around(&replay->cuda.heap, &p->cuda, address, &block);
    if (index)
        mt_keep_life_touch(&p->lives, index, number);
    else if (block && mt_replay_is_of_cuda(p->whole, mt_device_slot(block->device)))
        keep_event(p, number);
    if (!p->saw_touch) /* memory without touches is only idle if there are touches */
        keep_event(p, number);
    p->saw_touch = true;
}

static int note_kind(struct planner *p, const struct mt_replay *replay,
                     const struct mt_event *event, uint64_t number, size_t moments)
{
    switch (event->kind) {
    case MT_ALLOC:
    case MT_FREE:
        return note_block(p, replay, event, number, moments);
    case MT_GRADIENT:
        if (!p->saw_gradient)
            keep_event(p, number);
        p->saw_gradient = true;
        return note_label(p, replay, event, event->address, number);
    case MT_NODE_NEW:
        return note_label(p, replay, event, event->NODE_NEW.address, number);
    case MT_NODE_BEGIN:
    case MT_NODE_END:
        return 0;
    case MT_CUDA_COPY:
        note_touch(p, replay, event->CUDA_COPY.from, number);
        note_touch(p, replay, event->address, number);
        return 0;
    case MT_CUDA_SET:
        note_touch(p, replay, event->address, number);
        return 0;
    case MT_CUDA_MALLOC:
    case MT_CUDA_MALLOC_ASYNC:
    case MT_CUDA_FREE:
    case MT_CUDA_FREE_ASYNC:
    case MT_CUDA_FREE_FAILED:
        return note_cuda(p, replay, event, number, moments);
    case MT_OOM:
        p->after_oom = true;
        each_request(p, event, keep_request);
        break;
    case MT_UNKNOWN_VALUE:
        keep_event(p, number);
        return 0;
    case MT_REQUEST: /* those of kept blocks are kept */
    case MT_REQUEST_STREAM:
        return note_request(p, event, number);
    case MT_HOST_REQUEST:
        return note_host_request(p, event, number);
    case MT_FREE_WAITS: /* a replay of the allocator needs all of them */
    case MT_FREE_DONE:
    case MT_EMPTY_CACHE:
    case MT_ALLOC_CONF:
        return 0;
    }
    unsigned about = mt_kind_about[event->kind];
    if (about == MT_ABOUT_LABEL || about == MT_ABOUT_NAME)
        return note_label(p, replay, event, event->address, number);
    keep_event(p, number);
    return 0;
}

static int saw(void *data, const struct mt_replay *replay, const struct mt_event *event)
{
    struct planner *p = data;
    uint64_t number = replay->events;
    if (mt_kept_reach(&p->plan->kept, number) || mt_keep_nodes_event(&p->nodes, event, number))
        return -ENOMEM;
    size_t moments = moments_passed(p, number);
    if (moments != p->passed)
        keep_newest(p);
    p->passed = moments;
    int rc = note_kind(p, replay, event, number, moments);
    /* The last event gives the duration. */
    if (mt_tracker_has_changed(&replay->tracker, &p->seen) || number == p->whole->events)
        keep_totals(p, number);
    return rc;
}

static void clear(struct planner *p)
{
    mt_keep_lives_clear(&p->lives);
    mt_address_map_clear(&p->blocks);
    mt_address_map_clear(&p->cuda);
    mt_keep_nodes_clear(&p->nodes);
    mt_keep_moments_clear(&p->moments);
    for (uint32_t i = 0; i < p->requests.n; i++)
        free(((struct last_requests *)mt_by_id(&p->requests, i))->stream);
    mt_by_id_clear(&p->requests);
}

static int decide(struct mt_keep_plan *plan, const char *path, const struct mt_replay *whole,
                  struct mt_keep_scout *scout, struct mt_trace_error *error)
{
    struct planner planner = {
        .plan = plan, .whole = whole, .scout = scout, .nodes = {.kept = &plan->kept}};
    planner.lives.nodes = &planner.nodes;
    const struct mt_watcher watcher = {saw, &planner};
    const struct mt_question question = {.watcher = &watcher, .no_turns = true};
    struct mt_replay replay = {0};
    mt_marks_sort(&scout->failed);
    int rc = mt_keep_moments_choose(&planner.moments, whole, scout);
    if (!rc)
        rc = mt_kept_reach(&plan->kept, whole->events);
    if (!rc)
        rc = mt_replay(path, &question, &replay, error);
    if (!rc)
        mt_keep_lives_finish(&planner.lives);
    mt_replay_clear(&replay);
    clear(&planner);
    return rc;
}

static uint64_t number_of(void *kept, uint64_t number)
{
    return mt_kept_number(kept, number);
}

static int add_summary(void *plan, const struct mt_definition *definition)
{
    return mt_summaries_add(&((struct mt_keep_plan *)plan)->summaries, definition);
}

int mt_keep_plan_make(struct mt_keep_plan *plan, const char *path, struct mt_trace_error *error)
{
    struct mt_keep_scout scout = {0};
    const struct mt_watcher watcher = {mt_keep_scout_saw, &scout};
    const struct mt_question question = {.whole_run = 1, .watcher = &watcher};
    struct mt_replay whole = {0};
    *plan = (struct mt_keep_plan){0};
    int rc = mt_replay(path, &question, &whole, error);
    if (!rc && error->fault)
        rc = -EINVAL;
    plan->events = whole.survey.events;
    plan->bytes = whole.survey.bytes;
    plan->is_complete = whole.survey.complete;
    plan->state = whole.survey.state;
    plan->lacks_only_its_end =
        !plan->is_complete && (plan->state == MT_TRACE_KILLED || plan->state == MT_TRACE_STOPPED ||
                               plan->state == MT_TRACE_EXECUTED);
    plan->end = whole.survey.end;
    plan->ended = mt_ended_of(&whole.survey, error);
    plan->is_compact = whole.definitions && mt_info(whole.definitions, "compact") != NULL;
    if (!rc && !plan->is_compact)
        rc = decide(plan, path, &whole, &scout, error);
    if (!rc && !plan->is_compact)
        rc = mt_kept_count(&plan->kept);
    if (!rc && !plan->is_compact)
        rc = mt_summary_list(&whole, &(struct mt_renumber){number_of, &plan->kept}, add_summary,
                             plan);
    mt_replay_clear(&whole);
    mt_keep_scout_clear(&scout);
    return rc;
}

void mt_keep_plan_clear(struct mt_keep_plan *plan)
{
    mt_kept_clear(&plan->kept);
    mt_summaries_clear(&plan->summaries);
}
