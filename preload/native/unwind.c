/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind.h"
#include "rules.h"
#include "trace-format/likely.h"

#include <stdbool.h>
#include <string.h>

#define WORD sizeof(uintptr_t)
#define FRAME 16u /* frames' sizes are multiples of this */

static uintptr_t word_at(uintptr_t address)
{
    return *(const uintptr_t *)address;
}

/* Return whether the word at an address is in the rest of the stack. */
static bool is_left(uintptr_t address, uintptr_t sp, uintptr_t top)
{
    return address >= sp && address <= top - WORD;
}

/* The state of a walk. */
struct way {
    struct mt_registers at;
    uintptr_t top;             /* of the stack */
    struct mt_seen_walk *seen; /* where the walk is kept; NULL: it is not */
    bool has_own_bp;           /* the frame pointer is still that of the walk's start */
    struct mt_stack_bounds *bounds;
};

/* Return whether a CFA is in the stack, of which more may be readable than was checked at first. */
static bool reaches(struct way *way, uintptr_t cfa)
{
    if (cfa <= way->top)
        return true;
    uintptr_t top = mt_stack_top_beyond(way->bounds, way->at.sp, way->top);
    if (top > way->top)
        way->seen = NULL; /* the next walk checks less */
    way->top = top;
    return cfa <= top;
}

static inline uintptr_t take(const struct way *way, uintptr_t address)
{
    if (way->seen)
        mt_seen_read(way->seen, address);
    return word_at(address);
}

/* Restore the caller's frame pointer. Return 0 if it is not where the rule says. */
static inline int leave_bp(struct way *way, uintptr_t cfa, struct mt_frame_rule rule)
{
    struct mt_registers *at = &way->at;
    uintptr_t at_cfa = cfa + (uintptr_t)(intptr_t)rule.bp_at;
    uintptr_t at_bp = at->bp + (uintptr_t)(intptr_t)rule.bp_at;
    if (rule.bp_from == MT_BP_SAME)
        return 1;
    way->has_own_bp = false;
    if (rule.bp_from == MT_BP_AT_CFA) {
        at->bp = at_cfa >= at->sp ? take(way, at_cfa) : 0;
        return at_cfa >= at->sp;
    }
    if (rule.bp_from == MT_BP_AT_BP) {
        at->bp = is_left(at_bp, at->sp, way->top) ? take(way, at_bp) : 0;
        return is_left(at_bp, at->sp, way->top);
    }
    at->bp = 0;
    return 1;
}

/* Leave a signal handler's frame, perhaps onto another stack. */
static bool leave_signal(struct way *way, struct mt_frame_rule rule)
{
    struct mt_registers *at = &way->at;
    uintptr_t saved = at->sp + (uintptr_t)(intptr_t)rule.cfa;
    uintptr_t bp = at->sp + (uintptr_t)(intptr_t)rule.bp_at;
    way->seen = NULL;
    if (!is_left(saved + WORD, at->sp, way->top) || !is_left(bp, at->sp, way->top))
        return false;
    *at = (struct mt_registers){word_at(saved + WORD) + 1, word_at(saved), word_at(bp)};
    if (at->sp < saved || at->sp >= way->top)
        way->top = mt_stack_top(way->bounds, at->sp);
    return way->top != 0;
}

/* Leave by a rare rule. Return 1, or 0 if the walk ends. */
static int leave_rarely(struct way *way, struct mt_frame_rule rule)
{
    struct mt_registers *at = &way->at;
    uintptr_t place = at->bp + (uintptr_t)(intptr_t)rule.cfa;
    if (rule.cfa_from == MT_CFA_SIGNAL)
        return leave_signal(way, rule);
    if (rule.cfa_from != MT_CFA_AT_BP || !is_left(place, at->sp, way->top))
        return 0;
    uintptr_t cfa = take(way, place);
    if (cfa <= at->sp || cfa % WORD || !reaches(way, cfa) || !leave_bp(way, cfa, rule))
        return 0;
    at->back = take(way, cfa - WORD);
    at->sp = cfa;
    return 1;
}

/* Return cfa, predicted for the processor by its last value at this stack pointer, so that it can
 * read the next return address without waiting for the rule, and handle frames in parallel. */
static inline uintptr_t foresee(struct mt_foresight *foresight, uintptr_t sp, uintptr_t cfa)
{
    uintptr_t *place = &foresight->cfa[sp / FRAME % MT_FORESIGHT];
    uintptr_t foreseen = *place, same = foreseen;
    __asm__("" : "+r"(same)); /* keeps the compiler from merging the two */
    if (MT_LIKELY(same == cfa))
        return foreseen;
    *place = cfa;
    return cfa;
}

static inline struct mt_near_rule *near_place(struct mt_foresight *foresight, uint64_t mixed)
{
    return &foresight->near[mixed >> (64 - MT_NEAR_BITS)];
}

static void keep_near(struct mt_near_rule *near, uintptr_t back, struct mt_kept_rule kept)
{
    struct mt_frame_rule rule = mt_frame_rule_unpack(kept);
    *near = (struct mt_near_rule){back, rule.cfa, mt_frame_rule_has_bp(kept) ? rule.bp_at : 0};
}

/* Forget near rules if code may have been unloaded. */
static inline void forget(struct mt_foresight *foresight)
{
    uint32_t forgotten = atomic_load_explicit(&mt_frame_rules_forgotten, memory_order_acquire);
    if (MT_LIKELY(forgotten == foresight->forgotten))
        return;
    if (foresight->forgotten)
        memset(foresight->near, 0, sizeof foresight->near);
    foresight->near[0].back = 1; /* the slot of address 0, so that 0 is never found */
    foresight->forgotten = forgotten;
}

/* Leave by a rule with another place of the CFA or the frame pointer. */
static int leave(struct way *way, struct mt_frame_rule rule)
{
    struct mt_registers *at = &way->at;
    rule.cfa_from &= (uint8_t)~MT_RULE_IS_PYTHON;
    if (way->seen && way->has_own_bp && rule.cfa_from != MT_CFA_UNKNOWN)
        way->seen->needs_bp = true;
    if (MT_UNLIKELY(rule.cfa_from != MT_CFA_SP && rule.cfa_from != MT_CFA_BP))
        return leave_rarely(way, rule);
    uintptr_t cfa = (rule.cfa_from == MT_CFA_SP ? at->sp : at->bp) + (uintptr_t)(intptr_t)rule.cfa;
    if (MT_UNLIKELY(cfa <= at->sp || cfa % WORD || !reaches(way, cfa)))
        return 0;
    if (!leave_bp(way, cfa, rule))
        return 0;
    at->back = take(way, cfa - WORD);
    at->sp = cfa;
    return 1;
}

/* Continue the walk from way->at. */
static void walk_on(struct mt_walk *walk, struct mt_foresight *foresight, struct way *way,
                    int until_python)
{
    struct mt_registers at = way->at;
    /* Not in *walk: the compiler must assume that the stack's words alias it. */
    mt_walk_sum sum = 0;
    uint64_t factor = MT_WALK_MIX;
    uintptr_t *out = walk->back, *end = out + MT_WALK_DEPTH;
    uintptr_t bp_at = 0; /* address of the frame pointer, if it is not in at.bp: read when needed */
    uint32_t stop = until_python ? MT_RULE_IS_PYTHON : 0; /* cfa_from comes first in how */
    const void *sets = atomic_load_explicit(&mt_frame_rules, memory_order_relaxed);
    uintptr_t top = way->top;
    bool is_kept = way->seen != NULL;
    while (out < end) {
        uint64_t mixed = at.back * MT_WALK_MIX;
        struct mt_near_rule *near = near_place(foresight, mixed);
        struct mt_kept_rule rule = {0, 0};
        bool is_near = MT_LIKELY(near->back == at.back);
        if (!is_near) {
            rule = mt_frame_rule(sets, at.back);
            if (rule.how & stop)
                break;
            is_near = mt_frame_rule_is_plain(rule);
            if (is_near)
                keep_near(near, at.back, rule);
        }
        *out++ = at.back;
        sum += mt_walk_part(mixed, factor);
        factor *= MT_WALK_MIX;
        if (MT_LIKELY(is_near)) {
            uintptr_t cfa = at.sp + (uintptr_t)(intptr_t)near->cfa;
            uintptr_t saved = cfa + (uintptr_t)(intptr_t)near->bp_at;
            if (MT_UNLIKELY(cfa > top)) {
                way->at.sp = at.sp;
                if (!reaches(way, cfa))
                    break;
                top = way->top;
                is_kept = false;
            }
            bp_at = near->bp_at ? saved : bp_at;
            at.sp = foresee(foresight, at.sp, cfa);
            at.back = word_at(at.sp - WORD);
            if (is_kept)
                mt_seen_read(way->seen, at.sp - WORD);
        } else {
            way->at = at;
            if (bp_at) {
                way->at.bp = take(way, bp_at);
                way->has_own_bp = false;
            }
            bp_at = 0;
            if (!leave(way, mt_frame_rule_unpack(rule)))
                break;
            at = way->at;
            top = way->top;
            is_kept = way->seen != NULL;
        }
    }
    /* Without a mark on the outermost frame, its return address may be 0. */
    walk->n = (unsigned)(out - walk->back) - (out > walk->back && out[-1] == 0);
    walk->sum = sum;
}

void mt_unwind(struct mt_walk *walk, struct mt_stack_bounds *bounds, struct mt_foresight *foresight,
               struct mt_registers at, unsigned how)
{
    int until_python = (how & MT_UNTIL_PYTHON) != 0;
    struct way way = {at, mt_stack_top(bounds, at.sp), NULL, 1, bounds};
    struct mt_seen_set *set = mt_seen_set(&foresight->seen, at.sp);
    forget(foresight);
    walk->n = 0;
    walk->sum = 0;
    walk->may_keep = false;
    if (!way.top)
        return;
    if (mt_seen_is_worth_it(set))
        way.seen = mt_seen_begin(&foresight->seen, at.sp, at.bp);
    set->skipped++;
    struct mt_walk_start start = {at.back, at.sp, way.top, foresight->forgotten, until_python};
    walk_on(walk, foresight, &way, until_python);
    walk->may_keep = way.seen && way.seen->n <= MT_SEEN_WORDS;
    foresight->seen.now.start = start;
}

unsigned mt_unwind_places(struct mt_stack_bounds *bounds, struct mt_registers at,
                          struct mt_frame_place *out, unsigned most)
{
    const void *sets = atomic_load_explicit(&mt_frame_rules, memory_order_relaxed);
    struct way way = {.at = at, .bounds = bounds};
    unsigned n = 0;
    if (sets)
        way.top = mt_stack_top(bounds, at.sp);
    while (way.top && n < most && way.at.back) {
        out[n].back = way.at.back;
        if (!leave(&way, mt_frame_rule_unpack(mt_frame_rule(sets, way.at.back))))
            break;
        out[n++].end = way.at.sp;
    }
    return n;
}
