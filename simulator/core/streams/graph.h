/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Graphs: nodes of work that wait for other nodes. A launch executes copies, fills, callbacks and
 * memory nodes; kernels are only kept. A graph that is launched is a copy of the original (its
 * nodes know their origin). As in CUDA, threads must not change the same graph at the same time.
 */
#ifndef SIM_GRAPH_H
#define SIM_GRAPH_H

#include "../memory/array.h"
#include "../memory/memory.h"
#include "stream.h"

/* By the numbers of CUDA. */
enum sim_node_type {
    SIM_NODE_KERNEL = 0,
    SIM_NODE_COPY = 1,
    SIM_NODE_FILL = 2,
    SIM_NODE_HOST = 3,
    SIM_NODE_GRAPH = 4,
    SIM_NODE_EMPTY = 5,
    SIM_NODE_WAIT = 6,
    SIM_NODE_RECORD = 7,
    SIM_NODE_ALLOCATE = 10,
    SIM_NODE_FREE = 11,
};

struct sim_kernel {
    void *function;
    unsigned grid[3], block[3], shared;
    void **parameters, **extra; /* set by the program; unknown after a capture */
};

struct sim_fill {
    void *to;
    size_t pitch;
    unsigned value, element; /* element: 1, 2 or 4 bytes */
    size_t width, height;    /* elements, rows */
};

struct sim_host_call {
    void (*function)(void *);
    void *data;
};

/* The work of a node; its type says which field counts. */
struct sim_work {
    enum sim_node_type type;
    union {
        struct sim_kernel kernel;
        struct sim_copy3d copy;
        struct sim_fill fill;
        struct sim_host_call host;
        struct sim_graph *graph; /* a child: the node's own copy */
        struct sim_event *event;
        struct sim_graph_memory *memory;
    };
};

struct sim_node {
    struct sim_graph *graph;
    const struct sim_node *origin; /* the original, only to compare */
    struct sim_work work;
    struct sim_node **before; /* nodes that it waits for */
    size_t count, room;
    bool disabled;
    unsigned mark; /* the last walk that saw it */
};

struct sim_graph {
    struct sim_node **nodes; /* in order of addition */
    size_t count, room;
    unsigned marks;
    uint64_t flags;           /* of an executable one */
    struct sim_held *objects; /* user objects that it holds */
};

SIM_API struct sim_graph *sim_graph_create(void);
SIM_API void sim_graph_destroy(struct sim_graph *graph);
/* Copy a graph; the nodes name their origin. NULL: out of memory. */
SIM_API struct sim_graph *sim_graph_clone(const struct sim_graph *graph);
/* Add a node that waits for other nodes of the same graph. A child graph is copied. -EINVAL: one of
 * them is of another graph. */
SIM_API int sim_graph_add(struct sim_graph *graph, const struct sim_work *work,
                          struct sim_node *const *before, size_t count, struct sim_node **out);
SIM_API void sim_node_remove(struct sim_node *node);
/* Connect nodes. -EINVAL: not of one graph, already connected, or the nodes would wait for each
 * other. */
SIM_API int sim_graph_connect(struct sim_node *from, struct sim_node *to);
SIM_API int sim_graph_disconnect(struct sim_node *from, struct sim_node *to);
/* Return the copy of a node in a copy of its graph, or NULL. */
SIM_API struct sim_node *sim_graph_copy_of(const struct sim_graph *copy,
                                           const struct sim_node *node);
/* Return whether `node` is `later`, or `later` waits for it. */
SIM_API bool sim_node_leads_to(const struct sim_node *node, struct sim_node *later);
/* Replace a node's work by other work of the same type. -EINVAL: another type, or memory. */
SIM_API int sim_node_change(struct sim_node *node, const struct sim_work *work);
/*
 * Update an executable graph to another graph's work. -EINVAL: the graphs differ in structure;
 * *culprit is the first node of the other graph that does not match.
 */
SIM_API int sim_graph_update(struct sim_graph *executable, const struct sim_graph *graph,
                             const struct sim_node **culprit);
/* Execute the work. -ENOMEM; -EINVAL: memory of the last launch was not freed. */
SIM_API int sim_graph_launch(struct sim_graph *graph);
/* Write the graph in the DOT language. Return a negative errno if the file cannot be written. */
SIM_API int sim_graph_draw(const struct sim_graph *graph, const char *path);

/* Instantiation flag: a launch first frees memory that the last one has not freed. */
enum { SIM_GRAPH_AUTO_FREE = 1 };

/* Memory of a graph: its address is assigned when the node is created; it has memory from launch to
 * free. */
struct sim_graph_memory {
    _Atomic unsigned references; /* nodes */
    int device;
    bool live;
    size_t size;
    void *address;
    struct sim_block *block;
};
/* Create a graph's memory. *out belongs to the node that gets it. */
SIM_API int sim_graph_memory_create(int device, size_t size, struct sim_graph_memory **out);
SIM_API void sim_graph_memory_release(struct sim_graph_memory *memory);
/* Return a graph's memory that begins at the address, held; NULL if there is none. */
SIM_API struct sim_graph_memory *sim_graph_memory_at(void *address);
/* Start and end its use by a launch. Return 0, -EINVAL if it is already in use (start) or not in
 * use (end), or -ENOMEM. */
int sim_graph_memory_begin(struct sim_graph_memory *memory);
int sim_graph_memory_end(struct sim_graph_memory *memory);
/* User objects: counted, with a destructor. */
struct sim_object;
SIM_API struct sim_object *sim_object_create(void *data, void (*destroy)(void *), unsigned count);
SIM_API int sim_object_retain(struct sim_object *object, unsigned count);
SIM_API int sim_object_release(struct sim_object *object, unsigned count);
/* Make the graph hold `count` more references, or fewer. move: they are transferred from the
 * caller. */
SIM_API int sim_graph_hold(struct sim_graph *graph, struct sim_object *object, unsigned count,
                           bool move);
SIM_API int sim_graph_let_go(struct sim_graph *graph, struct sim_object *object, unsigned count);
int sim_graph_share_objects(struct sim_graph *copy, const struct sim_graph *graph);
void sim_graph_drop_objects(struct sim_graph *graph);

#endif
