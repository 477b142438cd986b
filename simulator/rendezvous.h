/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A meeting place for a rank whose peers are absent: a server for torch's TCPStore, to which the
 * rank connects as to torchrun's agent. If the rank waits for something that a peer would have set,
 * the server answers at once if it knows the answer: barriers and flags that are only waited for,
 * what this rank has set itself, names of communicators. For another value it waits, as for a peer
 * that never sets it.
 */
#ifndef SIM_RENDEZVOUS_H
#define SIM_RENDEZVOUS_H

#include <stdint.h>

/* Start the server in a detached process that ends with the calling process, also after that calls
 * exec. *port is where it listens on 127.0.0.1, a free port. Return 0 or a negative errno. */
int sim_rendezvous_start(uint16_t *port);

#endif
