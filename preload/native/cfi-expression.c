/* SPDX-License-Identifier: Apache-2.0 */
#include "cfi-expression.h"

#define DEPTH 8

enum {
    OP_DEREF = 0x06,
    OP_CONST1U = 0x08,
    OP_CONST8S = 0x0f,
    OP_CONSTU = 0x10,
    OP_CONSTS = 0x11,
    OP_AND = 0x1a,
    OP_MINUS = 0x1c,
    OP_PLUS = 0x22,
    OP_PLUS_UCONST = 0x23,
    OP_SHL = 0x24,
    OP_GE = 0x2a,
    OP_LIT0 = 0x30,
    OP_BREG0 = 0x70,
    OP_END = 0x90, /* one more than the last OP_BREG */
};

typedef struct mt_expression_value value;

static const value unknown = {MT_VALUE_UNKNOWN, 0, 0};

static value number(int64_t n)
{
    return (value){MT_VALUE_NUMBER, 0, n};
}

static value moved(value from, int64_t by)
{
    if (from.form != MT_VALUE_NUMBER && from.form != MT_VALUE_ADDRESS)
        return unknown;
    from.offset += by;
    return from;
}

static value combine(unsigned op, value a, value b)
{
    if (op == OP_PLUS)
        return b.form == MT_VALUE_NUMBER   ? moved(a, b.offset)
               : a.form == MT_VALUE_NUMBER ? moved(b, a.offset)
                                           : unknown;
    if (b.form != MT_VALUE_NUMBER)
        return unknown;
    if (op == OP_MINUS)
        return moved(a, -b.offset);
    if (a.form != MT_VALUE_NUMBER)
        return unknown;
    switch (op) {
    case OP_AND:
        return number(a.offset & b.offset);
    case OP_SHL:
        return number(b.offset >= 0 && b.offset < 64
                          ? (int64_t)((uint64_t)a.offset << (uint64_t)b.offset)
                          : 0);
    case OP_GE:
        return number(a.offset >= b.offset);
    }
    return unknown;
}

/* Return the value of an operation without operands on the stack. */
static value constant(struct mt_cfi_cursor *cursor, unsigned op, uintptr_t pc)
{
    if (op >= OP_LIT0 && op < OP_LIT0 + 32)
        return number(op - OP_LIT0);
    if (op >= OP_BREG0 && op < OP_BREG0 + 32) {
        int64_t offset = mt_cfi_read_sleb(cursor);
        if (op - OP_BREG0 == MT_REGISTER_PC)
            return number((int64_t)pc + offset);
        return (value){MT_VALUE_ADDRESS, op - OP_BREG0, offset};
    }
    if (op >= OP_CONST1U && op <= OP_CONST8S) {
        unsigned bytes = 1u << ((op - OP_CONST1U) / 2);
        return number(op % 2 ? mt_cfi_read_signed(cursor, bytes)
                             : (int64_t)mt_cfi_read(cursor, bytes));
    }
    if (op == OP_CONSTU)
        return number((int64_t)mt_cfi_read_uleb(cursor));
    if (op == OP_CONSTS)
        return number(mt_cfi_read_sleb(cursor));
    return unknown;
}

struct mt_expression_value mt_expression(struct mt_cfi_cursor expression, uintptr_t pc)
{
    value stack[DEPTH];
    unsigned n = 0;
    while (expression.at < expression.end) {
        unsigned op = (unsigned)mt_cfi_read(&expression, 1);
        if (op == OP_DEREF && n >= 1 && stack[n - 1].form == MT_VALUE_ADDRESS) {
            stack[n - 1].form = MT_VALUE_WORD_AT;
        } else if (op == OP_PLUS_UCONST && n >= 1) {
            stack[n - 1] = moved(stack[n - 1], (int64_t)mt_cfi_read_uleb(&expression));
        } else if ((op == OP_PLUS || op == OP_MINUS || op == OP_AND || op == OP_SHL ||
                    op == OP_GE) &&
                   n >= 2) {
            n--;
            stack[n - 1] = combine(op, stack[n - 1], stack[n]);
        } else {
            if (n == DEPTH)
                return unknown;
            stack[n] = constant(&expression, op, pc);
            if (stack[n++].form == MT_VALUE_UNKNOWN)
                return unknown;
        }
    }
    return n && !expression.failed ? stack[n - 1] : unknown;
}
