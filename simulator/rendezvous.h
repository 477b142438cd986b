/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A meeting place for a rank whose peers are absent: a server of torch's TCPStore, to which the
 * rank connects as to torchrun's agent. Where the rank waits for what a peer would have said, the
 * server answers at once if it knows the answer: barriers and flags that are only waited for, what
 * this rank has set for itself, names of communicators. For another value it waits, as it
 * would for a peer that never sets it.
 */
#ifndef SIM_RENDEZVOUS_H
#define SIM_RENDEZVOUS_H

#include <stdint.h>

/* Start the server in a process of its own, which is nobody's child and ends with the calling
 * process, also after that calls exec. *port: where it listens on 127.0.0.1, a free one. Return 0
 * or a negative errno. */
int sim_rendezvous_start(uint16_t *port);

#endif
