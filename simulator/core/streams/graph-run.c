/* SPDX-License-Identifier: Apache-2.0 */
/* The launch of a graph. */
#include "graph.h"
#include "stream.h"

static int fill(const struct sim_fill *fill)
{
    int error = 0;
    for (size_t row = 0; !error && row < fill->height; row++)
        error =
            sim_set((char *)fill->to + row * fill->pitch, fill->value, fill->element, fill->width);
    return error;
}

static int work(struct sim_node *node, const struct sim_graph *graph)
{
    static const struct sim_stream nowhere = {.id = 0};
    switch (node->work.type) {
    case SIM_NODE_COPY:
        return sim_copy_3d(&node->work.copy);
    case SIM_NODE_FILL:
        return fill(&node->work.fill);
    case SIM_NODE_HOST:
        node->work.host.function(node->work.host.data);
        return 0;
    case SIM_NODE_GRAPH:
        return sim_graph_launch(node->work.graph);
    case SIM_NODE_RECORD:
        sim_event_record(node->work.event, &nowhere);
        return 0;
    case SIM_NODE_ALLOCATE:
        if (node->work.memory->live && (graph->flags & SIM_GRAPH_AUTO_FREE))
            sim_graph_memory_end(node->work.memory);
        return sim_graph_memory_begin(node->work.memory);
    case SIM_NODE_FREE:
        return sim_graph_memory_end(node->work.memory);
    default:
        return 0;
    }
}

/* Launch a graph. Nodes are mostly added after the nodes that they wait for: then one round does
 * all. */
int sim_graph_launch(struct sim_graph *graph)
{
    size_t done = 0;
    unsigned mark = ++graph->marks;
    int error = 0;
    while (!error && done < graph->count)
        for (size_t i = 0; !error && i < graph->count; i++) {
            struct sim_node *node = graph->nodes[i];
            bool ready = node->mark != mark;
            for (size_t j = 0; ready && j < node->count; j++)
                ready = node->before[j]->mark == mark;
            if (!ready)
                continue;
            node->mark = mark;
            done++;
            if (!node->disabled)
                error = work(node, graph);
        }
    return error;
}
