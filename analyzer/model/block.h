/* SPDX-License-Identifier: Apache-2.0 */
/* One block of memory: its place, what is known of it, and its copy. */
#ifndef MT_BLOCK_H
#define MT_BLOCK_H

#include "birth.h"
#include "trace-format/cuda-apis.h"
#include "trace-format/dtypes.h"
#include "trace-format/model.h"

/* Tables by device: slot 0 is unknown, 1 is device 0 and so on; devices beyond the last slot use
 * slot 0. */
#ifndef MT_DEVICES /* tools/fuzz has few: these tables are most of a small trace's time */
#define MT_DEVICES 65u
#endif

static inline unsigned mt_device_slot(int device)
{
    return device >= 0 && device + 1 < (int)MT_DEVICES ? (unsigned)device + 1 : 0;
}

/* Known facts about a block besides its place, each once: E(enumerator, text). The rules read
 * MT_SAW_...; memtap explain prints each text that is not empty, in this order. */
/* clang-format off */
#define MT_EVIDENCE(E)                                                                             \
    E(PARAMETER, "wrapped in nn.Parameter")                                                        \
    E(BUFFER, "wrapped in nn.Buffer")                                                              \
    E(SET_DATA, "assigned to a tensor's .data")                                                          \
    E(NEEDS_GRAD, "requires_grad was set")                                                         \
    E(LEAF, "leaf of an autograd graph: gradients accumulate for it")                              \
    E(LEAF_AGAIN, "leaf of several autograd graphs")                                               \
    E(LEAF_HOOK, "freed by a hook that ran after a leaf received its gradient")                    \
    E(STATE, "in an optimizer's state")                                                            \
    E(MODULES_BUFFER, "one of a module's buffers")                                                  \
    E(MODULES_PARAMETER, "one of a module's parameters")                                            \
    E(ATTRIBUTE, "kept as an attribute by a module or one of its parameters")                      \
    E(ATTRIBUTE_LATER, "still kept there in later iterations")                                 \
    E(OF_CACHE, "part of a key-value cache")                                                   \
    E(ROOM, "its creator reports how many tokens fit in it")                                      \
    E(STEPPED, "updated by an optimizer")                                                          \
    E(WORKSPACE, "passed to cuBLAS, cuDNN or a similar library")                                   \
    E(LEAF_OF_GRAPH, "output of a graph, detached to start another")                               \
    E(GRADIENT, "kept as a leaf's gradient")                                                       \
    E(GRAPH_OUTPUT, "output of an autograd operator (has a grad_fn)")                              \
    E(SAVED, "saved for backward")                                                                 \
    E(SAVED_LATER, "saved for backward in a later forward")                           \
    E(EMPTIED, "its storage is freed and refilled repeatedly")                                  \
    E(STEP_SURVIVED, "allocated in an optimizer step, outlived it")                                    \
    E(STEP_DIED, "allocated and freed in an optimizer step")                                \
    E(LATER_STEP, "outlived an optimizer step")                                       \
    E(AUTOCAST, "freed when autocast dropped its cached copies of parameters")                     \
    E(SEGMENT, "segment that PyTorch's allocator reserved from CUDA")                                         \
    E(END, "") /* it was freed, else the trace ends first: told with its life */
/* clang-format on */

enum {
#define MT_EVIDENCE_BIT(id, text) MT_EVIDENCE_##id,
    MT_EVIDENCE(MT_EVIDENCE_BIT)
#undef MT_EVIDENCE_BIT
        MT_EVIDENCE_COUNT
};
_Static_assert(MT_EVIDENCE_COUNT <= 31, "masks are ints; a block's elements have 33 bits or more");

enum mt_evidence {
#define MT_EVIDENCE_MASK(id, text) MT_SAW_##id = 1 << MT_EVIDENCE_##id,
    MT_EVIDENCE(MT_EVIDENCE_MASK)
#undef MT_EVIDENCE_MASK
};

/*
 * A block, in few bytes: there may be millions. Data shared with other blocks is in its birth.
 * mt_block_time, mt_block_event and mt_block_ended read values that are stored as a distance or a
 * place.
 */
struct mt_block {
    uint64_t address, size;
    struct mt_birth *birth;
    uint32_t since, nth;    /* ns and events after its birth's first */
    uint32_t stack;         /* of the allocation */
    uint32_t save_stack;    /* of the first save */
    uint32_t leaf_stack;    /* a leaf's: its first use in forward; others': their leaf's */
    uint32_t node_name;     /* string id: the running backward node; 0: none */
    uint32_t forward_stack; /* where this node was made */
    uint32_t range;         /* the path of ranges of its allocation (ranges.h); 0: none */
    uint32_t name;          /* string id: the program's name for it; 0: none */
    uint32_t ended;         /* place of its end, or of the trace's; 0: not yet */
    union {
        uint32_t moment; /* live: moments remembered on its device before it was made */
        uint32_t next;   /* in the list of free or kept records */
    };
    int16_t device;
    uint16_t api : 8;   /* CUDA's level: enum mt_cuda_api */
    uint16_t dtype : 6; /* of a tensor in it, by its first label with one; 0: unknown */
    uint16_t state : 2; /* enum mt_block_state */
    uint64_t evidence : MT_EVIDENCE_COUNT; /* enum mt_evidence */
    /* mt_block_elements; with MT_SAW_ROOM its room (rooms.h) */
    uint64_t number : 64 - MT_EVIDENCE_COUNT;
};

_Static_assert(sizeof(struct mt_block) <= 80, "a live block is to cost less than 96 bytes in all");
_Static_assert(MT_DTYPE_LIMIT <= 1 << 6 && MT_API_LIMIT <= 1 << 8, "these have places");

#define MT_BLOCK_ELEMENTS (UINT64_C(1) << (64 - MT_EVIDENCE_COUNT)) /* no parameter has as many */

enum mt_block_state { MT_BLOCK_UNUSED, MT_BLOCK_LIVE, MT_BLOCK_KEPT };

/* Return the number of elements of the largest labelled parameter in it; 0: unknown. */
static inline uint64_t mt_block_elements(const struct mt_block *block)
{
    return block->evidence & MT_SAW_ROOM ? 0 : block->number;
}

static inline uint64_t mt_block_time(const struct mt_block *block)
{
    return block->birth->time_ns + block->since;
}

/* Return its allocation's number in the trace, from 1; 0: unknown. */
static inline uint64_t mt_block_event(const struct mt_block *block)
{
    return block->birth->event + block->nth;
}

/* Return its end, or the trace's; zeros: not yet. */
static inline const struct mt_when *mt_block_ended(const struct mt_block *block)
{
    return &block->birth->deaths->death[block->ended].when;
}

/* A block that outlives its record. */
struct mt_block_copy {
    struct mt_block block;
    struct mt_birth birth;
    struct mt_deaths deaths;
    struct mt_death death[2];
};
void mt_block_copy(struct mt_block_copy *copy, const struct mt_block *block);

#endif
