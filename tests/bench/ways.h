/* SPDX-License-Identifier: Apache-2.0 */
/* Ways to one allocation: each bit of `way` chooses between two calls of the same function, so that
 * n bits make 2^n native stacks. The includer defines allocate(). */
#ifndef MT_BENCH_WAYS_H
#define MT_BENCH_WAYS_H

/* For two calls, that the compiler must not make one, or a loop. */
static volatile unsigned odd, even;

static void allocate(void);

static __attribute__((noinline)) void choose(unsigned way, unsigned bits)
{
    if (!bits) {
        allocate();
    } else if (way & 1) {
        choose(way >> 1, bits - 1);
        odd++;
    } else {
        choose(way >> 1, bits - 1);
        even++;
    }
}

#endif
