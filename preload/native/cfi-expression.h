/* SPDX-License-Identifier: Apache-2.0 */
/* DWARF expressions, used instead of "register + offset" by PLT entries, functions that align their
 * stack, and signal frames. */
#ifndef MT_PRELOAD_CFI_EXPRESSION_H
#define MT_PRELOAD_CFI_EXPRESSION_H

#include "cfi-cursor.h"

/* DWARF's numbers of x86-64 registers. */
enum { MT_REGISTER_BP = 6, MT_REGISTER_SP = 7, MT_REGISTER_PC = 16 };

struct mt_expression_value {
    enum { MT_VALUE_UNKNOWN, MT_VALUE_NUMBER, MT_VALUE_ADDRESS, MT_VALUE_WORD_AT } form;
    unsigned base; /* ADDRESS: this register + offset; WORD_AT: the word in memory there */
    int64_t offset;
};

/* Evaluate the expression for an instruction at pc, without the other registers' values. */
struct mt_expression_value mt_expression(struct mt_cfi_cursor expression, uintptr_t pc);

#endif
