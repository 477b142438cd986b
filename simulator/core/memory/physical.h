/* SPDX-License-Identifier: Apache-2.0 */
/* What a handle of cuMemCreate or cuMulticastCreate stands for. With the range lock held. */
#ifndef SIM_PHYSICAL_H
#define SIM_PHYSICAL_H

#include "vmm.h"

struct sim_team; /* multicast.c */

struct sim_physical {
    int device; /* of a multicast object the first that was added */
    size_t size;
    unsigned references;   /* handles, mappings and bindings */
    int file;              /* behind it, once another process may have it; 0: none */
    bool imported;         /* another process counts it */
    struct sim_team *team; /* a multicast object's, which takes no memory; NULL: it is memory */
};

/* One reference less; without any it is gone. */
void sim_physical_drop(struct sim_physical *physical);
/* What is mapped at the address, NULL: nothing. */
struct sim_physical *sim_physical_at(uintptr_t address);
/* Drops what is bound to it. */
void sim_team_free(struct sim_team *team);

#endif
