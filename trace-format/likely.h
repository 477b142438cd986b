/* SPDX-License-Identifier: Apache-2.0 */
/* The usual way of a branch, for code that each event passes. */
#ifndef MT_TRACE_LIKELY_H
#define MT_TRACE_LIKELY_H

#include <stddef.h>

#define MT_LIKELY(condition) __builtin_expect((condition) != 0, 1)
#define MT_UNLIKELY(condition) __builtin_expect((condition) != 0, 0)

/* Arguments passed between functions lie in memory, which costs the processor time. */
#define MT_ALWAYS_INLINE inline __attribute__((always_inline))

/*
 * Keep together what each event needs, in memory (MT_HOT, for variables) and in code (MT_HOT_CODE).
 * Between two events a program like PyTorch fills the processor's caches, and each line and page of
 * ours must then be fetched anew.
 */

#define MT_HOT __attribute__((section("mt_hot")))
#define MT_HOT_CODE __attribute__((hot))

/* Begin a cache line with a member. What a thread of the program writes at each event, and what the
 * writer reads or writes at each, lie on lines apart: else each access of the one takes the line
 * out of the other one's cache (16 ns of an event's 37 when both run). */
#define MT_CACHE_LINE 64u
#define MT_BEGIN_LINE _Alignas(MT_CACHE_LINE)
#define MT_ASSERT_APART(type, one, other)                                                          \
    _Static_assert(offsetof(type, one) / MT_CACHE_LINE != offsetof(type, other) / MT_CACHE_LINE,   \
                   #one " and " #other " are on one cache line")

#endif
