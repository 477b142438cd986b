/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MT_FUZZ_TRACE_H
#define MT_FUZZ_TRACE_H

#include "target.h"

/* As the target, which reads the bytes as a trace, analyzes it and prints reports to nowhere: with
 * a trace of nothing but a header, id 4711, and the bytes as its tail. */
void mt_fuzz_tail(const uint8_t *bytes, size_t size);

#endif
