/* SPDX-License-Identifier: Apache-2.0 */
/* Branch hints and placement for code that runs at each event. */
#ifndef MT_TRACE_LIKELY_H
#define MT_TRACE_LIKELY_H

#include <stddef.h>

#define MT_LIKELY(condition) __builtin_expect((condition) != 0, 1)
#define MT_UNLIKELY(condition) __builtin_expect((condition) != 0, 0)

/* Arguments passed between functions go through memory, which costs time. */
#define MT_ALWAYS_INLINE inline __attribute__((always_inline))

/*
 * Keep what each event needs together, in memory (MT_HOT, for variables) and in code (MT_HOT_CODE).
 * Between two events a program like PyTorch evicts our lines and pages from the caches.
 */

#define MT_HOT __attribute__((section("mt_hot")))
#define MT_HOT_CODE __attribute__((hot))

/* Begin a cache line with this member. What an application thread writes at each event and what the
 * writer reads or writes are on separate lines: shared lines cost 16 of an event's 37 ns when both
 * run. */
#define MT_CACHE_LINE 64u
#define MT_BEGIN_LINE _Alignas(MT_CACHE_LINE)
#define MT_ASSERT_APART(type, one, other)                                                          \
    _Static_assert(offsetof(type, one) / MT_CACHE_LINE != offsetof(type, other) / MT_CACHE_LINE,   \
                   #one " and " #other " are on one cache line")

#endif
