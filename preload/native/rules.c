/* SPDX-License-Identifier: Apache-2.0 */
#include "rules.h"
#include "cfi.h"
#include "preload/host/memory.h"
#include "preload/host/no-signals.h"
#include "preload/loader/find-real.h"
#include "preload/record/cache.h"

#include <dlfcn.h>
#include <errno.h>
#include <sched.h>
#include <stdbool.h>
#include <string.h>

/* The part of a function that compilers place elsewhere, ".cold". .eh_frame has it as a separate
 * function, and no loaded table has its name. */

#define JUMP_SIZE 6 /* a conditional jump: 0f 8x, and the distance */

static bool lies_in(uintptr_t address, const uintptr_t range[2])
{
    return address >= range[0] && address < range[1];
}

static uintptr_t target_of(const uint8_t *jump)
{
    int32_t distance;
    memcpy(&distance, jump + 2, sizeof distance);
    return (uintptr_t)jump + JUMP_SIZE + (uintptr_t)(intptr_t)distance;
}

/* Find the cold part. Conditional jumps leave a function only for it. Bytes that merely look like
 * one are outvoted. */
static void function_cold_part(const struct mt_image *image, uintptr_t in, uintptr_t part[2])
{
    const uintptr_t all[2] = {image->start, image->end};
    uintptr_t function[2];
    unsigned votes = 0;
    mt_cfi_rule(image, in, function);
    part[0] = part[1] = 0;
    for (uintptr_t at = function[0]; at + JUMP_SIZE <= function[1]; at++) {
        const uint8_t *jump = (const uint8_t *)at;
        if (jump[0] != 0x0f || (jump[1] & 0xf0) != 0x80)
            continue;
        uintptr_t to = target_of(jump);
        if (lies_in(to, function) || !lies_in(to, all))
            continue;
        if (!votes)
            mt_cfi_rule(image, to, part);
        votes = lies_in(to, part) ? votes + 1 : votes ? votes - 1 : 0;
    }
    if (!votes)
        part[0] = part[1] = 0;
}

#define SETS (1u << MT_RULE_SET_BITS)
#define MOST_OBJECTS 4096u
#define LOCK_TRIES 1000

_Static_assert(offsetof(struct mt_frame_rule, cfa) == sizeof(uint32_t), "the rest is half a word");

mt_frame_rule_set *_Atomic mt_frame_rules;
_Atomic uint32_t mt_code_changes, mt_frame_rules_forgotten = 1;

/* An image whose code has or had rules, and its identity. */
struct watched {
    struct mt_image image;
    uint64_t identity;
    bool has_gone;
};

static struct {
    _Atomic int lock;          /* for a few memory accesses */
    _Atomic uintptr_t python;  /* an address in the interpreter's function; 0: none */
    _Atomic uintptr_t cold[2]; /* start and end of its cold part, */
    _Atomic uintptr_t cold_of; /* if it was searched: python */
    struct watched *watched;
    uint32_t n_watched, next_victim;
} state;

/* Lock, with signals held back. Return 1, or 0 after a timeout. */
static bool lock(void)
{
    for (int i = 0; i < LOCK_TRIES; i++) {
        if (!atomic_exchange_explicit(&state.lock, 1, memory_order_acquire))
            return true;
        sched_yield();
    }
    return false;
}

static void unlock(void)
{
    atomic_store_explicit(&state.lock, 0, memory_order_release);
}

int mt_frame_rules_prepare(void)
{
    if (atomic_load(&mt_frame_rules)) /* in a forked child, the parent's rules are still valid */
        return 0;
    mt_frame_rule_set *sets = mt_map(SETS * sizeof *sets);
    state.watched = mt_map(MOST_OBJECTS * sizeof *state.watched);
    if (!sets || !state.watched) {
        mt_unmap(sets, SETS * sizeof *sets);
        mt_unmap(state.watched, MOST_OBJECTS * sizeof *state.watched);
        return -ENOMEM;
    }
    atomic_store(&mt_frame_rules, sets);
    return 0;
}

void mt_frame_rules_find_python(void)
{
    mt_images_prepare();
    atomic_store(&state.python, (uintptr_t)mt_real_dlsym(RTLD_DEFAULT, "_PyEval_EvalFrameDefault"));
}

static void forget_range(uintptr_t start, uintptr_t end)
{
    struct mt_frame_rule_slot *slot = mt_frame_rules[0];
    for (uint32_t i = 0; i < SETS * MT_RULE_WAYS; i++)
        if (slot[i].back > start && slot[i].back <= end)
            atomic_store(&slot[i].back, 0);
    atomic_fetch_add(&mt_frame_rules_forgotten, 1);
}

static void forget_image(struct watched *watched)
{
    forget_range(watched->image.start, watched->image.end);
    *watched = state.watched[--state.n_watched];
    atomic_fetch_add(&mt_code_changes, 1);
}

static uint64_t mix_text(uint64_t hash, const char *text)
{
    for (; *text; text++)
        hash = mt_mix(hash, (unsigned char)*text);
    return hash;
}

/* Return a number that identifies a file, wherever and whenever it is loaded. */
static uint64_t identity_of(const struct mt_image *image)
{
    char build_id[MT_BUILD_ID_TEXT];
    mt_image_build_id(image, build_id);
    return mix_text(mix_text(image->end - image->start, build_id), image->name);
}

static bool overlaps(const struct mt_image *a, const struct mt_image *b)
{
    return a->start < b->end && b->start < a->end;
}

/* With the lock held, start to watch the image, and return whether it is watched. Forget other
 * images at its place with all their rules, but not the same file loaded again: programs may load
 * and unload a library all day. */
static bool watch(const struct mt_image *image)
{
    struct watched new = {.image = *image};
    for (uint32_t i = state.n_watched; i-- > 0;) {
        struct watched *old = &state.watched[i];
        if (!overlaps(&old->image, image))
            continue;
        if (!old->has_gone && old->image.name == image->name && old->image.frames == image->frames)
            return true;
        new.identity = identity_of(image);
        if (old->image.start == image->start && old->identity == new.identity) {
            *old = new;
            return true;
        }
        forget_image(old);
    }
    if (state.n_watched == MOST_OBJECTS)
        return false;
    new.identity = identity_of(image);
    state.watched[state.n_watched++] = new;
    return true;
}

static struct mt_frame_rule_slot *slot_for(uintptr_t back)
{
    char *sets = (char *)atomic_load(&mt_frame_rules);
    struct mt_frame_rule_slot *set = (void *)(sets + mt_frame_rule_place(back));
    for (unsigned i = 0; i < MT_RULE_WAYS; i++)
        if (set[i].back == back || !set[i].back)
            return &set[i];
    return &set[state.next_victim++ % MT_RULE_WAYS];
}

static void keep(const struct mt_image *image, uintptr_t back, const struct mt_frame_rule *rule)
{
    MT_UNINTERRUPTED();
    uint32_t how;
    memcpy(&how, rule, sizeof how);
    if (!lock())
        return;
    if (watch(image)) {
        struct mt_frame_rule_slot *slot = slot_for(back);
        atomic_store(&slot->back, 0);
        atomic_store(&slot->how, how);
        atomic_store(&slot->cfa, rule->cfa);
        atomic_store(&slot->back, back);
    }
    unlock();
}

static bool is_in_cold_part(const struct mt_image *image, uintptr_t pc, uintptr_t python)
{
    uintptr_t cold[2];
    if (python < image->start || python >= image->end)
        return false;
    if (atomic_load(&state.cold_of) != python) {
        function_cold_part(image, python, cold);
        atomic_store(&state.cold[0], cold[0]);
        atomic_store(&state.cold[1], cold[1]);
        atomic_store(&state.cold_of, python);
    }
    return pc >= atomic_load(&state.cold[0]) && pc < atomic_load(&state.cold[1]);
}

struct mt_frame_rule mt_frame_rule_make(uintptr_t back)
{
    struct mt_image image;
    uintptr_t pc = back - 1, function[2], python = atomic_load(&state.python);
    if (mt_image_find(pc, &image))
        return (struct mt_frame_rule){.cfa_from =
                                          MT_CFA_UNKNOWN}; /* libraries may be loaded later */
    struct mt_frame_rule rule = mt_cfi_rule(&image, pc, function);
    if ((python >= function[0] && python < function[1]) || is_in_cold_part(&image, pc, python))
        rule.cfa_from |= MT_RULE_IS_PYTHON;
    keep(&image, back, &rule);
    return rule;
}

void mt_frame_rules_check_images(void)
{
    MT_UNINTERRUPTED();
    if (!atomic_load(&mt_frame_rules) || !lock())
        return;
    for (uint32_t i = 0; i < state.n_watched; i++) {
        struct watched *watched = &state.watched[i];
        if (watched->has_gone || mt_image_is_loaded(&watched->image))
            continue;
        watched->has_gone = true;
        forget_range(watched->image.start, watched->image.end);
    }
    unlock();
}

void mt_frame_rules_reset(void)
{
    atomic_store(&state.lock, 0);
}
