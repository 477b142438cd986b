/* SPDX-License-Identifier: Apache-2.0 */
/* The object behind a handle of cuMemCreate or cuMulticastCreate. Needs the range lock. */
#ifndef SIM_PHYSICAL_H
#define SIM_PHYSICAL_H

#include "vmm.h"

struct sim_team; /* multicast.c */

struct sim_physical {
    int device; /* of a multicast object: the first device that was added */
    size_t size;
    unsigned references;   /* handles, mappings and bindings */
    int file;              /* behind it, once it was exported; 0: none */
    bool imported;         /* another process counts it */
    struct sim_team *team; /* of a multicast object, which takes no memory; NULL: this is memory */
};

/* Drop one reference; the last one frees it. */
void sim_physical_drop(struct sim_physical *physical);
/* Return the object that is mapped at the address, NULL: nothing. */
struct sim_physical *sim_physical_at(uintptr_t address);
/* Drop its bindings. */
void sim_team_free(struct sim_team *team);

#endif
