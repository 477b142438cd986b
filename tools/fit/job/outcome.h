/* SPDX-License-Identifier: Apache-2.0 */
/* What a run showed. */
#ifndef MT_FIT_OUTCOME_H
#define MT_FIT_OUTCOME_H

#include <stdbool.h>
#include <stdint.h>

/* O(enumerator, name in JSON) */
/* clang-format off */
#define MT_FIT_ENDS(O)                                                                             \
    O(FITS, "fits")                                                                                \
    O(FULL, "out of memory")                                                                       \
    O(REFUSED, "refused")                                                                          \
    O(KILLED, "killed")                                                                            \
    O(LATE, "timeout")                                                                             \
    O(UNSEEN, "no trace")                                                                          \
    O(BROKEN, "not started")
/* clang-format on */

enum mt_fit_end {
#define MT_FIT_ENUM(id, name) MT_FIT_##id,
    MT_FIT_ENDS(MT_FIT_ENUM)
#undef MT_FIT_ENUM
};

const char *mt_fit_end_name(enum mt_fit_end end);

/* All sizes in bytes, of the fullest card of the run. */
struct mt_outcome {
    enum mt_fit_end end;
    int exit_code, signal;        /* of the program, where that says why */
    bool was_caught;              /* memory ran out, and the program continued */
    bool was_stopped;             /* its peak was known before its end */
    uint32_t iterations;          /* of training, that were complete */
    uint64_t used;                /* the most that was taken of the card, by anybody */
    uint64_t floor;               /* what of this PyTorch's cache is not */
    uint64_t need;                /* the smallest card that would do, by a replay; 0: not known */
    uint64_t reserved, allocated; /* the most that PyTorch had reserved, and allocated */
    uint64_t flushes;             /* how often PyTorch gave its cache back to go on */
    uint64_t wanted;              /* when memory ran out */
    uint64_t host;                /* the most that the processes had in the host's memory */
    uint64_t host_now;            /* while it goes on */
    uint64_t wall_ns;
    char unknown[1024]; /* which sizes hang on values that were not computed; "": none */
    char last[1024];    /* the last lines that the program printed, where it ended badly */
};

#endif
