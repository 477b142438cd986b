/* SPDX-License-Identifier: Apache-2.0 */
/* Moments by chance, the same again with MEMTAP_TEST_SEED=N. */
#ifndef MT_TESTS_SEED_H
#define MT_TESTS_SEED_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static uint64_t test_seed;

/* In main, before the tests. Says which it is. */
static inline void begin_seed(void)
{
    const char *given = getenv("MEMTAP_TEST_SEED");
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    test_seed = given ? strtoull(given, NULL, 10) : (uint64_t)now.tv_sec;
    printf("MEMTAP_TEST_SEED=%llu\n", (unsigned long long)test_seed);
    fflush(stdout);
}

/* Of round i: below `most`. */
static inline unsigned by_chance(int i, unsigned most)
{
    uint64_t state = test_seed * 0x9e3779b97f4a7c15u + (uint64_t)(i + 1) * 0xd1342543de82ef95u;
    state = (state ^ state >> 32) * 0x9e3779b97f4a7c15u;
    return (unsigned)((state >> 32) % most);
}

#endif
