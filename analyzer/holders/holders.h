/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lists of holders of a trace (FORMAT.md, `holder` and `holders`), and the holders of a block.
 * A list is read some time after its moment: it is of the blocks that were live then.
 */
#ifndef MT_HOLDERS_H
#define MT_HOLDERS_H

#include "analyzer/model/heap.h"
#include "analyzer/support/grow.h"
#include "trace-format/model.h"

#define MT_HOLDER_LISTS 16u /* kept of a trace */
#define MT_HELD_MOST 64u    /* paths kept of a block */

struct mt_holder {
    uint64_t address, view;
    uint32_t path; /* string id */
    uint32_t root; /* enum mt_holder_root, or a later version's */
    size_t order;  /* in its list: the shortest path of an address comes first */
};

struct mt_holder_list {
    uint64_t time_ns;         /* its moment */
    uint64_t objects;         /* visited */
    uint64_t moment;          /* enum mt_holders_moment, or a later version's */
    uint64_t result;          /* enum mt_holders_result, likewise */
    struct mt_holder *holder; /* by address once the list is complete */
    size_t n, capacity;
};

/* When blocks ended that are remembered after their end: ns, by record of their heap. */
struct mt_holder_ends {
    uint64_t *ns;
    size_t capacity;
};

struct mt_holders {
    struct mt_holder_list list[MT_HOLDER_LISTS]; /* by time */
    unsigned n;
    uint64_t n_ever;            /* lists in the trace so far */
    struct mt_holder_list open; /* being read */
    struct mt_holder_ends of_blocks, of_cuda;
};

/* Add a `holder`; end the list with a `holders`. is_over: the moment in question has passed, so
 * that the lists that there are stay where there is no room for more; else the first one goes. 0 or
 * -ENOMEM. */
int mt_holders_add(struct mt_holders *holders, const struct mt_event *event);
int mt_holders_end(struct mt_holders *holders, const struct mt_event *event, bool is_over);
void mt_holders_clear(struct mt_holders *holders);

/* Note the end of a block that is remembered. 0 or -ENOMEM. */
static inline int mt_ends_note(struct mt_holder_ends *ends, uint32_t index, uint64_t now_ns)
{
    if (mt_grow(&ends->ns, &ends->capacity, (size_t)index + 1, sizeof *ends->ns))
        return -ENOMEM;
    ends->ns[index] = now_ns;
    return 0;
}

/* Return when a block of a record ended: ns; UINT64_MAX: it is live. */
static inline uint64_t mt_holder_end_of(const struct mt_holder_ends *ends,
                                        const struct mt_block *block, uint32_t index)
{
    return block->state == MT_BLOCK_LIVE ? UINT64_MAX
           : index < ends->capacity      ? ends->ns[index]
                                         : 0;
}

/* What holds a block, in one list. */
struct mt_block_held {
    const struct mt_holder_list *list; /* NULL: not in any list */
    const struct mt_holder *by;        /* the shortest path first */
    size_t n;                          /* at most MT_HELD_MOST */
};

/* Return the holders of a block that was live at a time, by the list nearest to that time that has
 * them. index: the block's record; ends: its heap's. */
struct mt_block_held mt_holders_of(const struct mt_holders *holders,
                                   const struct mt_holder_ends *ends, const struct mt_block *block,
                                   uint32_t index, uint64_t time_ns);

#endif
