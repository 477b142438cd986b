/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rules of code seen so far, found without a lock or a system call. The table has a fixed size;
 * a new rule may replace an older one. Code is identified by the address after it, as return
 * addresses identify calls.
 */
#ifndef MT_PRELOAD_RULES_H
#define MT_PRELOAD_RULES_H

#include "cfi.h"
#include "preload/loader/images.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#define MT_RULE_SET_BITS 13
#define MT_RULE_WAYS 4 /* slots for a rule, one cache line */

/* back is cleared before, and set after, the rule changes. */
struct mt_frame_rule_slot {
    _Atomic uintptr_t back; /* 0: the slot is free */
    _Atomic uint32_t how;   /* a struct mt_frame_rule without cfa*/
    _Atomic int32_t cfa;    /* what a walk waits for */
};

typedef struct mt_frame_rule_slot mt_frame_rule_set[MT_RULE_WAYS];

extern mt_frame_rule_set *_Atomic mt_frame_rules; /* NULL: nothing was prepared */

/* Set in cfa_from for code of the function that interprets Python. */
#define MT_RULE_IS_PYTHON 0x80

/* Return 0 or -ENOMEM. */
int mt_frame_rules_prepare(void);

/* Find the interpreter's function. Takes the loader's lock; may be called repeatedly. */
void mt_frame_rules_find_python(void);

/* Make a rule and keep it. */
struct mt_frame_rule mt_frame_rule_make(uintptr_t back);

/* Return the place of an address's set in the table, in bytes. Walks wait for this, too. */
static inline size_t mt_frame_rule_place(uintptr_t back)
{
    size_t mask =
        ((size_t)1 << MT_RULE_SET_BITS) * sizeof(mt_frame_rule_set) - sizeof(mt_frame_rule_set);
    return (back << 2 ^ back >> MT_RULE_SET_BITS) & mask;
}

/* A rule as in the table. */
struct mt_kept_rule {
    uint32_t how; /* a struct mt_frame_rule: all but cfa */
    int32_t cfa;
};

/* Return whether a rule is of the form that almost all code has: a frame of a known size, with the
 * caller's frame pointer in it or untouched. */
static inline bool mt_frame_rule_is_plain(struct mt_kept_rule rule)
{
    _Static_assert(MT_BP_SAME == 0 && MT_BP_AT_CFA == 1, "the lowest bit tells which");
    return (rule.how & 0xfeff) == MT_CFA_SP;
}

static inline bool mt_frame_rule_has_bp(struct mt_kept_rule rule)
{
    return (rule.how & MT_BP_AT_CFA << 8) != 0;
}

static inline struct mt_frame_rule mt_frame_rule_unpack(struct mt_kept_rule kept)
{
    struct mt_frame_rule rule;
    memcpy(&rule, &kept, sizeof rule);
    return rule;
}

static inline struct mt_kept_rule mt_frame_rule_pack(struct mt_frame_rule rule)
{
    struct mt_kept_rule kept;
    memcpy(&kept, &rule, sizeof kept);
    return kept;
}

/* Return the rule for the code before an address. sets is mt_frame_rules, prepared. For the address
 * 0 the result may be zeros. Any thread. */
static inline struct mt_kept_rule mt_frame_rule(const void *sets, uintptr_t back)
{
    const struct mt_frame_rule_slot *slot =
        (const void *)((const char *)sets + mt_frame_rule_place(back));
    for (unsigned i = 0; i < MT_RULE_WAYS; i++, slot++) {
        if (atomic_load_explicit(&slot->back, memory_order_acquire) != back)
            continue;
        struct mt_kept_rule kept;
        kept.how = atomic_load_explicit(&slot->how, memory_order_acquire);
        kept.cfa = atomic_load_explicit(&slot->cfa, memory_order_acquire);
        if (atomic_load_explicit(&slot->back, memory_order_relaxed) != back)
            break;
        return kept;
    }
    return mt_frame_rule_pack(mt_frame_rule_make(back));
}

/* How often one image's code replaced another's: older facts about an address may be wrong. Read it
 * after the walk that may have seen the code. */
extern _Atomic uint32_t mt_code_changes;

/* How often rules were forgotten, from 1: cached copies of them may be of unloaded code. */
extern _Atomic uint32_t mt_frame_rules_forgotten;

/* Forget the rules of unloaded images. Call after dlclose. */
void mt_frame_rules_check_images(void);

/* Reset in a forked child. */
void mt_frame_rules_reset(void);

#endif
