/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts the code objects that Python frees: while none was, an address of a code object means the
 * same one as before. Python's type of code objects says what frees one; we stand in front of it.
 */
#ifndef MT_PRELOAD_CODE_DEATHS_H
#define MT_PRELOAD_CODE_DEATHS_H

#include <stdatomic.h>
#include <stdint.h>

/* Starts at 1; 0: they are not counted. */
extern _Atomic uint64_t mt_code_deaths;

/* Begins to count, once. code_type: PyCode_Type. Where its memory is read-only, nothing happens. */
void mt_code_deaths_count(void *code_type);

#endif
