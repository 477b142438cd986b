/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PyTorch's allocator caches memory separately for each stream and private pool (a graph's, a
 * MemPool's): memory that is free in one cannot serve another. Arrays parallel to a heap's records
 * store each block's or segment's pool, and how much of it was not requested.
 */
#ifndef MT_STREAM_POOLS_H
#define MT_STREAM_POOLS_H

#include "requests.h"

#define MT_BLOCK_UNIT 512u    /* granularity of PyTorch's block sizes */
#define MT_STREAM_POOLS 1024u /* further pools share number 0, "unknown" */

struct mt_stream_pool {
    uint64_t stream, pool; /* handles, as in struct mt_request_stream */
    unsigned slot;
    uint32_t nth;                 /* the stream on its device; 0: the default one */
    uint64_t reserved, allocated; /* bytes now */
    uint64_t waiting;             /* freed, but waits for other streams */
    struct mt_stream_pool_most {
        uint64_t reserved, allocated; /* when the device's reserved memory was highest */
        uint64_t largest;             /* segment by then, */
        uint32_t stack, range;        /* its requesting stack and ranges */
    } most;
    uint64_t largest; /* segment */
    uint32_t stack, range;
};

struct mt_stream_pools {
    struct mt_stream_pool *pool; /* pool[0] is unknown; NULL: none was seen */
    size_t n, capacity;
};

/* About a record of a heap. */
struct mt_block_request {
    uint32_t unused; /* bytes that were not requested */
    uint16_t pool;   /* number in mt_stream_pools; 0: unknown */
};

struct mt_block_requests {
    struct mt_block_request *of; /* by index of the record */
    size_t n;
};

/* Clear them; those of zeros are empty. */
void mt_stream_pools_clear(struct mt_stream_pools *pools);
void mt_block_requests_clear(struct mt_block_requests *requests);

/* Set *number to that of a pool, which may be new. 0 or -ENOMEM. */
int mt_stream_pools_number(struct mt_stream_pools *pools, const struct mt_request_stream *of,
                           uint16_t *number);

/* Note a segment of a pool that began or ended. */
void mt_stream_pool_got(struct mt_stream_pool *pool, const struct mt_block *segment);
void mt_stream_pool_lost(struct mt_stream_pool *pool, uint64_t bytes);

/* The device's reserved memory is higher than ever. */
void mt_stream_pools_most(struct mt_stream_pools *pools, unsigned slot);

int mt_block_requests_grow(struct mt_block_requests *requests, uint32_t index);

/* Set a record's data. Return 0 or -ENOMEM. */
static inline int mt_block_requests_set(struct mt_block_requests *requests, uint32_t index,
                                        struct mt_block_request request)
{
    if (index >= requests->n && mt_block_requests_grow(requests, index))
        return -ENOMEM;
    requests->of[index] = request;
    return 0;
}

/* Return a record's data; zeroed: unknown. */
static inline struct mt_block_request mt_block_request_of(const struct mt_block_requests *requests,
                                                          uint32_t index)
{
    return index < requests->n ? requests->of[index] : (struct mt_block_request){0};
}

#endif
