/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which contents are known: what the program copied to the device, and what was computed from that
 * alone. A content belongs to a tensor's storage and is found by the address of its first byte.
 * Thread-safe.
 */
#ifndef SIM_KNOWN_H
#define SIM_KNOWN_H

#include "../base/base.h"

enum sim_known {
    SIM_FRESH,   /* no known writer */
    SIM_KNOWN,   /* as on a card */
    SIM_EVEN,    /* choices among few things by unknown values: the counts are plausible, the
                  * individual choices are not */
    SIM_CHOSEN,  /* depends on a choice among many unknown values: valid, but arbitrary */
    SIM_FOUND,   /* a mask of unknown values, or what was computed from one: true as often as
                  * CUDASIM_BOXES says */
    SIM_UNKNOWN, /* would have been written by a kernel that did not run */
};

SIM_API enum sim_known sim_known(const void *storage);
/* Return whether its values can be used in computations. */
static inline bool sim_is_settled(enum sim_known known)
{
    return known >= SIM_KNOWN && known <= SIM_FOUND;
}

SIM_API void sim_know(const void *storage, enum sim_known known);

/* What copies from the device return on this thread where kernels that did not run would have
 * written. */
SIM_API extern _Thread_local struct sim_answer {
    bool expected; /* the next copy of a few bytes returns this number */
    int64_t number;
    bool
        finds; /* each copy of a pair (whether something was found, and where) returns true and 0 */
} sim_answer;

#endif
