/* SPDX-License-Identifier: Apache-2.0 */
/* When each block was first and last used, by its record in the heap (FORMAT.md, `uses`). */
#ifndef MT_USES_H
#define MT_USES_H

#include "analyzer/model/heap.h"
#include "trace-format/model.h"

/* A use: 0 ns: there is none, or it is not known. */
struct mt_use_point {
    uint64_t time_ns;
    uint32_t stack, name; /* name: string id of the kernel's mangled name; 0: unknown, or a copy */
    bool in_backward;
};

struct mt_block_uses {
    uint64_t made;     /* the block's allocation (mt_block_event), plus 1; 0: nothing is known */
    uint64_t known_ns; /* the uses are complete up to then */
    struct mt_use_point first, last;
    struct mt_use_point before, after; /* the longest time between two uses, if it is known */
    bool is_never, only_written;
    bool is_passed; /* a copy put the address into CUDA's memory: other uses are not seen */
};

/* Of all blocks of a heap; initialize with zeros. */
struct mt_uses_of {
    struct mt_block_uses *of; /* by record */
    size_t capacity;
};

void mt_uses_clear(struct mt_uses_of *uses);

/* Process a `uses` of a block that begins at the event's address, in PyTorch's heap or CUDA's. At
 * the end of a trace both may have a block there: PyTorch's comes first. 0 or -ENOMEM. */
int mt_uses_event(struct mt_uses_of *torch, const struct mt_heap *torch_heap,
                  struct mt_uses_of *cuda, const struct mt_heap *cuda_heap,
                  const struct mt_event *event);

/* Return what is known of a block's uses; NULL: nothing. */
const struct mt_block_uses *mt_uses_find(const struct mt_uses_of *uses, const struct mt_heap *heap,
                                         const struct mt_block *block);

/* Return whether all uses of a block up to its end are known. end_ns: UINT64_MAX: it is live at the
 * end of the trace, which is_killed, as a process that ended before it could write them. */
static inline bool mt_uses_are_complete(const struct mt_block_uses *uses, uint64_t end_ns,
                                        bool is_killed)
{
    return uses && !uses->is_passed &&
           (end_ns == UINT64_MAX ? !is_killed : uses->known_ns == end_ns);
}

#endif
