/* SPDX-License-Identifier: Apache-2.0 */
#include "lives.h"
#include "analyzer/classify/modules.h"
#include "analyzer/replay/replay.h"
#include "analyzer/support/grow.h"
#include "analyzer/support/search.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Append a life; NULL: no memory. */
static struct mt_life *add(struct mt_lives *lives)
{
    if (lives->n == lives->n_pieces * MT_LIFE_PIECE) {
        if (MT_GROW(lives->piece, lives->pieces_capacity, lives->n_pieces))
            return NULL;
        lives->piece[lives->n_pieces] = malloc(MT_LIFE_PIECE * sizeof **lives->piece);
        if (!lives->piece[lives->n_pieces])
            return NULL;
        lives->n_pieces++;
    }
    return mt_life(lives, lives->n++);
}

/* Note the uses of the newest life. */
static int note_uses(struct mt_lives *lives, const struct mt_replay *replay,
                     const struct mt_block *block, enum mt_category category)
{
    if (!replay->uses_of_blocks.capacity && !replay->uses_of_cuda.capacity)
        return 0;
    bool is_of_cuda = mt_replay_is_of_cuda(replay, mt_device_slot(block->device));
    const struct mt_block_uses *uses =
        is_of_cuda ? mt_uses_find(&replay->uses_of_cuda, &replay->cuda.heap, block)
                   : mt_uses_find(&replay->uses_of_blocks, &replay->blocks, block);
    return uses ? MT_APPEND(lives->uses, lives->uses_capacity, lives->n_uses,
                            (struct mt_life_uses){
                                .life = (uint32_t)lives->n - 1,
                                .of = *uses,
                                .is_judged = mt_unneeded_is_judged(category, block->evidence)})
                : 0;
}

static void ended(void *data, const struct mt_replay *replay, const struct mt_block *block,
                  const struct mt_rule *rule, bool at_end)
{
    struct mt_lives *lives = data;
    struct mt_life *life = add(lives);
    if (!life) {
        lives->has_no_memory = true;
        return;
    }
    *life = (struct mt_life){
        .size = block->size,
        .address = block->address,
        .born_ns = mt_block_time(block),
        .ended_ns = replay->time_ns,
        .born = (uint32_t)mt_block_event(block), /* event numbers until mt_lives_order */
        .ended = at_end ? MT_LIFE_GOES_ON : (uint32_t)replay->events,
        .stack = block->stack,
        .forward_stack = block->forward_stack,
        .node_name = block->node_name,
        .name = block->name,
        .module = mt_block_module(replay->definitions, &(struct mt_verdict){block, rule}),
        .category = (uint8_t)rule->category,
        .group = (uint8_t)rule->category,
        .dtype = block->dtype,
        .phase = block->birth->when.phase,
        .slot = (uint8_t)mt_device_slot(block->device),
        .rule = (uint16_t)mt_rule_index(replay->question.rules, rule),
        .is_of_cuda = mt_replay_is_of_cuda(replay, mt_device_slot(block->device)),
        .is_found = true};
    lives->has_no_memory |= note_uses(lives, replay, block, rule->category) != 0;
}

int mt_lives_note(struct mt_lives *lives, const struct mt_replay *replay,
                  const struct mt_event *event)
{
    if (event->kind != MT_ALLOC && event->kind != MT_FREE && event->kind != MT_OOM)
        return 0;
    unsigned slot = mt_device_slot(event->device);
    struct mt_course *course = &lives->course[slot];
    uint64_t bytes = replay->of_torch.now[slot].reserved;
    if (course->n_reserved && course->reserved[course->n_reserved - 1].bytes == bytes)
        return 0;
    return MT_APPEND(course->reserved, course->reserved_capacity, course->n_reserved,
                     (struct mt_reserved){.event = (uint32_t)replay->events, .bytes = bytes});
}

void mt_lives_query(struct mt_lives *lives, struct mt_question *question)
{
    lives->ended = (struct mt_life_watcher){.ended = ended, .data = lives};
    question->lives = &lives->ended;
}

static int make_course(struct mt_course *course, size_t moments)
{
    course->what = malloc((moments + 1) * sizeof *course->what);
    course->event = malloc((moments + 1) * sizeof *course->event);
    course->n_chunks = (moments + MT_CHUNK_MOMENTS - 1) / MT_CHUNK_MOMENTS;
    course->chunk = malloc((course->n_chunks + 1) * sizeof *course->chunk);
    return course->what && course->event && course->chunk ? 0 : -ENOMEM;
}

static void put_moment(struct mt_lives *lives, uint32_t number, uint64_t event, bool is_end)
{
    struct mt_life *life = mt_life(lives, number);
    struct mt_course *course = &lives->course[life->slot];
    *(is_end ? &life->ended : &life->born) = (uint32_t)course->n;
    course->event[course->n] = (uint32_t)event;
    course->what[course->n++] = number << 1 | is_end;
}

/* Put the moments of lives, which are in the order of their ends. If an event ends one life and
 * begins another, put the end first: both have the same address. */
static void put_moments(struct mt_lives *lives, const uint32_t *begins, uint64_t events)
{
    size_t next = 0;
    for (uint64_t event = 0; event <= events; event++) {
        for (; next < lives->n && mt_life(lives, next)->ended == event; next++)
            put_moment(lives, (uint32_t)next, event, true);
        if (begins[event])
            put_moment(lives, begins[event] - 1, event, false);
    }
}

static void place_reserved(struct mt_course *course)
{
    for (size_t i = 0; i < course->n_reserved; i++) {
        struct mt_reserved *change = &course->reserved[i];
        size_t moment = mt_moment_at_event(course, change->event);
        /* before a request failed, PyTorch gave back what it could: the state after the moment
         * before it */
        if (moment && (moment == course->n || course->event[moment] != change->event))
            moment--;
        change->moment = (uint32_t)moment;
    }
}

/* Leave out blocks that CUDA handed out before PyTorch used the device: they are not PyTorch's. */
static void leave_out_cuda(struct mt_lives *lives, const struct mt_replay *replay)
{
    size_t n = 0, n_uses = 0, next = 0;
    for (size_t i = 0; i < lives->n; i++) {
        bool has_uses = next < lives->n_uses && lives->uses[next].life == i;
        next += has_uses;
        if (mt_life(lives, i)->is_of_cuda && !mt_replay_is_of_cuda(replay, mt_life(lives, i)->slot))
            continue;
        if (has_uses) {
            lives->uses[n_uses] = lives->uses[next - 1];
            lives->uses[n_uses++].life = (uint32_t)n;
        }
        *mt_life(lives, n++) = *mt_life(lives, i);
    }
    lives->n = n;
    lives->n_uses = n_uses;
}

int mt_lives_order(struct mt_lives *lives, const struct mt_replay *replay)
{
    uint64_t events = replay->events;
    leave_out_cuda(lives, replay);
    uint32_t *begins = calloc(events + 1, sizeof *begins); /* the life's number + 1, by event */
    size_t moments[MT_DEVICES] = {0};
    int rc = begins && !lives->has_no_memory ? 0 : -ENOMEM;
    for (size_t i = 0; i < lives->n && !rc; i++) {
        const struct mt_life *life = mt_life(lives, i);
        begins[life->born] = (uint32_t)i + 1;
        moments[life->slot] += life->ended == MT_LIFE_GOES_ON ? 1 : 2;
    }
    for (unsigned slot = 0; slot < MT_DEVICES && !rc; slot++)
        rc = make_course(&lives->course[slot], moments[slot]);
    if (!rc)
        put_moments(lives, begins, events);
    free(begins);
    for (unsigned slot = 0; slot < MT_DEVICES; slot++)
        place_reserved(&lives->course[slot]);
    return rc;
}

static void sum_chunk(const struct mt_lives *lives, const struct mt_course *course, size_t number,
                      struct mt_chunk *now)
{
    size_t from = number * MT_CHUNK_MOMENTS, to = from + MT_CHUNK_MOMENTS;
    struct mt_chunk *chunk = &course->chunk[number];
    *chunk = *now;
    chunk->most = 0;
    chunk->least = UINT64_MAX;
    for (size_t i = from; i < to && i < course->n; i++) {
        const struct mt_life *life = mt_life_at(lives, course, i);
        uint64_t change = mt_is_end(course, i) ? -life->size : life->size;
        now->group[life->group] += change;
        now->total += change;
        if (i == from || now->total > chunk->most) {
            chunk->most = now->total;
            chunk->most_at = (uint32_t)i;
        }
        if (now->total < chunk->least)
            chunk->least = now->total;
    }
}

void mt_lives_sum(struct mt_lives *lives)
{
    for (unsigned slot = 0; slot < MT_DEVICES; slot++) {
        struct mt_chunk now = {0};
        for (size_t i = 0; i < lives->course[slot].n_chunks; i++)
            sum_chunk(lives, &lives->course[slot], i, &now);
    }
}

const struct mt_life_uses *mt_life_uses(const struct mt_lives *lives, const struct mt_life *life)
{
    uint32_t number = mt_life_number(lives, life);
    size_t at = MT_LEADING(i, lives->n_uses, lives->uses[i].life < number);
    return at < lives->n_uses && lives->uses[at].life == number ? &lives->uses[at] : NULL;
}

struct mt_life *mt_life_of_block(const struct mt_lives *lives, const struct mt_block *block)
{
    const struct mt_course *course = &lives->course[mt_device_slot(block->device)];
    size_t at = mt_moment_at_event(course, mt_block_event(block));
    /* an event that ends one block and begins another has two moments */
    while (at < course->n && course->event[at] == mt_block_event(block) && mt_is_end(course, at))
        at++;
    if (at == course->n || course->event[at] != mt_block_event(block))
        return NULL;
    struct mt_life *life = mt_life(lives, course->what[at] >> 1);
    return life->address == block->address ? life : NULL;
}

void mt_lives_set_verdicts(struct mt_lives *lives, const struct mt_analysis *analysis)
{
    for (size_t i = 0; i < analysis->n_devices; i++) {
        const struct mt_device *device = &analysis->devices[i];
        for (size_t v = 0; v < device->n_verdicts; v++) {
            const struct mt_verdict *verdict = &device->verdicts[v];
            struct mt_life *life = mt_life_of_block(lives, verdict->block);
            if (!life)
                continue;
            life->category = life->group = (uint8_t)verdict->rule->category;
            life->rule = (uint16_t)mt_rule_index(analysis->replay.question.rules, verdict->rule);
            life->module = mt_block_module(analysis->replay.definitions, verdict);
        }
    }
}

void mt_lives_clear(struct mt_lives *lives)
{
    for (unsigned slot = 0; slot < MT_DEVICES; slot++) {
        struct mt_course *course = &lives->course[slot];
        free(course->what);
        free(course->event);
        free(course->chunk);
        free(course->reserved);
    }
    for (size_t i = 0; i < lives->n_pieces; i++)
        free(lives->piece[i]);
    free(lives->uses);
    free(lives->piece);
    memset(lives, 0, sizeof *lives);
}

/* A value searched in a course, in the order of its moments. */
struct search {
    const struct mt_lives *lives;
    const struct mt_course *course;
    uint64_t value;
};

/* Return the first index for which `holds` is false; n: none. */
static size_t first_not(size_t n, bool (*holds)(const struct search *, size_t),
                        const struct search *search)
{
    return MT_LEADING(i, n, holds(search, i));
}

static bool is_before_ns(const struct search *search, size_t moment)
{
    return mt_moment_ns(search->lives, search->course, moment) < search->value;
}

static bool is_before_event(const struct search *search, size_t moment)
{
    return search->course->event[moment] < search->value;
}

static bool is_reserved_by(const struct search *search, size_t change)
{
    return search->course->reserved[change].moment <= search->value;
}

size_t mt_moment_at_ns(const struct mt_lives *lives, const struct mt_course *course, uint64_t ns)
{
    return first_not(course->n, is_before_ns, &(struct search){lives, course, ns});
}

size_t mt_moment_at_event(const struct mt_course *course, uint64_t event)
{
    return first_not(course->n, is_before_event, &(struct search){NULL, course, event});
}

const struct mt_reserved *mt_reserved_at(const struct mt_course *course, size_t moment)
{
    static const struct mt_reserved none = {0};
    size_t next =
        first_not(course->n_reserved, is_reserved_by, &(struct search){NULL, course, moment});
    return next ? &course->reserved[next - 1] : &none;
}
