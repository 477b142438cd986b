/* SPDX-License-Identifier: Apache-2.0 */
/* The usual way of a branch, for code that each event passes. */
#ifndef MT_TRACE_LIKELY_H
#define MT_TRACE_LIKELY_H

#define MT_LIKELY(condition) __builtin_expect((condition) != 0, 1)
#define MT_UNLIKELY(condition) __builtin_expect((condition) != 0, 0)

#endif
