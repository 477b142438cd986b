/* SPDX-License-Identifier: Apache-2.0 */
/* User objects: a program gives them to a graph; the last reference destroys them. */
#include <errno.h>
#include <stdlib.h>

#include "graph.h"

struct sim_object {
    void *data;
    void (*destroy)(void *);
    _Atomic unsigned references;
};

struct sim_held {
    struct sim_held *next;
    struct sim_object *object;
    unsigned count;
};

struct sim_object *sim_object_create(void *data, void (*destroy)(void *), unsigned count)
{
    struct sim_object *object = calloc(1, sizeof(*object));
    if (object)
        *object = (struct sim_object){data, destroy, count};
    return object;
}

int sim_object_retain(struct sim_object *object, unsigned count)
{
    if (!object || !count)
        return -EINVAL;
    atomic_fetch_add(&object->references, count);
    return 0;
}

int sim_object_release(struct sim_object *object, unsigned count)
{
    if (!object || !count || count > object->references)
        return -EINVAL;
    if (atomic_fetch_sub(&object->references, count) == count) {
        object->destroy(object->data);
        free(object);
    }
    return 0;
}

int sim_graph_hold(struct sim_graph *graph, struct sim_object *object, unsigned count, bool move)
{
    if (!graph || !object || !count)
        return -EINVAL;
    struct sim_held *held = calloc(1, sizeof(*held));
    if (!held)
        return -ENOMEM;
    if (!move)
        sim_object_retain(object, count);
    *held = (struct sim_held){graph->objects, object, count};
    graph->objects = held;
    return 0;
}

int sim_graph_let_go(struct sim_graph *graph, struct sim_object *object, unsigned count)
{
    for (struct sim_held **link = &graph->objects; *link; link = &(*link)->next) {
        struct sim_held *held = *link;
        if (held->object != object || held->count < count)
            continue;
        held->count -= count;
        if (!held->count) {
            *link = held->next;
            free(held);
        }
        return sim_object_release(object, count);
    }
    return -EINVAL;
}

int sim_graph_share_objects(struct sim_graph *copy, const struct sim_graph *graph)
{
    int error = 0;
    for (const struct sim_held *held = graph->objects; !error && held; held = held->next)
        error = sim_graph_hold(copy, held->object, held->count, false);
    return error;
}

void sim_graph_drop_objects(struct sim_graph *graph)
{
    while (graph->objects) {
        struct sim_held *held = graph->objects;
        graph->objects = held->next;
        sim_object_release(held->object, held->count);
        free(held);
    }
}
