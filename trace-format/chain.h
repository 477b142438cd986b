/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The chain of a file's blocks, by which a missing, repeated or exchanged one is noticed: each block
 * has its number, the checksum of the one before and the number of events before it (FORMAT.md).
 */
#ifndef MT_CHAIN_H
#define MT_CHAIN_H

#include <stdbool.h>
#include <stdint.h>

/* What is in a file so far: the next block links to it. */
struct mt_chain {
    uint32_t blocks;
    uint32_t before; /* the last block's checksum */
    uint64_t events; /* the older segment's too, if there is one; carried ones do not count */
    uint64_t of_older; /* events of the older segment */
    bool is_bare;      /* the file's version has no links */
};

/* Begin with a file's header: its trace id, and the number of events in the older segment. */
struct mt_chain mt_chain_begin(uint64_t trace_id, uint64_t of_older, unsigned version);

#endif
