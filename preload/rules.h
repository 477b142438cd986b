/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rules of the program counters that were met, kept: found without a lock or a system call.
 * A table of fixed size, in which a newcomer takes an older one's place.
 */
#ifndef MT_PRELOAD_RULES_H
#define MT_PRELOAD_RULES_H

#include "objects.h"

#include <stdatomic.h>
#include <string.h>

#define MT_RULE_SET_BITS 13
#define MT_RULE_WAYS 4 /* slots that a pc can be in: a cache line */

/* pc is cleared before, and set after, the rule changes. */
struct mt_rule_slot {
    _Atomic uint64_t pc;
    _Atomic uint64_t rule; /* a struct mt_rule */
};

typedef struct mt_rule_slot mt_rule_set[MT_RULE_WAYS];

extern mt_rule_set *_Atomic mt_rules; /* NULL: nothing was prepared */

/* Set in cfa_from for code of the function that interprets Python. */
#define MT_RULE_IS_PYTHON 0x80

/* 0, or -ENOMEM. */
int mt_rules_prepare(void);

/* Looks for the interpreter's function. Takes the loader's lock; any number of times. */
void mt_rules_find_python(void);

/* Makes the rule and keeps it. */
struct mt_rule mt_rule_make(uintptr_t pc);

#define MT_RULE_MIX 0x9e3779b97f4a7c15u

/* Where in the table the set of a pc is, in bytes; mixed: pc * MT_RULE_MIX. */
static inline size_t mt_rule_place(uint64_t mixed)
{
    size_t size = sizeof(mt_rule_set);
    return (mixed >> (64 - MT_RULE_SET_BITS)) * size;
}

/* The rule for a program counter, from its set. Any thread. */
static inline struct mt_rule mt_rule_in(const void *set, uintptr_t pc)
{
    const struct mt_rule_slot *slot = set;
    struct mt_rule rule;
    for (unsigned i = 0; i < MT_RULE_WAYS; i++, slot++) {
        if (atomic_load_explicit(&slot->pc, memory_order_acquire) != pc)
            continue;
        uint64_t bits = atomic_load_explicit(&slot->rule, memory_order_acquire);
        if (atomic_load_explicit(&slot->pc, memory_order_relaxed) != pc)
            break;
        memcpy(&rule, &bits, sizeof rule);
        return rule;
    }
    return mt_rule_make(pc);
}

/* The objects of all code that has a rule, so that rules go when their object does. */

/* Counts the times that objects have gone: what was known of an address before may be wrong. */
extern _Atomic uint32_t mt_code_changes;

/* To be called after dlclose: forgets the rules for what is no longer there. */
void mt_rules_check_objects(void);

/* For a forked child. */
void mt_rules_reset(void);

#endif
