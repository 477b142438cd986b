/* SPDX-License-Identifier: Apache-2.0 */
/* Virtual-memory management. Sizes and addresses are whole pages, else -EINVAL. */
#ifndef SIM_VMM_H
#define SIM_VMM_H

#include "memory.h"

struct sim_physical; /* memory without an address: cuMemCreate */
SIM_API int sim_physical_create(int device, size_t size, struct sim_physical **out);
SIM_API int sim_physical_retain(const void *address, struct sim_physical **out);
SIM_API int sim_physical_release(struct sim_physical *physical);
/* Create a multicast object, which uses no memory, and bind memory to it, of as many devices as
 * were added. */
SIM_API int sim_multicast_create(unsigned devices, size_t size, struct sim_physical **out);
SIM_API int sim_multicast_add(struct sim_physical *object, int device);
SIM_API int sim_multicast_bind(struct sim_physical *object, size_t at,
                               struct sim_physical *physical, size_t offset, size_t size);
SIM_API int sim_multicast_bind_address(struct sim_physical *object, size_t at, const void *address,
                                       size_t size);
SIM_API int sim_multicast_unbind(struct sim_physical *object, int device, size_t at, size_t size);
SIM_API int sim_physical_device(const struct sim_physical *physical);
/* Export memory. *fd is the caller's, for other processes to import. */
SIM_API int sim_physical_export(struct sim_physical *physical, int *fd);
/* Import memory. -EINVAL: the descriptor is not of exported memory, or of a device that is not
 * visible here. */
SIM_API int sim_physical_import(int fd, struct sim_physical **out);
SIM_API int sim_address_reserve(size_t size, size_t alignment, void **out);
SIM_API int sim_address_free(void *address, size_t size);
SIM_API int sim_map(void *address, size_t size, size_t offset, struct sim_physical *physical);
SIM_API int sim_unmap(void *address, size_t size);
SIM_API int sim_set_access(void *address, size_t size, bool allowed);
/* Return the start, size and device of the mapping that holds the address. -EINVAL: none. */
SIM_API int sim_mapping_at(const void *address, uintptr_t *start, size_t *size, int *device);
/* Return whether usable memory is mapped to all of it. Needs the range lock. */
bool sim_mapped(const struct sim_range *reservation, uintptr_t start, size_t size);

/* The object behind a handle of cuMemCreate or cuMulticastCreate. Needs the range lock. */

struct sim_team; /* multicast.c */

struct sim_physical {
    int device; /* of a multicast object: the first device that was added */
    size_t size;
    unsigned references;   /* handles, mappings and bindings */
    int file;              /* behind it, once it was exported; 0: none */
    bool imported;         /* another process counts it */
    struct sim_team *team; /* of a multicast object, which uses no memory; NULL: this is memory */
    void (*free_team)(struct sim_team *team); /* and drop its bindings */
};

/* Drop one reference; the last one frees it. */
void sim_physical_drop(struct sim_physical *physical);
/* Return the object that is mapped at the address, NULL: nothing. */
struct sim_physical *sim_physical_at(uintptr_t address);

#endif
