/* SPDX-License-Identifier: Apache-2.0 */
#include "graph.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct sim_graph *sim_graph_create(void)
{
    return calloc(1, sizeof(struct sim_graph));
}

static void free_node(struct sim_node *node)
{
    if (node->work.type == SIM_NODE_GRAPH)
        sim_graph_destroy(node->work.graph);
    if (node->work.type == SIM_NODE_ALLOCATE || node->work.type == SIM_NODE_FREE)
        sim_graph_memory_release(node->work.memory);
    free(node->before);
    free(node);
}

void sim_graph_destroy(struct sim_graph *graph)
{
    for (size_t i = 0; i < graph->count; i++)
        free_node(graph->nodes[i]);
    sim_graph_drop_objects(graph);
    free(graph->nodes);
    free(graph);
}

/* --- nodes ------------------------------------------------------------------------------- */

/* Copy what a node keeps of its work: child graphs are copied, memory gets another reference. */
static int keep_work(struct sim_node *node, const struct sim_work *work)
{
    node->work = *work;
    if (work->type == SIM_NODE_GRAPH) {
        node->work.graph = sim_graph_clone(work->graph);
        return node->work.graph ? 0 : -ENOMEM;
    }
    if (work->type == SIM_NODE_ALLOCATE || work->type == SIM_NODE_FREE)
        atomic_fetch_add_explicit(&work->memory->references, 1, memory_order_relaxed);
    return 0;
}

static int keep_before(struct sim_node *node, struct sim_node *const *before, size_t count)
{
    node->before = count ? malloc(count * sizeof(*before)) : NULL;
    if (count && !node->before)
        return -ENOMEM;
    if (count)
        memcpy(node->before, before, count * sizeof(*before));
    node->count = node->room = count;
    return 0;
}

int sim_graph_add(struct sim_graph *graph, const struct sim_work *work,
                  struct sim_node *const *before, size_t count, struct sim_node **out)
{
    for (size_t i = 0; i < count; i++)
        if (!before[i] || before[i]->graph != graph)
            return -EINVAL;
    if (sim_grow(&graph->nodes, graph->count, &graph->room, sizeof(void *)))
        return -ENOMEM;
    struct sim_node *node = calloc(1, sizeof(*node));
    if (!node)
        return -ENOMEM;
    node->graph = graph;
    node->work.type = SIM_NODE_EMPTY;
    int error = keep_before(node, before, count);
    if (!error)
        error = keep_work(node, work);
    if (error) {
        node->work.type = SIM_NODE_EMPTY;
        free_node(node);
        return error;
    }
    graph->nodes[graph->count++] = node;
    if (out)
        *out = node;
    return 0;
}

static size_t index_of(struct sim_node *const *list, size_t count, const struct sim_node *node)
{
    size_t i = 0;
    while (i < count && list[i] != node)
        i++;
    return i;
}

int sim_graph_disconnect(struct sim_node *from, struct sim_node *to)
{
    size_t at = index_of(to->before, to->count, from);
    if (at == to->count)
        return -EINVAL;
    memmove(&to->before[at], &to->before[at + 1], (--to->count - at) * sizeof(*to->before));
    return 0;
}

void sim_node_remove(struct sim_node *node)
{
    struct sim_graph *graph = node->graph;
    size_t at = index_of(graph->nodes, graph->count, node);
    for (size_t i = 0; i < graph->count; i++)
        sim_graph_disconnect(node, graph->nodes[i]);
    memmove(&graph->nodes[at], &graph->nodes[at + 1],
            (--graph->count - at) * sizeof(*graph->nodes));
    free_node(node);
}

/* Return whether a node leads to another. Graphs may be deep and the thread's stack small, so the
 * walk has its own stack. */
bool sim_node_leads_to(const struct sim_node *node, struct sim_node *later)
{
    struct sim_node **open = malloc((later->graph->count + 1) * sizeof(*open));
    unsigned mark = ++later->graph->marks;
    size_t left = 0;
    bool found = false;
    if (!open)
        return false;
    open[left++] = later;
    later->mark = mark;
    while (left && !found) {
        const struct sim_node *one = open[--left];
        found = one == node;
        for (size_t i = 0; i < one->count; i++)
            if (one->before[i]->mark != mark) {
                one->before[i]->mark = mark;
                open[left++] = one->before[i];
            }
    }
    free(open);
    return found;
}

int sim_graph_connect(struct sim_node *from, struct sim_node *to)
{
    if (from->graph != to->graph || index_of(to->before, to->count, from) < to->count ||
        sim_node_leads_to(to, from))
        return -EINVAL;
    if (sim_grow(&to->before, to->count, &to->room, sizeof(void *)))
        return -ENOMEM;
    to->before[to->count++] = from;
    return 0;
}

int sim_node_change(struct sim_node *node, const struct sim_work *work)
{
    if (node->work.type != work->type || work->type == SIM_NODE_ALLOCATE ||
        work->type == SIM_NODE_FREE)
        return -EINVAL;
    if (work->type == SIM_NODE_GRAPH) {
        struct sim_graph *copy = sim_graph_clone(work->graph);
        if (!copy)
            return -ENOMEM;
        sim_graph_destroy(node->work.graph);
        node->work.graph = copy;
        return 0;
    }
    node->work = *work;
    return 0;
}

/* --- copies ------------------------------------------------------------------------------ */

struct sim_graph *sim_graph_clone(const struct sim_graph *graph)
{
    struct sim_graph *copy = sim_graph_create();
    int error = copy ? sim_graph_share_objects(copy, graph) : -ENOMEM;
    for (size_t i = 0; !error && i < graph->count; i++) {
        error = sim_graph_add(copy, &graph->nodes[i]->work, NULL, 0, NULL);
        if (!error)
            copy->nodes[i]->origin = graph->nodes[i];
    }
    /* A node's mark is its index, to look up the copies of the nodes that it waits for. */
    for (size_t i = 0; !error && i < graph->count; i++)
        graph->nodes[i]->mark = (unsigned)i;
    for (size_t i = 0; !error && i < graph->count; i++) {
        struct sim_node *node = copy->nodes[i];
        error = keep_before(node, graph->nodes[i]->before, graph->nodes[i]->count);
        for (size_t j = 0; !error && j < node->count; j++)
            node->before[j] = copy->nodes[node->before[j]->mark];
    }
    for (size_t i = 0; !error && i < graph->count; i++) {
        copy->nodes[i]->disabled = graph->nodes[i]->disabled;
        graph->nodes[i]->mark = 0;
    }
    if (error && copy) {
        sim_graph_destroy(copy);
        return NULL;
    }
    return copy;
}

struct sim_node *sim_graph_copy_of(const struct sim_graph *copy, const struct sim_node *node)
{
    for (size_t i = 0; i < copy->count; i++)
        if (copy->nodes[i]->origin == node)
            return copy->nodes[i];
    return NULL;
}

/* Update a graph. Copies keep the order of the nodes, so places are compared. */
int sim_graph_update(struct sim_graph *executable, const struct sim_graph *graph,
                     const struct sim_node **culprit)
{
    int error = 0;
    *culprit = NULL;
    if (executable->count != graph->count)
        return -EINVAL;
    for (size_t i = 0; i < graph->count; i++) {
        const struct sim_node *ours = executable->nodes[i], *theirs = graph->nodes[i];
        *culprit = theirs;
        if (ours->work.type != theirs->work.type || ours->count != theirs->count)
            return -EINVAL;
        for (size_t j = 0; j < ours->count; j++)
            if (index_of(executable->nodes, i, ours->before[j]) !=
                index_of(graph->nodes, i, theirs->before[j]))
                return -EINVAL;
        if (ours->work.type == SIM_NODE_ALLOCATE && ours->work.memory != theirs->work.memory)
            return -EINVAL;
    }
    *culprit = NULL;
    for (size_t i = 0; !error && i < graph->count; i++) {
        struct sim_node *node = executable->nodes[i];
        node->origin = graph->nodes[i];
        if (node->work.type != SIM_NODE_ALLOCATE && node->work.type != SIM_NODE_FREE)
            error = sim_node_change(node, &graph->nodes[i]->work);
    }
    return error;
}

/* --- drawing ----------------------------------------------------------------------------- */

int sim_graph_draw(const struct sim_graph *graph, const char *path)
{
    static const char *const names[] = {"kernel", "memcpy",       "memset", "host",
                                        "graph",  "empty",        "wait",   "record",
                                        "signal", "wait outside", "alloc",  "free"};
    FILE *file = fopen(path, "we");
    if (!file)
        return -errno;
    fprintf(file, "digraph dot {\n");
    for (size_t i = 0; i < graph->count; i++) {
        const struct sim_node *node = graph->nodes[i];
        fprintf(file, "n%zu [label=\"%s\"];\n", i, names[node->work.type]);
        for (size_t j = 0; j < node->count; j++)
            fprintf(file, "n%zu -> n%zu;\n", index_of(graph->nodes, graph->count, node->before[j]),
                    i);
    }
    fprintf(file, "}\n");
    int error = ferror(file) ? -EIO : 0;
    return fclose(file) && !error ? -errno : error;
}
