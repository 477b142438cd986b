/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The events that show an event's place: the backward nodes that ran on its thread, and the places
 * where they were made.
 */
#ifndef MT_KEEP_NODES_H
#define MT_KEEP_NODES_H

#include <stdbool.h>

#include "analyzer/support/address-map.h"
#include "analyzer/support/by-id.h"
#include "trace-format/model.h"

/* The kept events: a bit each, by number, from 1. */
struct mt_kept {
    unsigned char *bits, *totals; /* totals: kept only for its totals */
    size_t capacity;              /* bytes of each */
    uint64_t n;
    uint64_t *before; /* how many are kept before each MT_KEPT_PART bytes; after mt_kept_count */
};

#define MT_KEPT_PART 64u

/* Make room for an event of this number. 0 or -ENOMEM. */
int mt_kept_reach(struct mt_kept *kept, uint64_t number);
void mt_kept_clear(struct mt_kept *kept);

/* Count those that are kept, once all are, for mt_kept_number. 0 or -ENOMEM. */
int mt_kept_count(struct mt_kept *kept);

/* Return the number that an event, or the first kept one after it, has among the kept ones. 0 for
 * 0. */
uint64_t mt_kept_number(const struct mt_kept *kept, uint64_t number);

static inline bool mt_kept_has(const unsigned char *bits, uint64_t number)
{
    return bits[number / 8] >> number % 8 & 1;
}

/* An event that may be needed later. node: the node that it is in, with a reference to it; 0:
 * none. */
struct mt_candidate {
    uint64_t number; /* 0: none */
    uint32_t node;
};

struct mt_keep_node;
struct mt_keep_thread;

struct mt_keep_nodes {
    struct mt_kept *kept;      /* the caller's */
    struct mt_keep_node *node; /* 1 .. n_nodes - 1; those that are free in a list */
    uint32_t n_nodes, first_free;
    size_t nodes_capacity;
    struct mt_by_id threads;      /* struct mt_keep_thread */
    struct mt_address_map made;   /* a node's address -> index of made_at */
    struct mt_candidate *made_at; /* the last event that made it */
    size_t n_made, made_capacity;
    uint32_t around; /* the node of the last event, with a reference */
};

/* Clear nodes; those of zeros, except kept, are empty. */
void mt_keep_nodes_clear(struct mt_keep_nodes *nodes);

/* Handle the next event. 0 or -ENOMEM. */
int mt_keep_nodes_event(struct mt_keep_nodes *nodes, const struct mt_event *event, uint64_t number);

/* Take the last event as a candidate. Give it back by one of the two: keep or drop. */
struct mt_candidate mt_candidate_take(struct mt_keep_nodes *nodes, uint64_t number);
void mt_candidate_keep(struct mt_keep_nodes *nodes, struct mt_candidate candidate);
void mt_candidate_drop(struct mt_keep_nodes *nodes, struct mt_candidate candidate);

#endif
