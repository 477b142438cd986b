/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The content of the server of a rank's store: keys with their values. If memory runs out the
 * process exits, and the program reports that its store is gone.
 */
#ifndef SIM_STORE_ROWS_H
#define SIM_STORE_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sim_bytes {
    char *at;
    size_t size;
};

/* A queue has a row for each element, in order. */
struct sim_row {
    struct sim_bytes key, value;
    bool is_queued;
};

/* Return the memory; end the process if it is NULL. */
void *sim_need(void *memory);

/* Append to bytes that were allocated, or are none yet. */
void sim_bytes_put(struct sim_bytes *to, const void *from, size_t size);
bool sim_bytes_same(struct sim_bytes a, struct sim_bytes b);

/* Find a row, add one, set its value, remove it. It stays valid until the next one is added or
 * removed. */
struct sim_row *sim_row_find(struct sim_bytes key);
struct sim_row *sim_row_add(struct sim_bytes key, struct sim_bytes value);
struct sim_row *sim_row_set(struct sim_bytes key, struct sim_bytes value);
void sim_row_remove(struct sim_row *row);
/* Add to the number that a key holds as text. Return the sum. */
int64_t sim_row_increase(struct sim_bytes key, int64_t more);
int64_t sim_row_count_queued(struct sim_bytes key);
int64_t sim_row_count(void);
/* Return the row at a place; NULL: there are not so many. */
struct sim_row *sim_row_at(size_t place);

/* Find a key that this rank set, or that an absent one would have set, if its value is known: what
 * this rank set itself, or the name of a communicator. NULL if unknown. */
struct sim_row *sim_row_get(struct sim_bytes key);

#endif
