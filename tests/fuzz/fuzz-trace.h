/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MT_FUZZ_TRACE_H
#define MT_FUZZ_TRACE_H

#include <stddef.h>
#include <stdint.h>

/* Reads the bytes as a trace, analyzes it and prints both reports to nowhere. Returns 0. The name
 * is libFuzzer's. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

/* The same with a trace of nothing but a header, id 4711, and the bytes as its tail. */
void mt_fuzz_tail(const uint8_t *bytes, size_t size);

#endif
