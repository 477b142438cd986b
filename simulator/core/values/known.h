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
    SIM_EVEN,    /* choices among few things by values that are not known: how many chose what is
                  * plausible, which one chose what is not */
    SIM_CHOSEN,  /* depends on a choice among many values that are not known: real, but any */
    SIM_UNKNOWN, /* a kernel that did not run would have written it */
};

SIM_API enum sim_known sim_known(const void *storage);
/* Return whether its values can be computed with. */
static inline bool sim_is_settled(enum sim_known known)
{
    return known >= SIM_KNOWN && known <= SIM_CHOSEN;
}

SIM_API void sim_know(const void *storage, enum sim_known known);

/* What copies from the device on this thread bring, where kernels that did not run would have left
 * it. */
SIM_API extern _Thread_local struct sim_answer {
    bool expected; /* the next one of a few bytes brings this number: */
    int64_t number;
    bool finds; /* each one of a pair, whether and where something was found, brings yes and 0 */
} sim_answer;

#endif
