/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The switch of a process that is loaded with the recorder but does not record (MEMTAP_START=off,
 * memtap stop): an anonymous file (memfd) of this name among its descriptors, which memtap start
 * finds in /proc. The process maps it and looks at one word.
 */
#ifndef MT_SETTINGS_SWITCH_H
#define MT_SETTINGS_SWITCH_H

#include <limits.h>
#include <stdint.h>

#define MT_SWITCH_NAME "memtap-switch"
#define MT_SWITCH_VERSION 1u

struct mt_switch {
    uint32_t version;
    uint32_t pid; /* as the process sees itself */
    /* Other processes write these, the last one last: for how many seconds and iterations the
     * newest request wants a recording, 0: until it is stopped; and how often one was made. */
    _Atomic uint32_t seconds, iterations, wanted;
    _Atomic uint32_t answered;     /* the newest request that was followed: `trace` is valid */
    _Atomic uint32_t is_recording; /* now */
    char folder[PATH_MAX];         /* of the trace to be written */
    char trace[PATH_MAX];          /* being written; "": it could not be created */
};

#endif
