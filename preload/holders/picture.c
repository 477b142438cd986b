/* SPDX-License-Identifier: Apache-2.0 */
#include "picture.h"
#include "preload/host/memory.h"
#include "preload/host/read-file.h"

#include <errno.h>

struct mt_picture mt_picture;
sigjmp_buf mt_picture_crash_point;
volatile bool mt_picture_may_crash;
volatile uint32_t mt_picture_crashes;

#define MOST_ROOTS (1u << 22)

int mt_picture_create(uint32_t most)
{
    struct mt_picture *g = &mt_picture;
    for (g->places = 1u << 16; g->places < 2 * most; g->places *= 2) {
    }
    g->most = most;
    g->most_roots = MOST_ROOTS;
    g->address = mt_map(most * sizeof *g->address);
    g->parent = mt_map(most * sizeof *g->parent);
    g->refs = mt_map(most * sizeof *g->refs);
    g->sort = mt_map(most);
    g->flags = mt_map(most);
    g->place = mt_map(g->places * sizeof *g->place);
    g->queue = mt_map(most * sizeof *g->queue);
    g->later = mt_map(most * sizeof *g->later);
    g->root = mt_map(g->most_roots * sizeof *g->root);
    g->n_roots = 1; /* MT_ROOT_NATIVE */
    return g->address && g->parent && g->refs && g->sort && g->flags && g->place && g->queue &&
                   g->later && g->root
               ? 0
               : -ENOMEM;
}

static uint32_t *place_of(uint64_t address)
{
    uint64_t hash = (address >> 3) * UINT64_C(0x9e3779b97f4a7c15);
    uint32_t i = (uint32_t)(hash >> 32);
    for (;; i++) {
        uint32_t *place = &mt_picture.place[i & (mt_picture.places - 1)];
        if (!*place || mt_picture.address[*place - 1] == address)
            return place;
    }
}

uint32_t mt_picture_find(uint64_t address)
{
    return *place_of(address) - 1; /* 0: none */
}

uint32_t mt_picture_add(uint64_t address, enum mt_node_sort sort)
{
    uint32_t *place = place_of(address);
    if (*place)
        return *place - 1;
    if (mt_picture.n == mt_picture.most) {
        mt_picture.is_full = true;
        return MT_NO_NODE;
    }
    uint32_t node = mt_picture.n++;
    mt_picture.address[node] = address;
    mt_picture.sort[node] = (uint8_t)sort;
    *place = mt_picture.n;
    return node;
}

/* Return the node if it is reached for the first time; else MT_NO_NODE. */
static uint32_t reach(uint64_t address, enum mt_node_sort sort, uint32_t parent)
{
    uint32_t node = mt_picture_add(address, sort);
    if (node == MT_NO_NODE || mt_picture.flags[node] & MT_NODE_IS_REACHED ||
        (mt_picture.flags[node] & MT_NODE_IS_GLOBALS && !(parent & MT_ROOT_BIT)))
        return MT_NO_NODE;
    mt_picture.flags[node] |= MT_NODE_IS_REACHED;
    mt_picture.parent[node] = parent;
    return node;
}

void mt_picture_reach(uint64_t address, enum mt_node_sort sort, uint32_t parent)
{
    uint32_t node = reach(address, sort, parent);
    if (node != MT_NO_NODE)
        mt_picture.queue[mt_picture.tail++] = node;
}

void mt_picture_reach_later(uint64_t address, enum mt_node_sort sort, uint32_t parent)
{
    uint32_t node = reach(address, sort, parent);
    if (node != MT_NO_NODE)
        mt_picture.later[mt_picture.later_tail++] = node;
}

uint32_t mt_picture_add_root(enum mt_picture_root_sort sort, uint64_t address, uint32_t index)
{
    if (mt_picture.n_roots == mt_picture.most_roots) {
        mt_picture.is_full = true;
        return MT_ROOT_BIT; /* MT_ROOT_NATIVE */
    }
    mt_picture.root[mt_picture.n_roots] = (struct mt_picture_root){sort, index, address};
    return MT_ROOT_BIT | mt_picture.n_roots++;
}

/* Mappings, in the order of their addresses. */
#define MOST_MAPPINGS 65536u
static struct {
    struct mt_mapping *mapping;
    uint32_t n;
} mapped;

static bool is_in(uint32_t i, uint64_t address, uint64_t size)
{
    return i < mapped.n && address >= mapped.mapping[i].begin && address < mapped.mapping[i].end &&
           size <= mapped.mapping[i].end - address;
}

bool mt_is_readable(uint64_t address, uint64_t size)
{
    static uint32_t last;
    uint32_t low = 0, high = mapped.n;
    if (is_in(last, address, size))
        return true;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (mapped.mapping[middle].end <= address)
            low = middle + 1;
        else
            high = middle;
    }
    last = low;
    return is_in(low, address, size);
}

struct mt_mapping *mt_picture_torch_variables;
uint32_t mt_picture_n_torch_variables;

/* Note a writable mapping of a library's file, and the memory right after it, which has the
 * zero-initialized variables. */
static void note_variables(const char *line, const struct mt_mapping *mapping)
{
    const char *path = strchr(line, '/'), *name = path ? strrchr(path, '/') + 1 : NULL;
    uint32_t n = mt_picture_n_torch_variables;
    bool is_torch = name && (!strncmp(name, "libtorch", 8) || !strncmp(name, "libc10", 6));
    bool goes_on =
        !path && !strchr(line, '[') && n && mt_picture_torch_variables[n - 1].end == mapping->begin;
    if (line[2] == 'w' && goes_on)
        mt_picture_torch_variables[n - 1].end = mapping->end;
    else if (line[2] == 'w' && is_torch && n < MT_MOST_TORCH_VARIABLES)
        mt_picture_torch_variables[mt_picture_n_torch_variables++] = *mapping;
}

/* Take a line, "begin-end rw-p ...": devices' memory is no memory. */
static void add_mapping(const char *line)
{
    struct mt_mapping mapping = {0, 0};
    uint64_t *number = &mapping.begin;
    for (; *line && *line != ' '; line++) {
        if (*line == '-')
            number = &mapping.end;
        else
            *number = *number << 4 | (unsigned)(*line <= '9' ? *line - '0' : *line - 'a' + 10);
    }
    if (line[0] != ' ' || line[1] != 'r' || line[4] == 's' || mapped.n == MOST_MAPPINGS)
        return;
    note_variables(line, &mapping);
    if (mapped.n && mapped.mapping[mapped.n - 1].end == mapping.begin)
        mapped.mapping[mapped.n - 1].end = mapping.end;
    else
        mapped.mapping[mapped.n++] = mapping;
}

int mt_picture_read_mappings(void)
{
    char line[1024];
    struct mt_lines maps;
    mapped.mapping = mt_map(MOST_MAPPINGS * sizeof *mapped.mapping);
    mt_picture_torch_variables =
        mt_map(MT_MOST_TORCH_VARIABLES * sizeof *mt_picture_torch_variables);
    mt_lines_open(&maps, "/proc/self/maps");
    if (!mapped.mapping || !mt_picture_torch_variables || maps.fd < 0)
        return -ENOENT;
    while (mt_lines_next(&maps, line, sizeof line))
        add_mapping(line);
    mt_lines_close(&maps);
    return mapped.n ? 0 : -ENOENT;
}
