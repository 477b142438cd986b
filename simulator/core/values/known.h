/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which contents are the program's: what it copied to the device, and what was computed from that
 * alone. A content is that of a tensor's storage, found by the address of its first byte.
 * Thread-safe.
 */
#ifndef SIM_KNOWN_H
#define SIM_KNOWN_H

#include "../base/base.h"

enum sim_known {
    SIM_FRESH,   /* nobody that is known wrote to it */
    SIM_KNOWN,   /* as on a card */
    SIM_UNKNOWN, /* a kernel that did not run would have written it */
};

SIM_API enum sim_known sim_known(const void *storage);
SIM_API void sim_know(const void *storage, enum sim_known known);

/* The next copy of a few bytes from the device on this thread brings this number, where a kernel
 * that did not run would have left it. */
SIM_API extern _Thread_local struct sim_answer {
    bool expected;
    int64_t number;
} sim_answer;

#endif
