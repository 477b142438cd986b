/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every block of a trace, from its allocation to its end, and each device's moments in order: a
 * moment is an allocation or a free. All views of the page are made of these, so that any range can
 * be drawn exactly.
 */
#ifndef MT_PAGE_LIVES_H
#define MT_PAGE_LIVES_H

#include "analyzer/findings/analysis.h"

#include <stdbool.h>

#define MT_LIFE_GOES_ON UINT32_MAX /* the trace ends before the block */

struct mt_life {
    uint64_t size, address;     /* bytes */
    uint64_t born_ns, ended_ns; /* since the recording began */
    uint32_t born, ended;       /* moments of its device, from 0; or MT_LIFE_GOES_ON */
    uint32_t stack, forward_stack, node_name, name; /* as in mt_block */
    uint32_t module;                                /* mt_block_module */
    uint8_t category, dtype, phase, slot;
    uint8_t group;   /* its group in the timeline: groups.h */
    uint16_t rule;   /* mt_rule_index */
    bool is_of_cuda; /* handed out by CUDA before PyTorch used the device */
    bool is_found;   /* by the search, if there is one: found.h */
};

/* When a life was used, of those that are known. */
struct mt_life_uses {
    uint32_t life;
    struct mt_block_uses of;
    bool is_judged; /* mt_unneeded_is_judged */
};

#define MT_CHUNK_MOMENTS 256u

/* Live bytes before a chunk of moments, and its highest and lowest totals. */
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
    uint32_t *what;  /* by moment: the life's number << 1, plus 1 if the life ends */
    uint32_t *event; /* by moment: the event's number in the trace */
    size_t n;
    struct mt_chunk *chunk;
    size_t n_chunks;
    struct mt_reserved *reserved; /* changes of the reserved bytes */
    size_t n_reserved, reserved_capacity;
};

#ifndef MT_LIFE_PIECE /* tools/fuzz has few */
#define MT_LIFE_PIECE 65536u
#endif

struct mt_lives {
    struct mt_life **piece; /* MT_LIFE_PIECE lives each, so that no life moves as they grow */
    size_t n, n_pieces, pieces_capacity;
    struct mt_life_uses *uses; /* by life */
    size_t n_uses, uses_capacity;
    struct mt_course course[MT_DEVICES]; /* by slot */
    bool has_no_memory;
    struct mt_life_watcher ended;
};

/* Make the question collect lives. They must outlive the replay. The replay's watcher passes every
 * event to mt_lives_note. Return 0 or -ENOMEM. */
void mt_lives_query(struct mt_lives *lives, struct mt_question *question);
int mt_lives_note(struct mt_lives *lives, const struct mt_replay *replay,
                  const struct mt_event *event);

/* Order the moments, after the replay. Return 0 or -ENOMEM. */
int mt_lives_order(struct mt_lives *lives, const struct mt_replay *replay);

/* Give the blocks that are live at the reported moment the report's verdict, which compares blocks.
 * All others keep the verdict from their end. */
void mt_lives_set_verdicts(struct mt_lives *lives, const struct mt_analysis *analysis);

/* Update the totals of all chunks after a change of groups. */
void mt_lives_sum(struct mt_lives *lives);

/* Return the life of a block; NULL: none. */
struct mt_life *mt_life_of_block(const struct mt_lives *lives, const struct mt_block *block);

/* Return what is known of a life's uses; NULL: nothing. */
const struct mt_life_uses *mt_life_uses(const struct mt_lives *lives, const struct mt_life *life);

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

/* Return the number from which a device's lives live on after a moment, if they had begun by then:
 * lives are numbered in the order of their ends. */
static inline uint32_t mt_first_after(const struct mt_course *course, size_t moment)
{
    size_t i = moment < course->n ? moment + 1 : course->n;
    while (i && !mt_is_end(course, i - 1))
        i--;
    return i ? (course->what[i - 1] >> 1) + 1 : 0;
}

/* Return whether a life begins at a moment and is among those. */
static inline bool mt_begins_after(const struct mt_course *course, size_t moment, uint32_t first)
{
    return !mt_is_end(course, moment) && course->what[moment] >> 1 >= first;
}

static inline uint64_t mt_moment_ns(const struct mt_lives *lives, const struct mt_course *course,
                                    size_t moment)
{
    const struct mt_life *life = mt_life_at(lives, course, moment);
    return mt_is_end(course, moment) ? life->ended_ns : life->born_ns;
}

/* Return the first moment not before a time, or not before an event's number. */
size_t mt_moment_at_ns(const struct mt_lives *lives, const struct mt_course *course, uint64_t ns);
size_t mt_moment_at_event(const struct mt_course *course, uint64_t event);

/* Return the last change of the reserved bytes after a moment; of zeros: there was none. */
const struct mt_reserved *mt_reserved_at(const struct mt_course *course, size_t moment);

#endif
