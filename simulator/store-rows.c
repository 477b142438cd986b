/* SPDX-License-Identifier: Apache-2.0 */
#include "store-rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "store-keys.h"

static struct sim_row *rows;
static size_t row_count;

void *sim_need(void *memory)
{
    if (!memory)
        _exit(1);
    return memory;
}

void sim_bytes_put(struct sim_bytes *to, const void *from, size_t size)
{
    to->at = sim_need(realloc(to->at, to->size + size + 1));
    if (size)
        memcpy(to->at + to->size, from, size);
    to->size += size;
    to->at[to->size] = 0;
}

bool sim_bytes_same(struct sim_bytes a, struct sim_bytes b)
{
    return a.size == b.size && !memcmp(a.at, b.at, a.size);
}

struct sim_row *sim_row_find(struct sim_bytes key)
{
    for (size_t i = 0; i < row_count; i++)
        if (sim_bytes_same(rows[i].key, key))
            return &rows[i];
    return NULL;
}

struct sim_row *sim_row_add(struct sim_bytes key, struct sim_bytes value)
{
    rows = sim_need(realloc(rows, (row_count + 1) * sizeof(*rows)));
    struct sim_row *row = &rows[row_count++];
    *row = (struct sim_row){0};
    sim_bytes_put(&row->key, key.at, key.size);
    sim_bytes_put(&row->value, value.at, value.size);
    return row;
}

void sim_row_remove(struct sim_row *row)
{
    free(row->key.at);
    free(row->value.at);
    row_count--;
    memmove(row, row + 1, (size_t)(rows + row_count - row) * sizeof(*row));
}

struct sim_row *sim_row_set(struct sim_bytes key, struct sim_bytes value)
{
    struct sim_row *row = sim_row_find(key);
    if (!row)
        return sim_row_add(key, value);
    row->value.size = 0;
    sim_bytes_put(&row->value, value.at, value.size);
    return row;
}

/* Return what an absent rank would have set: what this one set for itself, or the name of a
 * communicator; NULL: nobody knows. */
static struct sim_row *stand_in(struct sim_bytes key)
{
    char name[SIM_COMMUNICATOR_NAME] = {1};
    for (size_t i = 0; i < row_count; i++)
        if (sim_key_of_another_rank(rows[i].key.at, rows[i].key.size, key.at, key.size))
            return sim_row_add(key, rows[i].value);
    if (!sim_key_of_communicator(key.at, key.size))
        return NULL;
    for (size_t i = 0; i < key.size; i++)
        name[1 + i % (sizeof(name) - 1)] ^= key.at[i];
    return sim_row_add(key, (struct sim_bytes){name, sizeof(name)});
}

struct sim_row *sim_row_get(struct sim_bytes key)
{
    struct sim_row *row = sim_row_find(key);
    return row ? row : stand_in(key);
}

int64_t sim_row_increase(struct sim_bytes key, int64_t more)
{
    const struct sim_row *row = sim_row_find(key);
    int64_t sum = more + (row ? strtoll(row->value.at, NULL, 10) : 0);
    char text[24];
    sim_row_set(key, (struct sim_bytes){text, (size_t)sprintf(text, "%lld", (long long)sum)});
    return sum;
}

int64_t sim_row_count_queued(struct sim_bytes key)
{
    int64_t length = 0;
    for (size_t i = 0; i < row_count; i++)
        length += rows[i].is_queued && sim_bytes_same(rows[i].key, key);
    return length;
}

int64_t sim_row_count(void)
{
    return (int64_t)row_count;
}

struct sim_row *sim_row_at(size_t place)
{
    return place < row_count ? &rows[place] : NULL;
}
