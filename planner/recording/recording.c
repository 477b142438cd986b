/* SPDX-License-Identifier: Apache-2.0 */
#include "recording.h"
#include "analyzer/classify/modules.h"
#include "analyzer/model/user-line.h"
#include "analyzer/support/grow.h"
#include "analyzer/support/search.h"
#include "analyzer/trace/ended.h"

#include <stdlib.h>
#include <string.h>

static uint32_t module_of(const struct mt_definitions *definitions, uint32_t stack)
{
    return mt_stack(definitions, stack)->call;
}

static void *one_more(struct mt_recording *recording, void *array, size_t *n, size_t *capacity,
                      size_t size)
{
    char *first;
    if (recording->rc || mt_grow(array, capacity, *n + 1, size)) {
        recording->rc = -ENOMEM;
        return NULL;
    }
    memcpy(&first, array, sizeof first);
    return first + size * (*n)++;
}

#define ONE_MORE(recording, array, n)                                                              \
    one_more(recording, &(recording)->array, &(recording)->n, &(recording)->array##s_capacity,     \
             sizeof *(recording)->array)

/* Note the current module; in backward, that of the node's forward line. */
static void note_turn(struct mt_recording *recording, const struct mt_replay *replay)
{
    const struct mt_thread_state *thread = replay->present.thread;
    uint32_t stack = thread->at.n_nodes ? thread->at.nodes[thread->at.n_nodes - 1].forward_stack
                                        : thread->at.python;
    uint8_t phase = thread->at.n_nodes ? MT_PHASE_BACKWARD : thread->at.phase;
    if ((!stack && thread->at.n_nodes) || (!thread->at.n_nodes && !thread->at.python))
        return; /* accumulating gradients belongs to no module */
    uint32_t module = module_of(replay->definitions, stack);
    if (module && phase == MT_PHASE_FORWARD) {
        uint32_t caller = (uint32_t)(thread - replay->tracker.threads) + 1;
        recording->several_call |= recording->caller && recording->caller != caller;
        recording->caller = caller;
    }
    const struct mt_turn *last =
        recording->n_turns ? &recording->turn[recording->n_turns - 1] : NULL;
    if (last && last->module == module && last->phase == phase)
        return;
    struct mt_turn *turn = ONE_MORE(recording, turn, n_turns);
    if (turn)
        *turn = (struct mt_turn){replay->events, module, phase};
}

static void note_steps(struct mt_recording *recording, const struct mt_replay *replay)
{
    struct mt_recorded_step *last =
        recording->n_steps ? &recording->step[recording->n_steps - 1] : NULL;
    if (last && !last->end && replay->tracker.phases.steps_ended >= recording->n_steps)
        last->end = replay->events;
    if (replay->tracker.phases.steps_begun <= recording->n_steps)
        return;
    struct mt_recorded_step *step = ONE_MORE(recording, step, n_steps);
    if (step)
        *step = (struct mt_recorded_step){.begin = replay->events};
}

static uint64_t block_number(const struct mt_replay *replay, uint64_t address)
{
    const struct mt_block *block = mt_heap_at(&replay->blocks, address);
    return block ? mt_block_event(block) : 0;
}

/* Note a save. If the tensor is a view, its block is not found here but maybe by another save. */
static void note_save(struct mt_recording *recording, const struct mt_replay *replay,
                      const struct mt_event *event)
{
    uint64_t block = block_number(replay, event->SAVED.address);
    if (!block || replay->present.thread->at.n_nodes)
        return;
    uint32_t place = mt_address_map_get(&recording->saved, event->SAVED.address);
    if (!place) {
        if (!ONE_MORE(recording, saved_at, n_saved))
            return;
        place = (uint32_t)recording->n_saved;
        if (mt_address_map_put(&recording->saved, event->SAVED.address, place))
            recording->rc = -ENOMEM;
    }
    recording->saved_at[place - 1] = replay->events;
    uint64_t *save = ONE_MORE(recording, save, n_saves);
    if (save)
        *save = block;
    /* An output is saved after its node got it. */
    if (save && event->SAVED.is_output && recording->n_nodes &&
        recording->unclaimed + 1 == recording->n_saves) {
        recording->node[recording->n_nodes - 1].n_saves++;
        recording->unclaimed++;
    }
}

/* Assign to a node what was saved since the previous node. */
static void note_node(struct mt_recording *recording, const struct mt_replay *replay,
                      const struct mt_event *event)
{
    uint32_t place = mt_address_map_get(&recording->nodes, event->NODE_NEW.node);
    if (place && place == recording->n_nodes && !recording->node[place - 1].begin)
        return; /* another output of it */
    struct mt_recorded_node *node = ONE_MORE(recording, node, n_nodes);
    if (!node)
        return;
    *node = (struct mt_recorded_node){
        .output = block_number(replay, event->NODE_NEW.address),
        .made = replay->events,
        .module = module_of(replay->definitions, replay->present.thread->at.python),
        .first_save = (uint32_t)recording->unclaimed,
        .n_saves = (uint32_t)(recording->n_saves - recording->unclaimed)};
    recording->unclaimed = recording->n_saves;
    if (mt_address_map_put(&recording->nodes, event->NODE_NEW.node, (uint32_t)recording->n_nodes))
        recording->rc = -ENOMEM;
}

/* Return whether it is another node. The trace does not record the creation of gradient
 * accumulators, which may reuse an address. */
static bool is_another(const struct mt_replay *replay, const struct mt_recorded_node *node,
                       uint32_t name)
{
    return (node->begin && node->name != name) ||
           strstr(mt_string(replay->definitions, name), "AccumulateGrad");
}

static void note_run(struct mt_recording *recording, const struct mt_replay *replay,
                     const struct mt_event *event)
{
    uint32_t place = mt_address_map_get(&recording->nodes, event->NODE_BEGIN.node);
    struct mt_recorded_node *node = place ? &recording->node[place - 1] : NULL;
    if (!node)
        return;
    if (event->kind == MT_NODE_END) {
        if (node->is_running)
            node->end = replay->events;
        node->is_running = false;
        return;
    }
    uint32_t name = event->NODE_BEGIN.name > UINT32_MAX ? 0 : (uint32_t)event->NODE_BEGIN.name;
    if (is_another(replay, node, name))
        return;
    node->begin = replay->events;
    node->name = name;
    node->is_running = true;
}

static void note_unused(struct mt_recording *recording, const struct mt_replay *replay)
{
    uint64_t bytes = replay->present.unused;
    struct mt_recorded_unused *unused = bytes ? ONE_MORE(recording, unused, n_unused) : NULL;
    if (unused)
        *unused = (struct mt_recorded_unused){replay->events, bytes};
}

/* Note the end of a search for the fastest algorithm (torch.backends.cudnn.benchmark): PyTorch
 * frees its workspace and empties the cache before it requests anything else. A program's own
 * torch.cuda.empty_cache() returns memory at another line. */
static void note_search(struct mt_recording *recording, const struct mt_replay *replay,
                        const struct mt_event *event)
{
    struct mt_recorded_search *search = &recording->search;
    struct mt_recorded_block *freed = NULL;
    uint32_t stack = mt_stack(replay->definitions, event->stack)->python;
    switch (event->kind) {
    case MT_CUDA_FREE:
    case MT_CUDA_UNMAP:
        search->gives_back |= search->thread == event->thread && search->stack == stack;
        return;
    case MT_EMPTY_CACHE:
        if (search->block && search->gives_back)
            recording->block[search->block - 1].search = replay->events;
        break;
    case MT_FREE:
        freed = recording->n ? &recording->block[recording->n - 1] : NULL;
        break;
    case MT_ALLOC:
        break;
    default:
        return;
    }
    *search = (struct mt_recorded_search){0};
    if (freed && freed->end == replay->events && freed->category == MT_CATEGORY_WORKSPACE)
        *search = (struct mt_recorded_search){recording->n, event->thread, stack, false};
}

static int saw(void *data, const struct mt_replay *replay, const struct mt_event *event)
{
    struct mt_recording *recording = data;
    note_steps(recording, replay);
    note_search(recording, replay, event);
    switch (event->kind) {
    case MT_SAVED:
        note_save(recording, replay, event);
        break;
    case MT_NODE_NEW:
        note_node(recording, replay, event);
        break;
    case MT_NODE_BEGIN:
    case MT_NODE_END:
        note_run(recording, replay, event);
        break;
    case MT_ALLOC:
        note_unused(recording, replay);
        break;
    case MT_FREE:
        break;
    default:
        return 0;
    }
    if (event->kind != MT_NODE_END)
        note_turn(recording, replay);
    return recording->rc;
}

static bool is_accumulating(const struct mt_thread_state *thread)
{
    return thread && thread->at.n_nodes && thread->at.nodes[thread->at.n_nodes - 1].is_accumulator;
}

static struct mt_recorded_use use_of(const struct mt_use_point *point)
{
    return (struct mt_recorded_use){point->time_ns, 0, point->stack, point->in_backward};
}

/* Note the uses of a block that ends now, if they are recorded. */
static void note_uses(struct mt_recording *recording, const struct mt_replay *replay,
                      const struct mt_block *block, uint64_t end)
{
    bool of_cuda = mt_replay_is_of_cuda(replay, mt_device_slot(block->device));
    const struct mt_block_uses *uses =
        of_cuda ? NULL : mt_uses_find(&replay->uses_of_blocks, &replay->blocks, block);
    struct mt_recorded_uses *use = uses ? ONE_MORE(recording, use, n_uses) : NULL;
    uint64_t end_ns = end == MT_EVER ? UINT64_MAX : replay->time_ns;
    if (use)
        *use = (struct mt_recorded_uses){
            .begin = mt_block_event(block),
            .end = end,
            .begin_ns = mt_block_time(block),
            .end_ns = end_ns,
            .is_known = mt_uses_are_complete(uses, end_ns, replay->survey.kinds[MT_USE]),
            .is_read = !uses->is_never && !uses->only_written,
            .first = use_of(&uses->first),
            .last = use_of(&uses->last),
            .before = use_of(&uses->before),
            .after = use_of(&uses->after)};
}

/* Keep a parameter, or what may be a copy of one: what the program's own code made and kept, loaded
 * or copied. */
static void note_copy(struct mt_recording *recording, const struct mt_replay *replay,
                      const struct mt_block *block, const struct mt_rule *rule)
{
    const uint32_t copies = MT_MARK_LOAD | MT_MARK_COPY_TENSOR;
    bool is_outside = block->birth->when.phase == MT_PHASE_OUTSIDE && !block->birth->step;
    bool is_kept = mt_block_ended(block)->epoch != block->birth->when.epoch ||
                   mt_stack(replay->definitions, block->stack)->marks & copies;
    if (rule->category != MT_CATEGORY_PARAMETERS && !(is_outside && is_kept))
        return;
    struct mt_block_copy *copy = malloc(sizeof *copy);
    struct mt_block_copy **maybe = copy ? ONE_MORE(recording, maybe, n_maybes) : NULL;
    if (maybe)
        mt_block_copy(*maybe = copy, block);
    else
        free(copy), recording->rc = -ENOMEM;
}

static void ended(void *data, const struct mt_replay *replay, const struct mt_block *block,
                  const struct mt_rule *rule, bool at_end)
{
    struct mt_recording *recording = data;
    uint32_t place = mt_address_map_take(&recording->saved, block->address);
    struct mt_recorded_block *recorded = one_more(recording, &recording->block, &recording->n,
                                                  &recording->capacity, sizeof *recording->block);
    if (!recorded)
        return;
    const struct mt_verdict verdict = {block, rule};
    *recorded = (struct mt_recorded_block){
        .begin = mt_block_event(block),
        .end = at_end ? MT_EVER : replay->events,
        .size = block->size,
        .elements = mt_block_elements(block),
        .saved = place ? recording->saved_at[place - 1] : 0,
        .module = module_of(replay->definitions, mt_block_module(replay->definitions, &verdict)),
        .maker = module_of(replay->definitions, block->stack),
        .stack = block->stack,
        .line = mt_line_stack(replay->definitions, block),
        .made_in = block->node_name,
        .step = block->birth->step,
        .evidence = block->evidence,
        .device = block->device,
        .category = (uint8_t)rule->category,
        .phase = block->birth->when.phase,
        .dtype = block->dtype,
        .is_addend = !at_end && is_accumulating(replay->present.thread),
        .is_master = mt_rule_is_master(rule)};
    note_uses(recording, replay, block, recorded->end);
    note_copy(recording, replay, block, rule);
}

void mt_recording_watch(struct mt_recording *recording, struct mt_question *question)
{
    recording->watcher = (struct mt_watcher){saw, recording};
    recording->lives = (struct mt_life_watcher){ended, recording};
    question->watcher = &recording->watcher;
    question->lives = &recording->lives;
}

MT_ORDER(by_begin, struct mt_recorded_block, MT_RISING(begin))

void mt_recording_sort(struct mt_recording *recording)
{
    if (recording->n)
        qsort(recording->block, recording->n, sizeof *recording->block, by_begin);
}

MT_ORDER(by_used_begin, struct mt_recorded_uses, MT_RISING(begin))

struct moment {
    uint64_t ns, event;
};

MT_ORDER(by_ns, struct moment, MT_RISING(ns) ?: MT_RISING(event))

static void place_use(struct mt_recorded_use *use, const struct moment *moment, size_t n)
{
    size_t low = MT_LEADING(i, n, moment[i].ns <= use->ns);
    use->event = low ? moment[low - 1].event : 0;
}

/* Place the uses among the allocations and frees. */
static void place_uses(struct mt_recording *recording)
{
    size_t n = 0;
    struct moment *moment = calloc(2 * recording->n_uses + 1, sizeof *moment);
    if (!moment) {
        recording->rc = -ENOMEM;
        return;
    }
    for (size_t i = 0; i < recording->n_uses; i++) {
        const struct mt_recorded_uses *uses = &recording->use[i];
        moment[n++] = (struct moment){uses->begin_ns, uses->begin};
        if (uses->end != MT_EVER)
            moment[n++] = (struct moment){uses->end_ns, uses->end};
    }
    qsort(moment, n, sizeof *moment, by_ns);
    for (size_t i = 0; i < recording->n_uses; i++) {
        struct mt_recorded_uses *uses = &recording->use[i];
        place_use(&uses->first, moment, n);
        place_use(&uses->last, moment, n);
        place_use(&uses->before, moment, n);
        place_use(&uses->after, moment, n);
    }
    free(moment);
    qsort(recording->use, recording->n_uses, sizeof *recording->use, by_used_begin);
}

const struct mt_recorded_uses *mt_recorded_uses_of(const struct mt_recording *recording,
                                                   const struct mt_recorded_block *block)
{
    struct mt_recorded_uses key = {.begin = block->begin};
    return recording->n_uses
               ? bsearch(&key, recording->use, recording->n_uses, sizeof key, by_used_begin)
               : NULL;
}

/* Find copies of weights by the rules of a report, which classifies blocks together: those that
 * were kept, with all parameters. A module that is copied once training has begun is one, too. */
static void find_copies(struct mt_recording *recording, const struct mt_replay *replay)
{
    struct mt_rule_context context = mt_replay_context(replay);
    struct mt_verdict *verdict = calloc(recording->n_maybes + 1, sizeof *verdict);
    size_t n = 0;
    for (size_t i = 0; verdict && i < recording->n_maybes; i++)
        if (recording->maybe[i]->block.device == recording->device)
            verdict[n++].block = &recording->maybe[i]->block;
    if (!verdict || mt_classify_all(&context, verdict, n))
        recording->rc = -ENOMEM;
    for (size_t i = 0; !recording->rc && i < n; i++) {
        const struct mt_block *block = verdict[i].block;
        struct mt_recorded_block *recorded = mt_recorded_at(recording, mt_block_event(block));
        bool is_copied_module =
            verdict[i].rule->category == MT_CATEGORY_PARAMETERS &&
            !(block->evidence & (MT_SAW_LEAF | MT_SAW_STEPPED)) && block->birth->when.backwards &&
            mt_stack(recording->definitions, block->stack)->marks & MT_MARK_COPY_DICT &&
            mt_equal_sets_has_size(&context.copies, block->size);
        if (recorded && (is_copied_module || verdict[i].rule->category == MT_CATEGORY_COPIES))
            recorded->category = MT_CATEGORY_COPIES;
    }
    mt_equal_sets_clear(&context.copies);
    free(verdict);
}

int mt_recording_finish(struct mt_recording *recording, const struct mt_replay *replay, int device)
{
    size_t n = 0;
    for (size_t i = 0; i < recording->n; i++)
        if (recording->block[i].device == device && recording->block[i].size)
            recording->block[n++] = recording->block[i];
    recording->n = n;
    mt_recording_sort(recording);
    for (size_t i = 0; i < recording->n_nodes; i++) {
        struct mt_recorded_block *output = mt_recorded_at(recording, recording->node[i].output);
        if (output && recording->node[i].name && !output->output_of)
            output->output_of = recording->node[i].name;
    }
    for (size_t i = 0; i < recording->n_unused; i++) {
        struct mt_recorded_block *block = mt_recorded_at(recording, recording->unused[i].event);
        if (block && recording->unused[i].bytes < block->size)
            block->unused = recording->unused[i].bytes;
    }
    for (size_t i = 0; i < recording->n_steps; i++)
        if (!recording->step[i].end)
            recording->step[i].end = replay->events;
    recording->definitions = replay->definitions;
    recording->device = device;
    recording->unseen = replay->unseen[mt_device_slot(device)];
    recording->streams = mt_cuda_objects_on(&replay->objects, mt_device_slot(device)).streams;
    recording->events = replay->events;
    recording->cut = MT_EVER;
    recording->is_short =
        !recording->n_steps && mt_ended_of(&replay->survey, NULL).how != MT_ENDED_WHOLE;
    find_copies(recording, replay);
    if (recording->n_uses)
        place_uses(recording);
    return recording->rc;
}

void mt_recording_clear(struct mt_recording *recording)
{
    free(recording->block);
    free(recording->node);
    free(recording->save);
    free(recording->turn);
    free(recording->step);
    free(recording->unused);
    free(recording->saved_at);
    free(recording->use);
    for (size_t i = 0; i < recording->n_maybes; i++)
        free(recording->maybe[i]);
    free(recording->maybe);
    mt_address_map_clear(&recording->nodes);
    mt_address_map_clear(&recording->saved);
    memset(recording, 0, sizeof *recording);
}

struct mt_recorded_block *mt_recorded_at(const struct mt_recording *recording, uint64_t event)
{
    struct mt_recorded_block key = {.begin = event};
    return event && recording->n
               ? bsearch(&key, recording->block, recording->n, sizeof key, by_begin)
               : NULL;
}

const struct mt_recorded_block *mt_node_saved(const struct mt_recording *recording,
                                              const struct mt_recorded_node *node, uint32_t place)
{
    const uint64_t *save = recording->save + node->first_save;
    bool is_product =
        node->name && strstr(mt_string(recording->definitions, node->name), "MulBack");
    for (uint32_t i = 0; i < place && !is_product; i++)
        if (save[i] == save[place])
            return NULL;
    return mt_recorded_at(recording, save[place]);
}

const char *mt_recorded_module(const struct mt_recording *recording, uint32_t frame)
{
    const struct mt_frame *call = frame ? mt_frame(recording->definitions, frame) : NULL;
    return call && call->path ? call->path : "";
}

const struct mt_turn *mt_turn_after(const struct mt_recording *recording, uint64_t event)
{
    size_t low = MT_LEADING(i, recording->n_turns, recording->turn[i].event <= event);
    return low < recording->n_turns ? &recording->turn[low] : NULL;
}

bool mt_is_kept(const struct mt_recording *recording, const struct mt_recorded_block *block)
{
    uint64_t last =
        recording->n_steps ? recording->step[recording->n_steps - 1].end - 1 : recording->events;
    return block->begin <= last && block->end > last;
}

bool mt_is_trained(const struct mt_recorded_block *block)
{
    return block->category == MT_CATEGORY_PARAMETERS &&
           (block->evidence & (MT_SAW_LEAF | MT_SAW_STEPPED));
}

unsigned mt_recorded_width(const struct mt_recorded_block *block)
{
    unsigned bits = mt_dtype_bits(block->dtype);
    return bits >= 8 ? bits / 8 : 4;
}

uint64_t mt_recorded_elements(const struct mt_recorded_block *block)
{
    uint64_t most = block->size / mt_recorded_width(block);
    return block->elements && block->elements <= most ? block->elements : most;
}
