/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every block that a trace tells of, from its allocation to its end, and for each device the moments
 * in order: one is an allocation or a free. All views of the page are made of these, so that any
 * range of them can be drawn exactly.
 */
#ifndef MT_PAGE_LIVES_H
#define MT_PAGE_LIVES_H

#include "analyzer/replay/replay.h"

#include <stdbool.h>

#define MT_LIFE_GOES_ON UINT32_MAX /* the trace ends before the block */

struct mt_life {
    uint64_t size, address;    /* bytes */
    uint64_t born_ns, ended_ns; /* since the recording began */
    uint32_t born, ended;      /* moments of its device, from 0; or MT_LIFE_GOES_ON */
    uint32_t stack, forward_stack, node_name, name; /* as in mt_block */
    uint8_t category, dtype, phase, slot;
    uint8_t group;   /* what it is stacked with: groups.h */
    uint16_t rule;   /* mt_rule_index */
    bool is_of_cuda; /* CUDA handed it out, where PyTorch did not use the device until then */
};

#define MT_CHUNK_MOMENTS 256u

/* What is live before a chunk of moments, and where in it most and least is. */
struct mt_chunk {
    uint64_t group[MT_CATEGORY_COUNT], total; /* bytes */
    uint64_t most, least;
    uint32_t most_at;
};

struct mt_reserved {
    uint32_t event, moment;
    uint64_t bytes;
};

/* One device. */
struct mt_course {
    uint32_t *what;  /* by moment: number of the life << 1, and 1 where it ends */
    uint32_t *event; /* its number in the trace */
    size_t n;
    struct mt_chunk *chunk;
    size_t n_chunks;
    struct mt_reserved *reserved; /* its changes */
    size_t n_reserved, reserved_capacity;
};

#define MT_LIFE_PIECE 65536u

struct mt_lives {
    struct mt_life **piece; /* of MT_LIFE_PIECE lives each, so that none is moved as they grow */
    size_t n, n_pieces, pieces_capacity;
    struct mt_course course[MT_DEVICES]; /* by slot */
    bool has_no_memory;
    struct mt_life_watcher ended;
};

/* Makes the question gather lives, which live longer than the replay. What watches the replay hands
 * every event on to mt_lives_see: 0 or -ENOMEM. */
void mt_lives_ask(struct mt_lives *lives, struct mt_question *question);
int mt_lives_see(struct mt_lives *lives, const struct mt_replay *replay,
                 const struct mt_event *event);

/* After the replay. 0 or -ENOMEM. */
int mt_lives_order(struct mt_lives *lives, const struct mt_replay *replay);

/* What is totalled by moment, after groups were changed. */
void mt_lives_sum(struct mt_lives *lives);

void mt_lives_clear(struct mt_lives *lives);

static inline struct mt_life *mt_life(const struct mt_lives *lives, size_t number)
{
    return &lives->piece[number / MT_LIFE_PIECE][number % MT_LIFE_PIECE];
}

static inline const struct mt_life *mt_life_at(const struct mt_lives *lives,
                                               const struct mt_course *course, size_t moment)
{
    return mt_life(lives, course->what[moment] >> 1);
}

static inline uint32_t mt_life_number(const struct mt_lives *lives, const struct mt_life *life)
{
    return lives->course[life->slot].what[life->born] >> 1;
}

static inline bool mt_is_end(const struct mt_course *course, size_t moment)
{
    return course->what[moment] & 1;
}

static inline uint64_t mt_moment_ns(const struct mt_lives *lives, const struct mt_course *course,
                                    size_t moment)
{
    const struct mt_life *life = mt_life_at(lives, course, moment);
    return mt_is_end(course, moment) ? life->ended_ns : life->born_ns;
}

/* The first moment that is not before a time; of all events, not before a number. */
size_t mt_moment_at_ns(const struct mt_lives *lives, const struct mt_course *course, uint64_t ns);
size_t mt_moment_at_event(const struct mt_course *course, uint64_t event);

/* What is reserved after a moment, bytes. */
uint64_t mt_reserved_at(const struct mt_course *course, size_t moment);

#endif
