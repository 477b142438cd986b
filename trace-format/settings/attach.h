/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What memtap attach and detach exchange with the thread that they start in a running process
 * (attach/): an anonymous file (memfd) of this name among the process's descriptors, while the
 * thread runs.
 */
#ifndef MT_SETTINGS_ATTACH_H
#define MT_SETTINGS_ATTACH_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#define MT_ATTACH_NAME "memtap-attach"
#define MT_ATTACH_VERSION 2u
#define MT_ATTACH_WAIT_S 10 /* for a request, from the start of the thread on */
#define MT_ATTACH_SETTINGS 16384u

enum mt_attach_state {
    MT_ATTACH_READY,     /* waits for a request */
    MT_ATTACH_REQUESTED, /* */
    MT_ATTACH_DONE,      /* `text` has the trace */
    MT_ATTACH_FAILED,    /* `text` says why; nothing is changed */
};

struct mt_attach_page {
    uint32_t version;
    uint32_t pid;           /* as the process sees itself */
    _Atomic uint32_t state; /* a futex */
    _Atomic uint32_t by;    /* the command that writes its request, a process; it may be killed */
    bool is_detach;
    uint32_t seconds, iterations;      /* to record at most; 0: no limit */
    char library[PATH_MAX];            /* libmemtap.so */
    char settings[MT_ATTACH_SETTINGS]; /* NAME=VALUE, each ended by a zero; then an empty one */
    char text[PATH_MAX + 256];
    uint32_t slots; /* that were set, or set back */
};

#endif
