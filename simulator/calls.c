/* SPDX-License-Identifier: Apache-2.0 */
#include "calls.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATH_SIZE = 4096 };

struct calls {
    struct sim_call *at;
    size_t count;
};

#define WORD(name, word) word,
static const char *const words[] = {SIM_CALLS(WORD)};
enum { KINDS = sizeof(words) / sizeof(words[0]) };

static struct calls read_calls(const char *folder, long rank)
{
    struct calls calls = {0};
    struct sim_call *more;
    char path[PATH_SIZE];
    FILE *file;
    if (snprintf(path, sizeof(path), "%s/calls-%ld", folder, rank) >= (int)sizeof(path))
        return calls;
    file = fopen(path, "rbe");
    for (size_t got = file != NULL; got; calls.count += got) {
        enum { PIECE = 1024 };
        more = realloc(calls.at, (calls.count + PIECE) * sizeof(*more));
        if (!more)
            break;
        calls.at = more;
        got = fread(more + calls.count, sizeof(*more), PIECE, file);
    }
    if (file)
        fclose(file);
    return calls;
}

/* Return the next call of a group from a place on; the number of calls: there is none. */
static size_t next_of(const struct calls *calls, unsigned group, size_t place)
{
    while (place < calls->count && calls->at[place].group != group)
        place++;
    return place;
}

static void describe(const struct calls *calls, size_t place, char text[64])
{
    const struct sim_call *call = &calls->at[place];
    const char *word = place < calls->count && call->kind < KINDS ? words[call->kind] : NULL;
    if (!word)
        snprintf(text, 64, "none");
    else if (call->root < 0)
        snprintf(text, 64, "%s", word);
    else
        snprintf(text, 64, "%s with root %d", word, (int)call->root);
}

/* Compare the calls to one group. */
static bool differ_in(const struct calls *a, const struct calls *b, unsigned group, size_t *number,
                      char texts[2][64])
{
    size_t x = next_of(a, group, 0), y = next_of(b, group, 0);
    *number = 1;
    while (x < a->count && y < b->count && a->at[x].kind == b->at[y].kind &&
           a->at[x].root == b->at[y].root) {
        x = next_of(a, group, x + 1);
        y = next_of(b, group, y + 1);
        ++*number;
    }
    describe(a, x, texts[0]);
    describe(b, y, texts[1]);
    return x < a->count || y < b->count;
}

static bool differ(const struct calls *a, const struct calls *b, long first, long other, char *what,
                   size_t what_size)
{
    unsigned groups = 0;
    size_t number;
    char texts[2][64];
    for (size_t i = 0; i < a->count; i++)
        groups = a->at[i].group >= groups ? a->at[i].group + 1u : groups;
    for (unsigned group = 0; group < groups; group++)
        if (differ_in(a, b, group, &number, texts)) {
            snprintf(what, what_size,
                     "ranks %ld and %ld make different collective calls: call %zu%s is %s on rank "
                     "%ld, %s on rank %ld; real ranks would wait for each other, unless the values "
                     "they exchange make the calls equal",
                     first, other, number, group ? " of another group" : "", texts[0], first,
                     texts[1], other);
            return true;
        }
    return false;
}

int sim_calls_differ(const char *folder, const char *ranks, char *what, size_t what_size)
{
    char *end;
    long first = strtol(ranks, &end, 10);
    struct calls wanted = read_calls(folder, first);
    bool is_found = false;
    while (*end == ',' && wanted.count && !is_found) {
        long other = strtol(end + 1, &end, 10);
        struct calls calls = read_calls(folder, other);
        is_found = calls.count && differ(&wanted, &calls, first, other, what, what_size);
        free(calls.at);
    }
    free(wanted.at);
    return is_found;
}
