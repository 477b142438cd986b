/* SPDX-License-Identifier: Apache-2.0 */
#include "python-frames.h"
#include "preload/modules/gradients.h"
#include "preload/modules/kv-cache.h"
#include "preload/modules/module-members.h"
#include "preload/modules/optimizer-state.h"
#include "preload/modules/python-modules.h"
#include "preload/python/deaths.h"
#include "preload/python/python-code.h"
#include "preload/python/python-objects.h"
#include "preload/record/cache.h"
#include "preload/record/intern.h"
#include "preload/record/scan.h"
#include "trace-format/likely.h"

#include <stdbool.h>
#include <stdio.h>

/* Results for a frame whose first argument counts: look it up with its module. */
#define BY_OBJECT UINT32_MAX
#define STEP (UINT32_MAX - 1)   /* the same, and the argument is an optimizer */
#define CACHE (UINT32_MAX - 2)  /* the argument is a KV cache*/
#define ROOM (UINT32_MAX - 3)   /* or creates one among other things */
#define MOVED (UINT32_MAX - 4)  /* it is a module whose tensors are about to change */
#define HIDDEN (UINT32_MAX - 5) /* CPython does not show the frame */

static MT_HOT const struct mt_python_layout *layout;
static MT_HOT struct mt_cache stacks = {.forgets = 1};

int mt_frames_start(const struct mt_python_layout *of_this_python, void *code_type)
{
    layout = of_this_python;
    mt_modules_start(layout);
    mt_optimizers_start(layout);
    mt_module_members_start(layout);
    mt_gradients_start(layout);
    mt_kv_caches_start(layout);
    return mt_code_deaths_count(code_type);
}

/* Return whether a known frame, which still exists, runs for the same object. */
static inline bool has_same_object(const struct mt_thread *self, unsigned i)
{
    uint64_t frame = self->frames.words[i].frame, object = self->frames.known[i].object;
    return mt_py_word(frame, layout->frame_locals) == object ||
           mt_py_argument(layout, frame) == object;
}

static uint16_t *place_of(struct mt_thread *self, uint64_t frame)
{
    return &self->frames.place[(frame >> 4 ^ frame >> 12) % MT_STACK_DEPTH];
}

/* Return the frame's index in self->frames.known; 0: none. */
static unsigned find_known(struct mt_thread *self, uint64_t frame)
{
    unsigned n = self->frames.n;
    if (MT_LIKELY(self->frames.words[n].frame == frame)) /* mostly the innermost one again */
        return n;
    unsigned i = *place_of(self, frame);
    return i <= n && self->frames.words[i].frame == frame ? i : 0;
}

#define DIFFERENT (MT_STACK_DEPTH + 1)

/* Return how many of the first n known frames, which still exist, have the same code. A pointer
 * into code is of that code unless some was freed since. */
static unsigned count_same_code(const struct mt_thread *self, unsigned n, bool is_sure)
{
    for (unsigned i = 1; i <= n; i++) {
        uint64_t code = self->frames.known[i].code;
        if (mt_py_word(self->frames.words[i].frame, layout->frame_code) != code ||
            (!is_sure && mt_code_stamp(code) != self->frames.known[i].stamp))
            return i - 1;
    }
    return n;
}

/* Return how many of the first n known frames, of which the n-th still exists, are unchanged, or
 * DIFFERENT if they are no longer its callers. is_sure: no code object was freed since. */
static inline unsigned count_same(const struct mt_thread *self, unsigned n, bool is_sure)
{
    const int64_t previous = layout->frame_previous, instruction = layout->frame_instruction;
    const struct mt_frame_words *words = &self->frames.words[n], *same = words;
    uint64_t frame = words->frame;
    for (; words > self->frames.words; words--) {
        const char *at = (const char *)(uintptr_t)frame;
        frame = words[-1].frame;
        if (MT_UNLIKELY(mt_word_at(at + previous) != frame))
            return DIFFERENT;
        uint64_t changed = mt_word_at(at + instruction) ^ words->instruction;
        if (changed && !(changed == MT_BY_OBJECT &&
                         has_same_object(self, (unsigned)(words - self->frames.words))))
            same = words - 1;
    }
    n = (unsigned)(same - self->frames.words);
    return MT_LIKELY(is_sure && layout->code_instructions >= 0) ? n
                                                                : count_same_code(self, n, is_sure);
}

/* Frames to look up, innermost first. Before them come the first n_known of the last event. */
struct walk {
    unsigned n, n_known;
    bool is_cut;         /* there are more callers: */
    unsigned inner, gap; /* at least `gap` are left out before the innermost ones */
    uint64_t *frame;     /* self->frames.walked, because the thread's stack may be small */
};

#define MOST_WALKED 20000u /* frames of a deep recursion, at most */

/* Find the innermost and the outermost frames: the program's own line is among the outermost,
 * however many library frames are below it. */
static void walk_cut(uint64_t frame, struct walk *out)
{
    const unsigned inner = MT_STACK_DEPTH - MT_STACK_OUTER;
    uint64_t last[MT_STACK_OUTER];
    unsigned n = 0;
    for (; n < inner; n++) {
        out->frame[n] = frame;
        frame = mt_py_word(frame, layout->frame_previous);
    }
    for (; frame && n < MOST_WALKED; n++) {
        last[(n - inner) % MT_STACK_OUTER] = frame;
        frame = mt_py_word(frame, layout->frame_previous);
    }
    out->n = out->inner = inner;
    out->gap = n - inner - (frame ? 0 : MT_STACK_OUTER);
    for (unsigned i = 0; !frame && i < MT_STACK_OUTER; i++)
        out->frame[out->n++] = last[(n - inner + i) % MT_STACK_OUTER];
    out->n_known = 0;
    out->is_cut = true;
}

/* What is known about a frame: its index, and how many frames up to it are unchanged; DIFFERENT if
 * it is unknown or has other callers. */
struct known {
    unsigned at, same;
};

static inline struct known compare(struct mt_thread *self, uint64_t frame, bool is_sure)
{
    unsigned at = find_known(self, frame);
    return (struct known){at, at ? count_same(self, at, is_sure) : frame ? DIFFERENT : 0};
}

/* Walk outwards from the innermost frame, about which this is known, up to one with the same
 * callers as at the last event. */
static void walk(struct mt_thread *self, uint64_t innermost, struct known known, bool is_sure,
                 struct walk *out)
{
    uint64_t frame = innermost;
    unsigned n = 0;
    while (frame && known.same == DIFFERENT && n < MT_STACK_DEPTH) {
        out->frame[n++] = frame;
        frame = mt_py_word(frame, layout->frame_previous);
        if (frame)
            known = compare(self, frame, is_sure);
    }
    if (known.same == DIFFERENT)
        known = (struct known){0, 0};
    out->is_cut = false;
    if ((frame && !known.at) || n + known.at > MT_STACK_DEPTH) {
        walk_cut(innermost, out);
        return;
    }
    for (; known.at > known.same; known.at--)
        out->frame[n++] = self->frames.words[known.at].frame;
    out->n = n;
    out->n_known = known.same;
}

/* Below, i is a frame's index in self->frames.known, where all its callers are. */

/* Return the nearest caller that runs for a module. */
static struct mt_module_caller caller_of(const struct mt_thread *self, unsigned i)
{
    while (i-- > 1)
        if (self->frames.known[i].object && !self->frames.known[i].is_step)
            return (struct mt_module_caller){self->frames.known[i].object,
                                             self->frames.known[i].module};
    return (struct mt_module_caller){0, 0};
}

/* List callers that may have a module as a child: called modules, else any function's first
 * argument. */
static unsigned owners_of(const struct mt_thread *self, unsigned i, struct mt_module_caller *owner)
{
    unsigned n = 0;
    uint32_t enclosing = self->frames.known[i - 1].module;
    while (i-- > 1 && n < MT_MODULE_OWNERS) {
        const struct mt_known_frame *known = &self->frames.known[i];
        if (known->object && !known->is_step)
            owner[n++] = (struct mt_module_caller){known->object, known->module};
        else if (!enclosing && mt_is_python_frame(layout, self->frames.words[i].frame) &&
                 mt_py_has_argument(layout, self->frames.words[i].frame))
            owner[n++] =
                (struct mt_module_caller){mt_py_argument(layout, self->frames.words[i].frame), 0};
    }
    return n;
}

/* Return whether a frame runs for its first argument, a module other than its caller's. */
static uint32_t enters_module(const struct mt_thread *self, unsigned i, uint64_t code)
{
    uint64_t frame = self->frames.words[i].frame;
    uint64_t object = mt_py_has_argument(layout, frame) ? mt_py_argument(layout, frame) : 0;
    if (!object || object == caller_of(self, i).object)
        return 0;
    enum mt_module_work work = mt_module_work(code, object);
    return work == MT_MOVES_MODULE ? MOVED : work ? BY_OBJECT : 0;
}

static bool enters_step(const struct mt_thread *self, unsigned i, uint64_t code)
{
    uint64_t frame = self->frames.words[i].frame;
    return mt_py_has_argument(layout, frame) &&
           mt_optimizer_is_step(code, mt_py_argument(layout, frame));
}

static uint32_t enters_cache(const struct mt_thread *self, unsigned i, uint64_t code)
{
    uint64_t frame = self->frames.words[i].frame;
    unsigned work = mt_py_has_argument(layout, frame)
                        ? mt_kv_cache_work(code, mt_py_argument(layout, frame))
                        : 0;
    return work == MT_MAKES_CACHE ? CACHE : work ? ROOM : 0;
}

/* Return HIDDEN, BY_OBJECT, MOVED, STEP, CACHE, ROOM, or 0. */
static uint32_t enters(const struct mt_thread *self, unsigned i, uint64_t code,
                       uint64_t instruction)
{
    static struct mt_scan_pieces last;
    if (mt_py_is_hidden(layout, self->frames.words[i].frame, code, instruction))
        return HIDDEN;
    bool has_begun = mt_scan_begin(&last);
    uint32_t what = enters_module(self, i, code);
    if (!what)
        what = enters_step(self, i, code) ? STEP : enters_cache(self, i, code);
    mt_scan_end(has_begun, &last);
    return what;
}

static MT_HOT_CODE uint32_t find(struct mt_thread *self, const struct mt_key *key)
{
    return mt_cache_follow(&stacks, key, &self->frames.last_stack);
}

/* Return whether new frames can be defined now. If not, none of the thread's is known later. The
 * first one locks for the rest of the stack. */
static bool can_define(struct mt_thread *self)
{
    if (!self->frames.defines)
        self->frames.defines = mt_intern_lock();
    self->frames.is_cut |= !self->frames.defines;
    return self->frames.defines;
}

static __attribute__((cold)) void end_defining(struct mt_thread *self)
{
    self->frames.defines = false;
    mt_intern_unlock();
}

static uint32_t intern(struct mt_thread *self, unsigned i, const struct mt_key *key, uint64_t code,
                       uint64_t instruction, uint32_t module)
{
    if (!can_define(self))
        return 0;
    uint32_t id = mt_cache_find(&stacks, key);
    if (!id && key->a == code)
        id = enters(self, i, code, instruction);
    if (!id) {
        uint32_t frame = mt_py_intern_frame(layout, code, instruction, mt_module_name(module));
        id = frame ? mt_intern_stack(key->parent, frame) : 0;
    }
    if (id)
        mt_cache_add(&stacks, key, id);
    return id;
}

static uint32_t resolve(struct mt_thread *self, unsigned i, uint64_t object)
{
    struct mt_module_caller owner[MT_MODULE_OWNERS];
    unsigned n = owners_of(self, i, owner);
    mt_module_members_earn();
    if (!can_define(self))
        return 0;
    return mt_module_resolve(object, caller_of(self, i), owner, n);
}

/* Note to read the members of a module that is called from no other one. */
static void note_call(struct mt_thread *self, uint64_t module, bool is_new, bool is_moved)
{
    self->pending.called.object = module;
    self->pending.called.is_new = is_new;
    self->pending.called.is_moved = is_moved;
    self->pending.has_to_read = true;
}

/* Find by the object, too: one line of a function is a different frame for each module. */
static MT_HOT_CODE uint32_t look_up_by_object(struct mt_thread *self, unsigned i, struct mt_key key,
                                              bool is_moved)
{
    struct mt_known_frame *known = &self->frames.known[i];
    uint64_t code = key.a, instruction = key.b;
    uint64_t object = mt_py_argument(layout, self->frames.words[i].frame);
    struct mt_module_caller caller = caller_of(self, i);
    uint32_t module = object ? mt_module_find(object, caller) : 0;
    bool is_new = object && !module;
    static struct mt_scan_pieces last;
    bool has_begun = is_new ? mt_scan_begin(&last) : 0;
    if (is_new)
        module = resolve(self, i, object);
    mt_scan_end(has_begun, &last);
    if (object && !caller.object && !self->frames.is_cut)
        note_call(self, object, is_new, is_moved);
    key.a = code | 1;
    key.b = instruction | (uint64_t)module << 48; /* addresses have 47 bits */
    uint32_t id = find(self, &key);
    if (!id)
        id = intern(self, i, &key, code, instruction, module);
    self->frames.words[i].instruction ^= MT_BY_OBJECT;
    known->object = object;
    known->module = module;
    return id;
}

static uint32_t look_up_step(struct mt_thread *self, unsigned i, struct mt_key key)
{
    struct mt_known_frame *known = &self->frames.known[i];
    uint64_t code = key.a;
    self->frames.words[i].instruction ^= MT_BY_OBJECT;
    known->is_step = true;
    known->object = mt_py_argument(layout, self->frames.words[i].frame);
    mt_optimizer_steps(self, i);
    key.a = code | 1;
    uint32_t id = find(self, &key);
    return id ? id : intern(self, i, &key, code, key.b, 0);
}

static uint32_t look_up_cache(struct mt_thread *self, unsigned i, struct mt_key key, unsigned work)
{
    uint64_t code = key.a;
    self->frames.known[i].in_cache |= (uint8_t)(work | MT_KNOWS_ROOM);
    key.a = code | 1;
    uint32_t id = find(self, &key);
    return id ? id : intern(self, i, &key, code, key.b, 0);
}

/* Return the stack of the frame's caller. A generator's own frame may be at the same address. */
static __attribute__((noinline)) uint32_t look_up_hidden(struct mt_thread *self, unsigned i,
                                                         struct mt_key key)
{
    struct mt_known_frame *known = &self->frames.known[i];
    uint64_t code = key.a;
    if (mt_py_is_hidden(layout, self->frames.words[i].frame, code, key.b)) {
        known->is_hidden = true;
        return known[-1].stack;
    }
    key.a = code | 1;
    uint32_t id = find(self, &key);
    return id ? id : intern(self, i, &key, code, key.b, 0);
}

static MT_HOT_CODE uint32_t look_up(struct mt_thread *self, unsigned i)
{
    const struct mt_known_frame *known = &self->frames.known[i];
    uint64_t code = known->code & ~(uint64_t)MT_PY_TAGS;
    struct mt_key key = {code, self->frames.words[i].instruction & mt_py_instruction_bits(layout),
                         known->stamp, known[-1].stack};
    uint32_t id = find(self, &key);
    if (!id)
        id = intern(self, i, &key, code, key.b, 0);
    if (MT_LIKELY(id < HIDDEN))
        return id;
    if (id == BY_OBJECT || id == MOVED)
        return look_up_by_object(self, i, key, id == MOVED);
    return id == STEP    ? look_up_step(self, i, key)
           : id == CACHE ? look_up_cache(self, i, key, MT_MAKES_CACHE)
           : id == ROOM  ? look_up_cache(self, i, key, MT_MAKES_ROOM)
                         : look_up_hidden(self, i, key);
}

static MT_HOT_CODE void identify(struct mt_thread *self, unsigned i, uint64_t frame)
{
    struct mt_known_frame *known = &self->frames.known[i];
    uint64_t code = mt_py_word(frame, layout->frame_code);
    self->frames.words[i] =
        (struct mt_frame_words){frame, mt_py_word(frame, layout->frame_instruction)};
    *known = (struct mt_known_frame){
        .code = code,
        .stamp = mt_code_stamp(code),
        .stack = known[-1].stack,
        .module = known[-1].module,
        .is_lost = known[-1].is_lost,
        .in_cache = known[-1].in_cache & (MT_MAKES_CACHE | MT_MAKES_ROOM),
    };
    *place_of(self, frame) = (uint16_t)i;
    if (!mt_is_python_frame(layout, frame))
        return;
    known->stack = known->is_lost ? 0 : look_up(self, i);
    known->is_lost = !known->stack && !known->is_hidden;
}

/* Intern a gap, by its number of frames rounded to a power of two: otherwise a recursion would have
 * another stack at each depth. */
static uint32_t intern_gap(struct mt_thread *self, const struct mt_key *key, unsigned least)
{
    char text[64];
    int n = least > 1
                ? snprintf(text, sizeof text, "... %u to %u frames left out", least, 2 * least - 1)
                : snprintf(text, sizeof text, "... 1 frame left out");
    if (!can_define(self))
        return 0;
    uint32_t frame = mt_intern_frame(mt_intern_string(text, (size_t)n), 0, 0);
    uint32_t id = frame ? mt_intern_stack(key->parent, frame) : 0;
    if (id)
        mt_cache_add(&stacks, key, id);
    return id;
}

/* Insert a gap between this frame and the next. */
static void mark_gap(struct mt_thread *self, unsigned n, unsigned gap)
{
    struct mt_known_frame *known = &self->frames.known[n];
    unsigned least = 1u << (31 - __builtin_clz(gap));
    struct mt_key key = {.a = least, .parent = known->stack}; /* not an address of code */
    uint32_t id = find(self, &key);
    if (!id)
        id = intern_gap(self, &key, least);
    if (id)
        known->stack = id;
}

/* Note ended steps, and whether to read objects. */
static void follow_up(struct mt_thread *self, unsigned n)
{
    if (self->pending.n_steps)
        mt_optimizers_follow(self, n);
    self->pending.has_to_read |= self->steps.n_ended || self->pending.n_gradients;
}

/* Find the ids of the frames that have changed. */
static __attribute__((noinline)) MT_HOT_CODE uint32_t identify_changed(struct mt_thread *self,
                                                                       uint64_t innermost,
                                                                       struct known known,
                                                                       uint64_t deaths)
{
    struct walk found = {.frame = self->frames.walked};
    walk(self, innermost, known, deaths == self->frames.code_deaths, &found);
    unsigned n = found.n_known;
    self->frames.is_cut = found.is_cut;
    while (found.n > 0) {
        if (MT_UNLIKELY(found.is_cut) && found.n == found.inner)
            mark_gap(self, n, found.gap);
        identify(self, ++n, found.frame[--found.n]);
    }
    if (MT_UNLIKELY(self->frames.defines))
        end_defining(self);
    if (MT_UNLIKELY(found.is_cut))
        self->frames.known[0].stack = 0; /* the gap may have been there */
    if (MT_UNLIKELY(self->pending.follow_up))
        follow_up(self, n);
    self->frames.in_cache = self->frames.known[n].in_cache;
    self->frames.n = self->frames.is_cut ? 0 : n;
    self->frames.code_deaths = deaths;
    return self->frames.known[n].stack;
}

MT_HOT_CODE uint32_t mt_frames_stack(struct mt_thread *self, uint64_t innermost)
{
    uint64_t deaths = atomic_load_explicit(&mt_code_deaths, memory_order_acquire);
    struct known known = compare(self, innermost, deaths == self->frames.code_deaths);
    if (known.same != self->frames.n || MT_UNLIKELY(self->pending.follow_up))
        return identify_changed(self, innermost, known, deaths);
    self->frames.in_cache = self->frames.known[known.at].in_cache;
    self->frames.code_deaths = deaths;
    return self->frames.known[known.at].stack;
}

uint64_t mt_frames_cache(const struct mt_thread *self)
{
    for (unsigned i = self->frames.n; i; i--)
        if (self->frames.known[i].in_cache & MT_KNOWS_ROOM)
            return mt_py_argument(layout, self->frames.words[i].frame);
    return 0;
}

void mt_frames_reset(void)
{
    mt_cache_reset(&stacks);
    mt_modules_reset();
    mt_optimizers_reset();
    mt_module_members_reset();
    mt_gradients_reset();
    mt_scan_reset();
}
