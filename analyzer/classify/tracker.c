/* SPDX-License-Identifier: Apache-2.0 */
#include "tracker.h"
#include "analyzer/support/grow.h"
#include "trace-format/dtypes.h"
#include "trace-format/meaning/marks.h"

void mt_tracker_clear(struct mt_tracker *tracker)
{
    for (size_t i = 0; i < tracker->n_threads; i++) {
        free(tracker->threads[i].at.nodes);
        free(tracker->threads[i].requests.of);
        mt_birth_drop(tracker->threads[i].birth);
    }
    free(tracker->threads);
    mt_deaths_clear(&tracker->deaths);
    mt_address_map_clear(&tracker->forward);
    mt_address_map_clear(&tracker->lines);
    mt_address_map_clear(&tracker->stand_for_all);
    mt_address_map_clear(&tracker->trained);
    mt_address_map_clear(&tracker->loops);
    mt_address_map_clear(&tracker->again);
    mt_ranges_clear(&tracker->ranges);
    mt_storages_clear(&tracker->storages);
    mt_parts_clear(&tracker->parts);
    mt_rooms_clear(&tracker->rooms);
    mt_steppers_clear(&tracker->steppers);
    memset(tracker, 0, sizeof *tracker);
}

static struct mt_thread_state *thread_state(struct mt_tracker *tracker, uint32_t thread)
{
    thread = mt_thread_id(thread);
    if (MT_GROW(tracker->threads, tracker->threads_capacity, (size_t)thread))
        return NULL;
    if (tracker->n_threads <= thread)
        tracker->n_threads = (size_t)thread + 1;
    return &tracker->threads[thread];
}

static bool is_autograd_thread(const struct mt_definitions *definitions, uint32_t thread)
{
    uint32_t os_thread;
    return mt_is_name_of_autograds(mt_thread(definitions, thread, &os_thread));
}

/* Return the sort of a server's step, which a range around it may say. */
static __attribute__((cold)) enum mt_serving refine(const struct mt_tracker *tracker,
                                                    uint32_t thread)
{
    const struct mt_range *ranges = tracker->ranges.range;
    for (uint32_t at = mt_tracker_range(tracker, thread); at; at = ranges[at].parent) {
        enum mt_serving found =
            mt_serving_of_range(mt_string(tracker->definitions, ranges[at].name));
        if (found)
            return found;
    }
    return MT_SERVING_STEP;
}

/* Note what called the code that runs backward or an optimizer's step. */
static int note_loops(struct mt_tracker *tracker, uint32_t stack)
{
    int rc = 0;
    while (stack && !rc && !mt_address_map_get(&tracker->loops, stack)) {
        rc = mt_address_map_put(&tracker->loops, stack, 1);
        stack = mt_stack(tracker->definitions, stack)->parent;
    }
    return rc;
}

/* Set the stack, from which the phase comes. A thread without one has none. 0 or -ENOMEM. */
static int set_stack(struct mt_tracker *tracker, struct mt_thread_phase *thread,
                     const struct mt_event *event)
{
    uint32_t stack = event->stack;
    uint32_t python = mt_stack(tracker->definitions, stack)->python;
    const struct mt_stack *s = mt_stack(tracker->definitions, python);
    thread->stack = stack;
    thread->python = python;
    thread->marks = s->marks;
    thread->phase_marks = s->phase;
    thread->caller = s->caller;
    thread->serving = (uint8_t)s->serving;
    if (s->serving == MT_SERVING_STEP)
        thread->serving = (uint8_t)refine(tracker, event->thread);
    return s->marks & (MT_MARK_BACKWARD | MT_MARK_OPTIMIZER) ? note_loops(tracker, python) : 0;
}

static __attribute__((cold)) void forget_birth(struct mt_thread_state *thread)
{
    mt_birth_drop(thread->birth);
    thread->birth = NULL;
}

struct mt_thread_state *mt_tracker_update(struct mt_tracker *tracker, const struct mt_event *event)
{
    struct mt_thread_state *thread = thread_state(tracker, event->thread);
    if (!thread)
        return NULL;
    if (!thread->at.is_known)
        thread->at.is_autograds = is_autograd_thread(tracker->definitions, event->thread);
    bool is_new = !thread->at.is_known || thread->at.stack != event->stack;
    if (is_new && set_stack(tracker, &thread->at, event))
        return NULL;
    mt_phases_update(&tracker->phases, &thread->at);
    if (is_new && thread->at.python && !tracker->phases.steps_begun &&
        mt_steppers_note(&tracker->steppers, tracker->definitions, thread->at.python,
                         &tracker->phases.now, (enum mt_phase)thread->at.phase))
        return NULL;
    if (is_new && thread->at.python && tracker->phases.now.calls &&
        thread->at.phase == MT_PHASE_OUTSIDE &&
        mt_address_map_put(&tracker->again, thread->at.python, 1))
        return NULL;
    if (thread->at.n_nodes && thread->at.python)
        thread->at.nodes[thread->at.n_nodes - 1].had_hook = true;
    if (event->thread >= MT_THREAD_LIMIT)
        forget_birth(thread); /* threads beyond the limit share this state */
    return thread;
}

int mt_tracker_new_birth(struct mt_tracker *tracker, struct mt_thread_state *thread,
                         const struct mt_event *event, uint64_t number, uint32_t step)
{
    struct mt_birth *birth =
        mt_birth_new(&(struct mt_birth){.deaths = &tracker->deaths,
                                        .time_ns = event->time_ns,
                                        .event = number,
                                        .when = tracker->phases.now,
                                        .thread = event->thread,
                                        .step = step,
                                        .steps_before = tracker->phases.steps_ended});
    if (!birth)
        return -ENOMEM;
    birth->when.phase = thread->at.phase; /* other threads may be elsewhere */
    mt_birth_drop(thread->birth);
    thread->birth = birth;
    return 0;
}

/* Note that the outermost module that is called makes a graph. Most often it is the last one. */
static int note_trained(struct mt_tracker *tracker, uint32_t stack)
{
    const char *root = mt_stack_root(tracker->definitions, stack);
    if (!root || root == tracker->last_trained)
        return 0;
    tracker->last_trained = root;
    return mt_address_map_put(&tracker->trained, mt_root_key(root), 1);
}

/* Return the line of a node that is made now. One that a running node makes (create_graph) has
 * that one's: its thread may run no Python, or PyTorch's own only. */
static uint32_t line_of_new(const struct mt_tracker *tracker, const struct mt_thread_state *thread)
{
    uint32_t stack = thread->at.python;
    if (!thread->at.n_nodes || mt_stack(tracker->definitions, stack)->user ||
        mt_stack_root(tracker->definitions, stack))
        return stack;
    uint32_t around = thread->at.nodes[thread->at.n_nodes - 1].forward_stack;
    return around ? around : stack;
}

static int node_new(struct mt_tracker *tracker, const struct mt_event *event, uint32_t stack)
{
    int rc = note_trained(tracker, stack);
    if (rc)
        return rc;
    if (stack)
        return mt_address_map_put(&tracker->forward, event->NODE_NEW.node, stack);
    mt_address_map_take(&tracker->forward, event->NODE_NEW.node); /* another node was here */
    return 0;
}

int mt_tracker_node_made(struct mt_tracker *tracker, const struct mt_event *event)
{
    return node_new(tracker, event, mt_stack(tracker->definitions, event->stack)->python);
}

/* Return whether a node is an accumulator. The trace does not have the call that makes one: an
 * earlier node at its address would lend it a wrong forward line. */
static bool is_accumulator(struct mt_tracker *tracker, uint32_t name)
{
    unsigned place = name % MT_NODE_NAMES;
    if (tracker->node_names[place].name != name) {
        tracker->node_names[place].name = name;
        tracker->node_names[place].is_accumulator =
            strstr(mt_string(tracker->definitions, name), "AccumulateGrad") != NULL;
    }
    return tracker->node_names[place].is_accumulator;
}

static int node_begin(struct mt_tracker *tracker, struct mt_thread_state *thread,
                      const struct mt_event *event)
{
    struct mt_running_node node = {.node = event->NODE_BEGIN.node};
    node.name = event->NODE_BEGIN.name > UINT32_MAX ? 0 : (uint32_t)event->NODE_BEGIN.name;
    node.is_accumulator = is_accumulator(tracker, node.name);
    if (!node.is_accumulator)
        node.forward_stack = mt_address_map_get(&tracker->forward, node.node);
    return mt_phases_begin_node(&thread->at, &node);
}

static void saw_leaf(struct mt_block *block)
{
    if (block->evidence & MT_SAW_LEAF)
        block->evidence |= MT_SAW_LEAF_AGAIN;
    else if (block->evidence & MT_SAW_GRAPH_OUTPUT)
        block->evidence |= MT_SAW_LEAF | MT_SAW_LEAF_OF_GRAPH;
    else
        block->evidence |= MT_SAW_LEAF;
}

static void saw_requires_grad(struct mt_tracker *tracker, struct mt_block *block, uint32_t stack,
                              int value)
{
    uint32_t marks = mt_stack_frame(tracker->definitions, stack)->marks;
    block->evidence |= value ? MT_SAW_NEEDS_GRAD : 0;
    if (marks & MT_MARK_PARAMETER_NEW)
        block->evidence |= MT_SAW_PARAMETER;
    else if (marks & MT_MARK_BUFFER_NEW)
        block->evidence |= MT_SAW_BUFFER;
}

/* Return the block around an address: CUDA's where PyTorch has no allocator of its own. */
static struct mt_block *block_around(struct mt_tracker *tracker, uint64_t address)
{
    struct mt_block *block = address ? mt_heap_around(tracker->heap, address) : NULL;
    return block || !address ? block : mt_heap_around(tracker->cuda, address);
}

static void saw_elements(struct mt_block *block, uint64_t elements)
{
    if (!(block->evidence & MT_SAW_ROOM) && block->number < elements &&
        elements < MT_BLOCK_ELEMENTS)
        block->number = elements;
}

static int saw_room(struct mt_tracker *tracker, struct mt_block *block,
                    const struct mt_event *event)
{
    uint32_t place;
    int rc = mt_rooms_add(
        &tracker->rooms,
        &(struct mt_room){event->ROOM.tokens, event->ROOM.longest, event->ROOM.each}, &place);
    block->evidence |= rc ? 0 : MT_SAW_ROOM;
    block->number = rc ? block->number : place;
    return rc;
}

static void saw_dtype(struct mt_block *block, uint64_t dtype)
{
    if (!block->dtype && dtype < MT_DTYPE_LIMIT)
        block->dtype = (uint8_t)dtype;
}

/* Return the stack of the leaf at an address (mt_leaf_stack); 0: unknown. */
static uint32_t first_use(struct mt_tracker *tracker, uint64_t leaf)
{
    const struct mt_block *block = block_around(tracker, leaf);
    return block ? mt_leaf_stack(tracker->definitions, block) : 0;
}

/* Return whether state is larger than its parameter: an optimizer may keep state for all parameters
 * under one of them. Older PyTorch does not give the number of elements. */
static bool is_of_all(const struct mt_block *state, uint64_t elements,
                      const struct mt_block *parameter)
{
    return elements && mt_block_elements(parameter) ? elements > mt_block_elements(parameter)
                                                    : state->size > parameter->size;
}

static int put_line(struct mt_tracker *tracker, const struct mt_block *block, uint32_t evidence)
{
    uint64_t line = mt_line_of(tracker->definitions, block);
    return mt_address_map_get(&tracker->lines, line)
               ? 0
               : mt_address_map_put(&tracker->lines, line, evidence);
}

/* Note a line. Modules, optimizers and leaves are only examined from time to time. A line of the
 * program that made a buffer, a state or a gradient once makes it again. */
static int saw_line(struct mt_tracker *tracker, const struct mt_block *block, uint32_t evidence)
{
    bool is_programs = block->birth->when.phase == MT_PHASE_OUTSIDE ||
                       block->birth->when.phase == MT_PHASE_FORWARD;
    return is_programs ? put_line(tracker, block, evidence) : 0;
}

/* Note where a graph first saved a block. Of what one line makes before the first forward (the
 * tensors of a data set that is moved to the device), what no graph saves is of the same kind. */
static int saw_saved(struct mt_tracker *tracker, struct mt_block *block, uint32_t stack)
{
    uint32_t python = mt_stack(tracker->definitions, block->stack)->python;
    block->save_stack = stack;
    block->evidence |= MT_SAW_SAVED;
    return block->birth->when.phase == MT_PHASE_OUTSIDE && !block->birth->when.calls && python
               ? mt_address_map_put(&tracker->again, python, 1)
               : 0;
}

static int saw_state(struct mt_tracker *tracker, struct mt_block *block,
                     const struct mt_event *event)
{
    const struct mt_block *parameter = block_around(tracker, event->STATE.parameter);
    if (event->STATE.address == event->STATE.parameter) {
        block->evidence |= MT_SAW_STEPPED;
        saw_elements(block, event->STATE.elements);
        tracker->saw_stepped = 1;
        return 0;
    }
    block->evidence |= MT_SAW_STATE;
    if (!block->name)
        block->name = event->STATE.name > UINT32_MAX ? 0 : (uint32_t)event->STATE.name;
    int rc = 0;
    if (parameter && is_of_all(block, event->STATE.elements, parameter))
        rc = mt_address_map_put(&tracker->stand_for_all, event->STATE.parameter, 1);
    else if (parameter && !(event->STATE.elements == 1 && /* a number beside it is of all, too */
                            mt_address_map_get(&tracker->stand_for_all, event->STATE.parameter)))
        block->leaf_stack = first_use(tracker, event->STATE.parameter);
    return rc ? rc : saw_line(tracker, block, MT_SAW_STATE);
}

/* Return whether a member is kept. A batch that a module keeps is replaced by the next; a table
 * stays. Where nothing is trained, calls count. */
static bool is_kept(const struct mt_tracker *tracker, const struct mt_block *block)
{
    const struct mt_when *birth = &block->birth->when;
    return tracker->phases.now.backwards ? tracker->phases.now.backwards > birth->backwards + 1
                                         : tracker->phases.now.calls > birth->calls + 1;
}

/* Note a member. kind: an enum mt_member_kind, or one of a newer version. */
static int saw_member(struct mt_tracker *tracker, struct mt_block *block, uint64_t kind)
{
    switch (kind) {
    case MT_MEMBER_BUFFER:
        block->evidence |= MT_SAW_MODULES_BUFFER;
        return saw_line(tracker, block, MT_SAW_MODULES_BUFFER);
    case MT_MEMBER_PARAMETER:
        block->evidence |= MT_SAW_MODULES_PARAMETER;
        return block->evidence & MT_SAW_GRAPH_OUTPUT ||
                       mt_block_stands_in(tracker->definitions, block)
                   ? saw_line(tracker, block, MT_SAW_MODULES_PARAMETER)
                   : 0;
    case MT_MEMBER_OF_CACHE:
        block->evidence |= MT_SAW_OF_CACHE;
        return 0;
    default:
        block->evidence |= MT_SAW_ATTRIBUTE;
        block->evidence |= is_kept(tracker, block) ? MT_SAW_ATTRIBUTE_LATER : 0;
        return mt_block_is_backwards(tracker->definitions, block)
                   ? put_line(tracker, block, MT_SAW_ATTRIBUTE)
                   : 0;
    }
}

/* Add the evidence of a label on the tensor at `address`, which may be a view into its block. */
static int label(struct mt_tracker *tracker, const struct mt_event *event, uint64_t address,
                 uint32_t stack)
{
    struct mt_block *block = block_around(tracker, address);
    int rc = 0;
    if (!block)
        return 0;
    switch (event->kind) {
    case MT_LEAF:
        saw_dtype(block, event->LEAF.dtype);
        if (!(block->evidence & MT_SAW_LEAF))
            block->leaf_stack = event->stack;
        saw_leaf(block);
        break;
    case MT_REQUIRES_GRAD:
        saw_dtype(block, event->REQUIRES_GRAD.dtype);
        saw_requires_grad(tracker, block, stack, event->REQUIRES_GRAD.value != 0);
        saw_elements(block, event->REQUIRES_GRAD.elements);
        break;
    case MT_SET_DATA:
        saw_dtype(block, event->SET_DATA.dtype);
        saw_elements(block, event->SET_DATA.elements);
        block->evidence |= MT_SAW_SET_DATA;
        break;
    case MT_GRADIENT:
        saw_dtype(block, event->GRADIENT.dtype);
        block->evidence |= MT_SAW_GRADIENT;
        block->leaf_stack = first_use(tracker, event->GRADIENT.leaf);
        rc = saw_line(tracker, block, MT_SAW_GRADIENT);
        break;
    case MT_NODE_NEW: /* of a block from before the recording this is a view */
        if (!mt_is_from_before(tracker->definitions, block->stack))
            block->evidence |= MT_SAW_GRAPH_OUTPUT;
        break;
    case MT_WORKSPACE:
        block->evidence |= MT_SAW_WORKSPACE;
        break;
    case MT_STATE:
        rc = saw_state(tracker, block, event);
        break;
    case MT_MEMBER:
        rc = saw_member(tracker, block, event->MEMBER.parameter);
        break;
    case MT_PART:
        saw_dtype(block, event->PART.dtype);
        rc = mt_parts_add(&tracker->parts, event->PART.parameter, mt_block_event(block),
                          event->PART.whole);
        break;
    case MT_ROOM:
        rc = saw_room(tracker, block, event);
        break;
    case MT_RESIZE:
        block->evidence |= MT_SAW_EMPTIED;
        if (event->RESIZE.size)
            mt_storages_fill(&tracker->storages, event->RESIZE.storage, event->RESIZE.size, block);
        else
            rc = mt_storages_empty(&tracker->storages, event->RESIZE.storage, block);
        break;
    case MT_NAMED:
        block->name = event->NAMED.name > UINT32_MAX ? 0 : (uint32_t)event->NAMED.name;
        break;
    case MT_SAVED:
        saw_dtype(block, event->SAVED.dtype);
        if (!(block->evidence & MT_SAW_SAVED))
            rc = saw_saved(tracker, block, stack);
        if (block->birth->when.phase == MT_PHASE_FORWARD &&
            tracker->phases.now.phase == MT_PHASE_FORWARD &&
            tracker->phases.now.backwards > block->birth->when.backwards)
            block->evidence |= MT_SAW_SAVED_LATER;
        break;
    }
    if (block->evidence & (MT_SAW_PARAMETER | MT_SAW_MODULES_PARAMETER | MT_SAW_SET_DATA))
        tracker->saw_parameters = 1;
    return rc;
}

/* Return the range around: autograd's threads work for the thread that trains. */
static uint32_t range_around(const struct mt_tracker *tracker, const struct mt_thread_state *thread)
{
    return thread->at.is_autograds ? mt_ranges_of_thread(&tracker->ranges, tracker->phases.leader)
                                   : 0;
}

uint32_t mt_tracker_find_range(const struct mt_tracker *tracker, uint32_t thread)
{
    uint32_t own = mt_ranges_of_thread(&tracker->ranges, thread);
    uint32_t at = mt_thread_id(thread);
    return own || at >= tracker->n_threads ? own : range_around(tracker, &tracker->threads[at]);
}

int mt_tracker_learn(struct mt_tracker *tracker, struct mt_thread_state *thread,
                     const struct mt_event *event)
{
    switch (mt_kind_about[event->kind]) {
    case MT_ABOUT_LABEL:
    case MT_ABOUT_NAME:
        return label(tracker, event, event->address, thread->at.python);
    case MT_ABOUT_RANGE:
        thread->at.is_known = false; /* the range may say what its stack does not */
        return mt_ranges_event(&tracker->ranges, tracker->definitions, event,
                               range_around(tracker, thread));
    }
    switch (event->kind) {
    case MT_NODE_NEW:
        label(tracker, event, event->NODE_NEW.address, thread->at.python);
        return node_new(tracker, event, line_of_new(tracker, thread));
    case MT_NODE_BEGIN:
        return node_begin(tracker, thread, event);
    case MT_NODE_END:
        mt_phases_end_node(&tracker->phases, &thread->at, event->NODE_END.node);
        return 0;
    case MT_LOST:
        thread->at.n_nodes = 0; /* ends of nodes may be lost */
        return 0;
    }
    return mt_requests_note(&thread->requests, event);
}

bool mt_tracker_has_changed(const struct mt_tracker *tracker, struct mt_tracker_seen *seen)
{
    bool changed = mt_phases_differ(&seen->phases, &tracker->phases) ||
                   seen->saw_parameters != tracker->saw_parameters ||
                   seen->saw_stepped != tracker->saw_stepped ||
                   seen->loops != tracker->loops.used || seen->again != tracker->again.used ||
                   seen->steppers != tracker->steppers.changes || seen->full != tracker->full;
    seen->full = tracker->full;
    seen->loops = tracker->loops.used;
    seen->again = tracker->again.used;
    seen->steppers = tracker->steppers.changes;
    seen->phases = tracker->phases;
    seen->saw_parameters = tracker->saw_parameters;
    seen->saw_stepped = tracker->saw_stepped;
    return changed;
}

struct mt_label_counts mt_tracker_label_counts(const struct mt_tracker *tracker,
                                               struct mt_tracker_seen *seen)
{
    size_t lines = tracker->lines.used + tracker->trained.used + tracker->again.used;
    struct mt_label_counts labels = {.of_storage = seen->storages != tracker->storages.changes,
                                     .of_part = seen->parts != tracker->parts.changes};
    labels.of_others = labels.of_storage || seen->lines != lines;
    seen->lines = lines;
    seen->storages = tracker->storages.changes;
    seen->parts = tracker->parts.changes;
    return labels;
}

void mt_tracker_finish(struct mt_tracker *tracker)
{
    for (size_t i = 0; i < tracker->n_threads; i++)
        mt_phases_end_step(&tracker->phases, &tracker->threads[i].at);
}
