/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Multicast objects. Memory is bound to each of an object's devices, and the object keeps it. On a
 * card a write to a mapping of the object reaches all bound memory. Here a mapping has contents of
 * its own, and nothing is written to the bound memory.
 */
#include <errno.h>
#include <stdlib.h>

#include "../device/device.h"
#include "range.h"
#include "vmm.h"

enum { TEAM = 64 };

struct binding {
    size_t at, size;
    struct sim_physical *physical;
};

struct sim_team {
    unsigned devices, added;
    bool has[TEAM];
    struct binding *bindings;
    size_t used, room;
};

static void free_team(struct sim_team *team)
{
    for (size_t i = 0; i < team->used; i++)
        sim_physical_drop(team->bindings[i].physical);
    free(team->bindings);
    free(team);
}

int sim_multicast_create(unsigned devices, size_t size, struct sim_physical **out)
{
    if (!devices || devices > TEAM || !size || (size & (SIM_PAGE - 1)))
        return -EINVAL;
    struct sim_physical *object = calloc(1, sizeof(*object));
    if (object)
        object->team = calloc(1, sizeof(*object->team));
    if (!object || !object->team) {
        free(object);
        return -ENOMEM;
    }
    object->size = size;
    object->references = 1;
    object->team->devices = devices;
    object->free_team = free_team;
    *out = object;
    return 0;
}

int sim_multicast_add(struct sim_physical *object, int device)
{
    struct sim_team *team = object ? object->team : NULL;
    int error = -EINVAL;
    if (!team || !sim_device(device) || device >= TEAM)
        return -EINVAL;
    sim_range_lock();
    if (!team->has[device] && team->added < team->devices) {
        if (!team->added++)
            object->device = device;
        team->has[device] = true;
        error = 0;
    }
    sim_range_unlock();
    return error;
}

/* Return the binding of the device's memory that begins there, or team->used if there is none. */
static size_t find(const struct sim_team *team, int device, size_t at)
{
    size_t i = 0;
    while (i < team->used &&
           (team->bindings[i].at != at || team->bindings[i].physical->device != device))
        i++;
    return i;
}

/* Bind memory. The driver would wait until all devices were added, possibly by another process. */
static int bind(struct sim_physical *object, struct binding binding, size_t offset)
{
    struct sim_team *team = object ? object->team : NULL;
    struct sim_physical *physical = binding.physical;
    if (!team || !physical || physical->team || !team->has[physical->device] ||
        team->added < team->devices || !binding.size || offset > physical->size ||
        binding.size > physical->size - offset || binding.at > object->size ||
        binding.size > object->size - binding.at ||
        find(team, physical->device, binding.at) < team->used)
        return -EINVAL;
    if (sim_grow(&team->bindings, team->used, &team->room, sizeof(binding)))
        return -ENOMEM;
    physical->references++;
    team->bindings[team->used++] = binding;
    return 0;
}

int sim_multicast_bind(struct sim_physical *object, size_t at, struct sim_physical *physical,
                       size_t offset, size_t size)
{
    sim_range_lock();
    int error = bind(object, (struct binding){at, size, physical}, offset);
    sim_range_unlock();
    return error;
}

int sim_multicast_bind_address(struct sim_physical *object, size_t at, const void *address,
                               size_t size)
{
    sim_range_lock();
    int error = bind(object, (struct binding){at, size, sim_physical_at((uintptr_t)address)}, 0);
    sim_range_unlock();
    return error;
}

int sim_multicast_unbind(struct sim_physical *object, int device, size_t at, size_t size)
{
    struct sim_team *team = object ? object->team : NULL;
    int error = -EINVAL;
    if (!team)
        return -EINVAL;
    sim_range_lock();
    size_t i = find(team, device, at);
    if (i < team->used && team->bindings[i].size == size) {
        sim_physical_drop(team->bindings[i].physical);
        team->bindings[i] = team->bindings[--team->used];
        error = 0;
    }
    sim_range_unlock();
    return error;
}
