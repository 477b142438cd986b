/* SPDX-License-Identifier: Apache-2.0 */
/* What libFuzzer calls, by its name for it; the programs with mutations of their own do as well. */
#ifndef MT_FUZZ_TARGET_H
#define MT_FUZZ_TARGET_H

#include <stddef.h>
#include <stdint.h>

/* Takes the bytes for a file of the program's kind, and aborts where something is wrong. Returns 0.
 */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

#endif
