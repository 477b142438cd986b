/* SPDX-License-Identifier: Apache-2.0 */
/* Digests of two runs that an input describes: half of it each. */
#ifndef MT_FUZZ_TWO_RUNS_H
#define MT_FUZZ_TWO_RUNS_H

#include "compare/digest/digest.h"

struct mt_two_runs {
    struct mt_digest run[2];
    const uint8_t *choices; /* five bytes of the first one's header */
};

/* 0, or -1 where the input is too short. To be cleared where it is 0. */
int mt_two_runs_read(struct mt_two_runs *two, const uint8_t *bytes, size_t size);
void mt_two_runs_clear(struct mt_two_runs *two);

#endif
