/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind.h"
#include "rules.h"

static uintptr_t word_at(uintptr_t address)
{
    return *(const uintptr_t *)address;
}

/* Whether size bytes from an address on lie in the stack, above what was walked. */
static int is_above(uintptr_t address, uintptr_t sp, uintptr_t top)
{
    return address >= sp && address <= top - sizeof(uintptr_t) && address % sizeof(uintptr_t) == 0;
}

static void add(struct mt_walk *walk, uintptr_t pc)
{
    walk->pc[walk->n++] = pc;
    walk->a = (walk->a ^ pc) * 0x9e3779b97f4a7c15u;
    walk->a ^= walk->a >> 29;
    walk->b = (walk->b + pc) * 0xd6e8feb86659fd93u;
    walk->b ^= walk->b >> 32;
}

/* Out of a signal handler, perhaps onto another stack. */
static int leave_signal(struct mt_registers *at, struct mt_stack_bounds *bounds, uintptr_t *top,
                        const struct mt_rule *rule)
{
    uintptr_t saved = at->sp + (uintptr_t)(intptr_t)rule->cfa;
    uintptr_t bp = at->sp + (uintptr_t)(intptr_t)rule->bp_at;
    if (!is_above(saved + sizeof(uintptr_t), at->sp, *top) || !is_above(bp, at->sp, *top))
        return 0;
    *at = (struct mt_registers){word_at(saved + sizeof(uintptr_t)), word_at(saved), word_at(bp)};
    if (at->sp < saved || at->sp >= *top)
        *top = mt_stack_top(bounds, at->sp);
    return *top != 0;
}

/* To the caller: 1, or 0 where the walk ends. */
static int leave(struct mt_registers *at, uintptr_t top, const struct mt_rule *rule)
{
    uintptr_t base = rule->cfa_from == MT_CFA_SP ? at->sp : at->bp;
    uintptr_t cfa = base + (uintptr_t)(intptr_t)rule->cfa;
    if (rule->cfa_from == MT_CFA_AT_BP) {
        if (!is_above(cfa, at->sp, top))
            return 0;
        cfa = word_at(cfa);
    }
    if (cfa % sizeof(uintptr_t) || cfa <= at->sp || cfa > top)
        return 0;
    if (rule->bp_from != MT_BP_SAME) {
        uintptr_t saved =
            (rule->bp_from == MT_BP_AT_CFA ? cfa : at->bp) + (uintptr_t)(intptr_t)rule->bp_at;
        if (rule->bp_from == MT_BP_LOST)
            at->bp = 0;
        else if (is_above(saved, at->sp, top))
            at->bp = word_at(saved);
        else
            return 0;
    }
    uintptr_t back = word_at(cfa - sizeof(uintptr_t));
    at->sp = cfa;
    at->pc = back - 1;
    return back != 0;
}

void mt_unwind(struct mt_walk *walk, struct mt_stack_bounds *bounds, struct mt_registers at,
               const uintptr_t skip[2], int until_python)
{
    uintptr_t top = mt_stack_top(bounds, at.sp);
    walk->n = 0;
    walk->a = walk->b = 0;
    while (top && walk->n < MT_NATIVE_DEPTH) {
        struct mt_rule rule = mt_rule(at.pc);
        if (rule.cfa_from & MT_RULE_IS_PYTHON) {
            if (until_python)
                return;
            rule.cfa_from &= (uint8_t)~MT_RULE_IS_PYTHON;
        }
        if (walk->n || at.pc < skip[0] || at.pc >= skip[1])
            add(walk, at.pc);
        if (rule.cfa_from <= MT_CFA_END)
            return;
        if (rule.cfa_from == MT_CFA_SIGNAL ? !leave_signal(&at, bounds, &top, &rule)
                                           : !leave(&at, top, &rule))
            return;
    }
}
