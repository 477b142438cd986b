/* SPDX-License-Identifier: Apache-2.0 */
/* What PyTorch's allocator reserves: its segments among CUDA's allocations. */
#ifndef MT_REPLAY_SEGMENTS_H
#define MT_REPLAY_SEGMENTS_H

#include "analyzer/model/heap.h"
#include "analyzer/model/stream-pools.h"
#include "analyzer/support/address-map.h"

struct mt_replay;

/* Where what was free lay when PyTorch requested more from CUDA although as many bytes were free.
 */
enum mt_free_kind {
    MT_FREE_PIECES, /* on the request's stream and pool, between blocks: fragmentation */
    MT_FREE_WHOLE,  /* there, with segments that hold no block, each too small */
    MT_FREE_OTHERS, /* on other streams and in other pools */
    MT_FREE_KINDS,
};

/* Such a case: the one with the most free bytes. */
struct mt_worst {
    uint64_t times; /* it happened; 0: never */
    uint64_t time_ns, event;
    uint64_t wanted, lay_free, reserved; /* before it */
    uint32_t stack, node_name;           /* the line of the request, as in mt_site */
    uint32_t unlabelled;                 /* its stack if backward nodes are unknown */
};

/* Segments that were made while graphs were captured, bytes. */
struct mt_graph_memory {
    uint64_t now, most;
    uint64_t lowest;   /* CUDA's total in a server's last turn of capturing, where it was least */
    uint64_t captured; /* added to it since */
    uint8_t turn;      /* mt_when.turn; 0: none yet */
};

/* Segments that became known as PyTorch's by an event: CUDA's calls, earlier than it. */
struct mt_new_segments {
    struct mt_event *call; /* MT_CUDA_MALLOC, or MT_CUDA_MAP of a piece of an expandable one */
    size_t n, capacity;
    uint64_t event; /* by this one; 0: none yet */
};

/* What PyTorch's allocator reserves (the limit: replay-oom.c). */
struct mt_reserve {
    uint64_t known[MT_DEVICES]; /* bytes of CUDA's allocations with MT_SAW_SEGMENT */
    uint64_t lacks[MT_DEVICES]; /* bytes reserved beyond these: the trace lacks what shows them */
    struct mt_new_segments new;
    bool has_grown;                    /* CUDA gave memory since a block was last made */
    uint16_t api;                      /* plus 1: the call that segments came by; 0: unknown */
    struct mt_totals most[MT_DEVICES]; /* when it was highest */
    uint64_t limit[MT_DEVICES];        /* the most that it may reserve now; 0: the whole card */
    struct mt_graph_memory graphs[MT_DEVICES];
    struct mt_worst worst[MT_FREE_KINDS][MT_DEVICES];
    struct mt_stream_pools pools;
    struct mt_block_requests of_blocks;   /* by records of the heap of PyTorch's blocks, */
    struct mt_block_requests of_segments; /* of CUDA's, */
    struct mt_block_requests of_pieces;   /* and of mapped pieces */
    struct mt_address_map waiting;        /* freed blocks' sizes / 512, by address */
};

/* Return whether CUDA's allocation may be a segment of PyTorch's allocator, by its call and size.
 * MT_SAW_SEGMENT: it is one. */
bool mt_may_be_segment(const struct mt_replay *replay, const struct mt_block *memory);

/* Learn from a total of PyTorch's which of CUDA's allocations are its segments. made: the block of
 * an allocation. 0 or -ENOMEM. */
int mt_replay_find_segments(struct mt_replay *replay, unsigned slot, const struct mt_event *event,
                            const struct mt_block *made);

/* Mark what an event has just made: PyTorch's segment from before the recording. 0 or -ENOMEM. */
int mt_replay_segment_from_before(struct mt_replay *replay, const struct mt_event *event);

/* Note the end of an allocation of CUDA's, or of a piece. 0 or -ENOMEM. */
int mt_replay_segment_ends(struct mt_replay *replay, const struct mt_block *memory);

/* Note the stream and the pool of a block that was made at a record. 0 or -ENOMEM. */
int mt_replay_request(struct mt_replay *replay, unsigned slot, uint32_t index, uint64_t size);

/* Note the end of the block at a record; or that a block at an address waits no longer. */
int mt_replay_request_ends(struct mt_replay *replay, uint32_t index, const struct mt_block *block);
void mt_replay_request_done(struct mt_replay *replay, uint64_t address);

/* What was free for large blocks on the stream and in the pool of a block that is being made,
 * before PyTorch requested more for it. 0 or -ENOMEM. */
struct mt_free_of_pool {
    uint64_t whole, in_pieces; /* bytes of segments without blocks; between blocks */
};
int mt_replay_free_of_pool(struct mt_replay *replay, const struct mt_block *made,
                           struct mt_free_of_pool *found);

#endif
