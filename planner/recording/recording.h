/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every block that PyTorch's allocator handed out on one device, with what is known of it, and what
 * the program was doing meanwhile. Modelled changes are made of it. Filled while a trace is
 * replayed:
 *
 *     struct mt_recording recording = {0};
 *     mt_recording_watch(&recording, &question);
 *     mt_analysis_create(&analysis, path, &question);
 *     mt_recording_finish(&recording, &analysis.replay, device);
 *     ...
 *     mt_recording_clear(&recording);
 *
 * Its memory grows with the events. It belongs to one thread at a time.
 */
#ifndef MT_RECORDING_H
#define MT_RECORDING_H

#include <stdbool.h>

#include "analyzer/replay/replay.h"

#define MT_EVER UINT64_MAX

struct mt_recorded_block {
    uint64_t begin, end; /* numbers of events; MT_EVER: it outlives the trace */
    uint64_t size;       /* bytes */
    uint64_t elements;   /* of its parameter; 0: not known */
    uint64_t unused;     /* unrequested bytes: PyTorch did not split off the rest */
    uint64_t saved;      /* the last event in forward that saved it; 0: none */
    uint64_t search;     /* the event that emptied the cache after cuDNN had searched in it for the
                          * fastest algorithm; 0: it is not such a workspace */
    uint32_t module;     /* frame of the torch.nn module that it belongs to; 0: not known */
    uint32_t maker;      /* frame of the module at work when it was made; 0: none */
    uint32_t stack;      /* that it was made with; 0: not known */
    uint32_t line;       /* the stack of its line (mt_line_stack); 0: not known */
    uint32_t output_of;  /* string id: type of the node whose output it is; 0: none */
    uint32_t made_in;    /* string id: the backward node that ran when it was made; 0: none */
    uint32_t step;       /* the optimizer's step that it was made in; 0: none */
    uint32_t evidence;   /* enum mt_evidence */
    int16_t device;
    uint8_t category, phase, dtype;
    bool is_addend;  /* it ended when it was added to a leaf's gradient */
    bool was_caught; /* the request ran out of memory, and the program went on
                      * (planner/rest/cut.h) */
    bool is_master;  /* a copy of a parameter, in higher precision */
};

/* A backward node: from forward, which made it. */
struct mt_recorded_node {
    uint64_t output;              /* event that made the block of its output; 0: not known */
    uint64_t made;                /* event */
    uint64_t begin, end;          /* events of its run in backward; 0: it did not run */
    uint32_t name;                /* string id */
    uint32_t module;              /* frame of the module that made it; 0: none */
    uint32_t first_save, n_saves; /* places in recording->save */
    bool is_running;              /* while the recording is made */
};

/* From here on the program is at work for that module, in that phase. */
struct mt_turn {
    uint64_t event;
    uint32_t module; /* a frame; 0: none */
    uint8_t phase;   /* enum mt_phase */
};

/* Unrequested bytes of the block that the event allocated. */
struct mt_recorded_unused {
    uint64_t event, bytes;
};

/* A workspace that was freed last, which cuDNN may have searched in. */
struct mt_recorded_search {
    size_t block; /* place + 1; 0: none */
    uint32_t thread, stack;
    bool gives_back; /* the same line has returned memory to CUDA since */
};

struct mt_recorded_step {
    uint64_t begin, end; /* events */
};

/* A use of a block by a kernel, copy or fill. */
struct mt_recorded_use {
    uint64_t ns;    /* 0: there is none, or it is not known */
    uint64_t event; /* the last allocation or free of a used block before it */
    uint32_t stack;
    bool in_backward;
};

/* When a block was used, where the trace has uses. */
struct mt_recorded_uses {
    uint64_t begin, end, begin_ns, end_ns; /* of the block */
    bool is_known;                         /* no other use is possible in the recorded run */
    bool is_read;                          /* else copies and fills write it at most */
    struct mt_recorded_use first, last, before, after; /* around its longest pause */
};

struct mt_recording {
    const struct mt_definitions *definitions; /* the replay's */
    int device;
    uint64_t unseen;                 /* bytes that were allocated before the recording began */
    uint64_t streams;                /* of CUDA, at its end */
    uint64_t events;                 /* in the trace */
    struct mt_recorded_block *block; /* after mt_recording_finish in the order of their begin */
    size_t n, capacity;
    struct mt_recorded_node *node;
    size_t n_nodes, nodes_capacity;
    uint64_t *save; /* the event that made the block, by node; 0: not known */
    size_t n_saves, saves_capacity;
    size_t unclaimed; /* saves up to here belong to nodes */
    struct mt_turn *turn;
    size_t n_turns, turns_capacity;
    struct mt_recorded_step *step;
    size_t n_steps, steps_capacity;
    struct mt_recorded_unused *unused;
    size_t n_unused, unuseds_capacity;
    struct mt_recorded_uses *use; /* after mt_recording_finish in the order of begin */
    size_t n_uses, uses_capacity;
    uint32_t caller;   /* the thread that called a module last, plus 1; 0: none has */
    bool several_call; /* other threads did, too */
    bool is_short;     /* the run ended early, before any optimizer step: more would have come */
    uint64_t cut;      /* event at which the run was cut; MT_EVER: it was not */
    uint64_t quiet_ns; /* then: what is live at the cut, and was used later, may be used again */
    struct mt_address_map nodes; /* address -> 1 + place, those that live */
    struct mt_address_map saved; /* address of a block -> its last save's place in saved_at */
    struct mt_recorded_search search;
    uint64_t *saved_at;
    size_t n_saved, saved_ats_capacity;
    struct mt_block_copy **maybe; /* parameters, and what may be copies of them */
    size_t n_maybes, maybes_capacity;
    struct mt_watcher watcher;
    struct mt_life_watcher lives;
    int rc; /* -ENOMEM: the recording lacks blocks */
};

/* Ask the question's replay to fill in the recording, which is zeros and stays where it is. */
void mt_recording_watch(struct mt_recording *recording, struct mt_question *question);

/* Keep what is of that device. 0 or -ENOMEM. */
int mt_recording_finish(struct mt_recording *recording, const struct mt_replay *replay, int device);
/* Sort the blocks after some were added. */
void mt_recording_sort(struct mt_recording *recording);
void mt_recording_clear(struct mt_recording *recording);

/* Return the block that the event made; NULL: none. */
struct mt_recorded_block *mt_recorded_at(const struct mt_recording *recording, uint64_t event);

/* Return the recorded uses of a block; NULL: none are recorded. */
const struct mt_recorded_uses *mt_recorded_uses_of(const struct mt_recording *recording,
                                                   const struct mt_recorded_block *block);

/* Return the block that the node's save at a place made; NULL: not known. */
static inline const struct mt_recorded_block *mt_node_save(const struct mt_recording *recording,
                                                           const struct mt_recorded_node *node,
                                                           uint32_t place)
{
    return mt_recorded_at(recording, recording->save[node->first_save + place]);
}

/* Return the same, but NULL also if the node saved it before: views of one block are parts of it,
 * and count once (products may save a factor twice). */
const struct mt_recorded_block *mt_node_saved(const struct mt_recording *recording,
                                              const struct mt_recorded_node *node, uint32_t place);

/* Return the name of a module by its frame: "layers.3.mlp"; "": none. */
const char *mt_recorded_module(const struct mt_recording *recording, uint32_t frame);

/* Return the first turn after the event; NULL: there is none. */
const struct mt_turn *mt_turn_after(const struct mt_recording *recording, uint64_t event);

/* Return the end of the turns; NULL where there is no turn. */
static inline const struct mt_turn *mt_turns_end(const struct mt_recording *recording)
{
    return recording->turn ? recording->turn + recording->n_turns : NULL;
}

/* Return the requested bytes, up to their rounding to 512. */
static inline uint64_t mt_requested_bytes(const struct mt_recorded_block *block)
{
    return block->size - block->unused;
}

/* Return whether it is part of a cache of keys and values; whether there is one. */
static inline bool mt_is_of_cache(const struct mt_recorded_block *block)
{
    return block->category == MT_CATEGORY_KV_CACHE;
}

static inline bool mt_has_cache(const struct mt_recording *recording)
{
    size_t i = 0;
    while (i < recording->n && !mt_is_of_cache(&recording->block[i]))
        i++;
    return i < recording->n;
}

/* Return whether it was there at the end of the last optimizer's step; without steps, of the trace.
 */
bool mt_is_kept(const struct mt_recording *recording, const struct mt_recorded_block *block);

/* Return whether it is a parameter that is trained; bytes of one of its elements, 4 where not
 * known. */
bool mt_is_trained(const struct mt_recorded_block *block);
unsigned mt_recorded_width(const struct mt_recorded_block *block);

/* Return the elements that a parameter has, or at most so many. */
uint64_t mt_recorded_elements(const struct mt_recorded_block *block);

/* Return what a tensor of so many bytes takes: PyTorch rounds blocks. */
static inline uint64_t mt_block_of(uint64_t bytes)
{
    return (bytes + 511) & ~UINT64_C(511);
}

static inline uint64_t mt_scaled(uint64_t bytes, double factor)
{
    return mt_block_of((uint64_t)((double)bytes * factor));
}

#endif
