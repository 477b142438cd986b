/* SPDX-License-Identifier: Apache-2.0 */
#include "rules.h"
#include "memory.h"

#include <dlfcn.h>
#include <errno.h>
#include <sched.h>

#define SETS (1u << MT_RULE_SET_BITS)
#define MOST_OBJECTS 4096u

_Static_assert(offsetof(struct mt_rule, cfa) == sizeof(uint32_t), "the rest is half a word");

mt_rule_set *_Atomic mt_rules;
_Atomic uint32_t mt_code_changes;

static struct {
    _Atomic int lock;         /* for a few memory accesses: it is tried, or spun for */
    _Atomic uintptr_t python; /* an address in the interpreter's function; 0: there is none */
    struct mt_object *object;
    uint32_t n_objects, next_victim;
} state;

static int try_lock(void)
{
    return !atomic_exchange_explicit(&state.lock, 1, memory_order_acquire);
}

static void unlock(void)
{
    atomic_store_explicit(&state.lock, 0, memory_order_release);
}

int mt_rules_prepare(void)
{
    if (atomic_load(&mt_rules)) /* a forked child's: what its parent knew still holds */
        return 0;
    mt_rule_set *sets = mt_map(SETS * sizeof *sets);
    state.object = mt_map(MOST_OBJECTS * sizeof *state.object);
    if (!sets || !state.object) {
        mt_unmap(sets, SETS * sizeof *sets);
        mt_unmap(state.object, MOST_OBJECTS * sizeof *state.object);
        return -ENOMEM;
    }
    atomic_store(&mt_rules, sets);
    return 0;
}

void mt_rules_find_python(void)
{
    mt_objects_prepare();
    atomic_store(&state.python, (uintptr_t)dlsym(RTLD_DEFAULT, "_PyEval_EvalFrameDefault"));
}

/* With the lock: whether the object is, or now gets, among those that are looked after. */
static int watch(const struct mt_object *object)
{
    for (uint32_t i = 0; i < state.n_objects; i++)
        if (state.object[i].start == object->start)
            return 1;
    if (state.n_objects == MOST_OBJECTS)
        return 0;
    state.object[state.n_objects++] = *object;
    return 1;
}

static struct mt_rule_slot *slot_for(uintptr_t back)
{
    char *sets = (char *)atomic_load(&mt_rules);
    struct mt_rule_slot *set = (void *)(sets + mt_rule_place(back));
    for (unsigned i = 0; i < MT_RULE_WAYS; i++)
        if (set[i].back == back || !set[i].back)
            return &set[i];
    return &set[state.next_victim++ % MT_RULE_WAYS];
}

/* Where another thread is at it, the rule is not kept this time. */
static void keep(const struct mt_object *object, uintptr_t back, const struct mt_rule *rule)
{
    uint32_t how;
    memcpy(&how, rule, sizeof how);
    if (!try_lock())
        return;
    if (watch(object)) {
        struct mt_rule_slot *slot = slot_for(back);
        atomic_store(&slot->back, 0);
        atomic_store(&slot->how, how);
        atomic_store(&slot->cfa, rule->cfa);
        atomic_store(&slot->back, back);
    }
    unlock();
}

struct mt_rule mt_rule_make(uintptr_t back)
{
    struct mt_object object;
    uintptr_t pc = back - 1, function[2], python = atomic_load(&state.python);
    if (mt_object_find(pc, &object))
        return (struct mt_rule){.cfa_from = MT_CFA_UNKNOWN}; /* not kept: a library may come */
    struct mt_rule rule = mt_cfi_rule(&object, pc, function);
    if (python >= function[0] && python < function[1])
        rule.cfa_from |= MT_RULE_IS_PYTHON;
    keep(&object, back, &rule);
    return rule;
}

static void forget_range(uintptr_t start, uintptr_t end)
{
    struct mt_rule_slot *slot = mt_rules[0];
    for (uint32_t i = 0; i < SETS * MT_RULE_WAYS; i++)
        if (slot[i].back > start && slot[i].back <= end)
            atomic_store(&slot[i].back, 0);
}

void mt_rules_check_objects(void)
{
    if (!atomic_load(&mt_rules))
        return;
    while (!try_lock())
        sched_yield();
    for (uint32_t i = state.n_objects; i-- > 0;) {
        struct mt_object *object = &state.object[i];
        if (mt_object_is_loaded(object))
            continue;
        forget_range(object->start, object->end);
        *object = state.object[--state.n_objects];
        atomic_fetch_add(&mt_code_changes, 1);
    }
    unlock();
}

void mt_rules_reset(void)
{
    atomic_store(&state.lock, 0);
}
