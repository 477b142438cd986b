/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory that a program without PyTorch had at the moment and did not use then, as far as copies
 * and sets of memory show it. A trace does not have the kernels' use of memory: the only certain
 * fact is that no copy or set was seen.
 */
#ifndef MT_IDLE_H
#define MT_IDLE_H

#include "analyzer/classify/classify.h"
#include "analyzer/model/sums.h"
#include "analyzer/replay/replay.h"

enum mt_idle_kind {
    MT_IDLE_NEVER, /* never touched: perhaps not needed */
    MT_IDLE_AFTER, /* last touched before the moment: perhaps freed late */
    MT_IDLE_UNTIL, /* first touched after it: perhaps allocated early */
    MT_IDLE_KINDS,
};

struct mt_idle {
    bool is_known;      /* copies or sets were seen, and all of them were recorded */
    const char *unseen; /* the calls that may have copied without being recorded; NULL: none */
    struct mt_sums kind[MT_IDLE_KINDS];
};

/* Return "never", "written", "after", "until". */
const char *mt_idle_name(enum mt_idle_kind kind);

/* Find idle blocks. moment_ns: the time of the moment on this device. verdicts: on the live blocks.
 * Memory without an address, or that the host can touch, is left out. Return 0 or -ENOMEM. Call
 * mt_idle_clear in any case. */
int mt_idle_find(struct mt_idle *idle, const struct mt_replay *replay, uint64_t moment_ns,
                 const struct mt_verdict *verdicts, size_t n);
void mt_idle_clear(struct mt_idle *idle);

#endif
