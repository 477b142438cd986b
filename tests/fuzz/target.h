/* SPDX-License-Identifier: Apache-2.0 */
/* What libFuzzer calls, by its name for it; main.c calls it where there is no libFuzzer. */
#ifndef MT_FUZZ_TARGET_H
#define MT_FUZZ_TARGET_H

#include <stddef.h>
#include <stdint.h>

/* Reads the input as the harness's kind of thing, and aborts where something is wrong. Returns 0.
 */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

#endif
