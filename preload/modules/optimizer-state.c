/* SPDX-License-Identifier: Apache-2.0 */
#include "optimizer-state.h"
#include "kept-attributes.h"
#include "preload/host/memory.h"
#include "preload/python/expect.h"
#include "preload/python/python-code.h"
#include "preload/python/python-objects.h"
#include "preload/python/tensor.h"
#include "preload/record/cache.h"
#include "preload/record/intern.h"
#include "preload/record/recorder.h"
#include "preload/record/scan.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#define OPTIMIZERS 4096u /* to remember */
#define PROBES 8u
#define MOST_DEPTH 3u        /* nested containers */
#define MOST_ITEMS 4096u     /* of a list */
#define MOST_OBJECTS 200000u /* to scan in one pass */
#define PARTS 8u             /* of a tensor */
#define NAMES 64u            /* seen last */
/* The initial budget of objects to scan; what each new entry adds; and how many words of events add
 * one. */
#define AT_FIRST (1 << 16)
#define OF_ENTRY 16
#define WORDS_EACH 64
#define MOST_SAVED (1 << 18)

static struct {
    const struct mt_python_layout *layout;
    struct mt_exclusive part;
    struct seen {
        uint64_t optimizer, state; /* addresses of the object and of the dict */
        struct mt_py_proof proof;  /* shows that the dict is still its state */
        uint64_t n;                /* entries of the dict at the last pass */
        uint64_t n_paid;           /* entries that have added to the budget */
        uint64_t steps;            /* since it has this dict */
        bool is_owed;              /* a pass that came too early */
    } *seen;
    _Atomic int64_t left; /* objects that may be scanned, without AT_FIRST */
    uint64_t key[2];      /* the last strs seen with these names */
} optimizers;

void mt_optimizers_start(const struct mt_python_layout *layout)
{
    optimizers.layout = layout;
}

/* An optimizer's parameters, in groups, and its state. */
struct parts {
    uint64_t groups, state;
    struct mt_py_proof proof; /* of the state */
    bool is_inner;            /* these belong to another one, its `optimizer` */
};

/* Return 0, or -EINVAL if it is not an optimizer. */
static int own_parts_of(uint64_t object, struct parts *parts)
{
    struct mt_py_dict attributes;
    struct mt_py_entry state, groups;
    if (!object || mt_py_attributes(optimizers.layout, object, &attributes, &parts->proof) ||
        mt_py_dict_find_known(optimizers.layout, &attributes, "param_groups", &optimizers.key[0],
                              &groups) ||
        mt_py_dict_find_known(optimizers.layout, &attributes, "state", &optimizers.key[1],
                              &state) ||
        mt_py_sort(groups.value) != MT_PY_LIST || mt_py_sort(state.value) != MT_PY_DICT)
        return -EINVAL;
    parts->groups = groups.value;
    parts->state = state.value;
    mt_py_prove(&parts->proof, state.slot, state.value);
    parts->is_inner = false;
    return 0;
}

/* Find the parts, also of an optimizer that wraps another, as DeepSpeed's and Megatron's do. */
static int parts_of(uint64_t object, struct parts *parts)
{
    struct mt_py_dict attributes;
    struct mt_py_entry inner;
    if (!own_parts_of(object, parts))
        return 0;
    if (!object || mt_py_attributes(optimizers.layout, object, &attributes, &parts->proof) ||
        mt_py_dict_find(optimizers.layout, &attributes, "optimizer", &inner) ||
        own_parts_of(inner.value, parts))
        return -EINVAL;
    parts->is_inner = true;
    return 0;
}

bool mt_optimizer_is_step(uint64_t code, uint64_t object)
{
    char function[256];
    size_t size = mt_py_utf8(optimizers.layout, mt_py_word(code, optimizers.layout->code_name),
                             function, sizeof function - 1);
    function[size] = '\0';
    const char *dot = strrchr(function, '.');
    struct parts parts;
    return !strcmp(dot ? dot + 1 : function, "step") && !parts_of(object, &parts);
}

/* One pass through an optimizer. */
struct visit {
    struct mt_thread *self;
    uint64_t parameter; /* address of its data; 0: unknown */
    uint32_t name;      /* string id */
    bool is_of_itself;  /* the tensors are parameters */
    unsigned n_tensors; /* scanned so far */
    unsigned left;      /* objects left to scan */
    struct {
        uint64_t str;
        uint32_t id;
    } known[NAMES];
};

static uint32_t intern(struct visit *v, uint64_t str)
{
    char text[256];
    unsigned at = (str >> 4 ^ str >> 10) % NAMES;
    if (v->known[at].str == str)
        return v->known[at].id;
    if (mt_py_text(optimizers.layout, str, text, sizeof text))
        return 0;
    if (!mt_intern_lock())
        return 0;
    uint32_t id = mt_intern_string(text, strlen(text));
    mt_intern_unlock();
    v->known[at].str = str;
    return v->known[at].id = id;
}

static void visit(struct visit *visit, uint64_t object, unsigned depth);

static uint64_t address_of(uint64_t parameter)
{
    struct mt_py_tensor part[PARTS];
    return mt_py_tensor_parts(optimizers.layout, parameter, part, PARTS) ? part[0].place.address
                                                                         : 0;
}

/* Record the leaf: autograd labels only the wrapper of a tensor as one. */
static void visit_tensor(struct visit *v, uint64_t object)
{
    struct mt_py_tensor part[PARTS];
    unsigned n = mt_py_tensor_parts(optimizers.layout, object, part, PARTS);
    v->n_tensors += n > 0;
    for (unsigned i = 0; i < n; i++) {
        uint64_t address = part[i].place.address;
        if (v->is_of_itself && part[i].is_wrapped)
            mt_record(v->self, MT_LEAF, part[i].place.device, 0, MT_ARGS(address, 0));
        if (v->is_of_itself || v->parameter != address)
            mt_record(v->self, MT_STATE, part[i].place.device, 0,
                      MT_ARGS(address, v->is_of_itself ? address : v->parameter, v->name,
                              part[i].elements));
    }
}

static void visit_dict(struct visit *v, uint64_t object, unsigned depth)
{
    struct mt_py_dict dict;
    struct mt_py_entry entry;
    if (mt_py_dict_open(optimizers.layout, object, &dict))
        return;
    for (unsigned i = 0; i < dict.n && v->left; i++) {
        if (i % MT_SCAN_AHEAD == 0)
            mt_py_dict_expect(&dict, i);
        if (mt_py_dict_at(&dict, i, &entry))
            return;
        if (!entry.value)
            continue;
        if (depth == 0)
            v->parameter = address_of(entry.key);
        if (depth == 1)
            v->name = intern(v, entry.key);
        visit(v, entry.value, depth + 1);
    }
}

static void visit_items(struct visit *v, uint64_t object, unsigned depth)
{
    uint64_t item, n, items = mt_py_items(object, &n);
    for (uint64_t i = 0; i < n && i < MOST_ITEMS && v->left; i++)
        if (!mt_py_read(items + i * sizeof item, &item))
            visit(v, item, depth + 1);
}

static void visit(struct visit *v, uint64_t object, unsigned depth)
{
    enum mt_py_sort sort = mt_py_sort(object);
    if (depth > MOST_DEPTH || !v->left)
        return;
    v->left--;
    if (sort == MT_PY_DICT) {
        visit_dict(v, object, depth);
    } else if (sort == MT_PY_LIST || sort == MT_PY_TUPLE) {
        visit_items(v, object, depth);
    } else {
        visit_tensor(v, object);
    }
}

/* Count the entries of a state that is still the same dict, in one system call instead of a hundred
 * at each step. Return 0 or -EFAULT. */
static int count_entries(const struct seen *seen, uint64_t *n)
{
    uint64_t address[MT_PY_PROOF + 1], word[MT_PY_PROOF + 1];
    const struct mt_py_proof *proof = &seen->proof;
    for (unsigned i = 0; i < proof->n; i++)
        address[i] = proof->word[i].address;
    address[proof->n] = seen->state + MT_DICT_USED;
    if (mt_scan_read_words(address, word, proof->n + 1))
        return -EFAULT;
    for (unsigned i = 0; i < proof->n; i++)
        if (word[i] != proof->word[i].value)
            return -EFAULT;
    *n = word[proof->n];
    return 0;
}

/* Return the optimizer's place, an empty one, or its home place if another optimizer has it. */
static struct seen *place_of(uint64_t optimizer)
{
    uint64_t home = mt_mix(0, optimizer);
    for (unsigned probe = 0; probe < PROBES; probe++) {
        struct seen *seen = &optimizers.seen[(home + probe) % OPTIMIZERS];
        if (!seen->optimizer || seen->optimizer == optimizer)
            return seen;
    }
    return &optimizers.seen[home % OPTIMIZERS];
}

/* Return an optimizer's entry with its current state, and the number of the state's entries; NULL
 * if it is not an optimizer. */
static struct seen *load_optimizer(uint64_t optimizer, uint64_t *n)
{
    struct parts parts;
    if (!optimizers.seen && !(optimizers.seen = mt_map(OPTIMIZERS * sizeof *optimizers.seen)))
        return NULL;
    struct seen *seen = place_of(optimizer);
    if (seen->optimizer == optimizer && !count_entries(seen, n))
        return seen;
    if (parts_of(optimizer, &parts) || mt_py_read(parts.state + MT_DICT_USED, n))
        return NULL;
    if (seen->optimizer != optimizer || seen->state != parts.state)
        *seen = (struct seen){.optimizer = optimizer, .state = parts.state};
    seen->proof = parts.proof;
    return seen;
}

static void earn(struct mt_thread *self, uint64_t new_entries)
{
    uint64_t put = mt_ring_put(&self->ring);
    uint64_t objects = (put - self->steps.read_at) / WORDS_EACH;
    self->steps.read_at += objects * WORDS_EACH;
    if (atomic_load_explicit(&optimizers.left, memory_order_relaxed) < MOST_SAVED)
        atomic_fetch_add_explicit(&optimizers.left, (int64_t)(objects + new_entries * OF_ENTRY),
                                  memory_order_relaxed);
}

/* Return whether to scan an optimizer now. Tensors may be replaced while the dict's entries stay,
 * so it is scanned repeatedly, but ever more rarely. If this would use too much of the program's
 * time, wait for a later step. */
static bool is_due(struct mt_thread *self, uint64_t optimizer)
{
    uint64_t n;
    struct seen *seen = load_optimizer(optimizer, &n);
    if (!seen)
        return false;
    uint64_t steps = ++seen->steps;
    bool has_changed = seen->n != n;
    bool is_power_of_16 = (steps & (steps - 1)) == 0 && steps & 0x1111111111111111u;
    earn(self, n > seen->n_paid ? n - seen->n_paid : 0);
    seen->n_paid = n > seen->n_paid ? n : seen->n_paid;
    if ((!has_changed && steps != 2 && !is_power_of_16 && !seen->is_owed))
        return false;
    seen->is_owed = atomic_load_explicit(&optimizers.left, memory_order_relaxed) < -AT_FIRST;
    if (!seen->is_owed)
        seen->n = n;
    return !seen->is_owed;
}

/* Visit each tensor of "params" in a group. */
static void visit_groups(struct visit *v, uint64_t groups)
{
    struct mt_py_dict group;
    struct mt_py_entry params;
    uint64_t item, n, items = mt_py_items(groups, &n);
    v->is_of_itself = true;
    for (uint64_t i = 0; i < n && i < MOST_ITEMS && v->left; i++)
        if (!mt_py_read(items + i * sizeof item, &item) &&
            !mt_py_dict_open(optimizers.layout, item, &group) &&
            !mt_py_dict_find(optimizers.layout, &group, "params", &params))
            visit(v, params.value, MOST_DEPTH - 1);
    v->is_of_itself = false;
}

/* Visit the state's keys: in some optimizers, groups have parameters only during a step (ZeRO-3).
 */
static void visit_keys(struct visit *v, uint64_t state)
{
    struct mt_py_dict dict;
    struct mt_py_entry entry;
    uint64_t n;
    if (mt_py_read(state + MT_DICT_USED, &n) || n <= v->n_tensors ||
        mt_py_dict_open(optimizers.layout, state, &dict))
        return;
    v->is_of_itself = true;
    for (unsigned i = 0; i < dict.n && v->left && !mt_py_dict_at(&dict, i, &entry); i++)
        if (entry.value)
            visit(v, entry.key, MOST_DEPTH);
    v->is_of_itself = false;
}

static void go_through(struct mt_thread *self, uint64_t optimizer)
{
    struct visit v = {.self = self, .left = MOST_OBJECTS};
    struct parts parts;
    if (parts_of(optimizer, &parts))
        return;
    if (parts.is_inner) {
        mt_kept_attributes_scan(self, optimizers.layout, optimizer, MT_KEEPER_OPTIMIZER);
        return;
    }
    visit_groups(&v, parts.groups);
    visit_keys(&v, parts.state);
    visit(&v, parts.state, 0);
    atomic_fetch_sub_explicit(&optimizers.left, (int64_t)(MOST_OBJECTS - v.left),
                              memory_order_relaxed);
}

static void record_state(struct mt_thread *self, uint64_t optimizer)
{
    if (!mt_exclusive_acquire(&optimizers.part))
        return;
    static struct mt_scan_pieces last;
    bool has_begun = mt_scan_begin(&last);
    int due = is_due(self, optimizer);
    mt_exclusive_release(&optimizers.part);
    if (due)
        go_through(self, optimizer);
    mt_scan_end(has_begun, &last);
}

void mt_optimizers_record(struct mt_thread *self)
{
    for (unsigned i = 0; i < self->steps.n_ended; i++)
        record_state(self, self->steps.ended[i]);
    self->steps.n_ended = 0;
}

static void end_last(struct mt_thread *self)
{
    const struct mt_running_step *step = &self->steps.running[--self->pending.n_steps];
    if (self->steps.n_ended < MT_STEPS)
        self->steps.ended[self->steps.n_ended++] = step->optimizer;
}

void mt_optimizer_steps(struct mt_thread *self, unsigned i)
{
    const struct mt_known_frame *known = &self->frames.known[i];
    while (self->pending.n_steps && self->steps.running[self->pending.n_steps - 1].at > i)
        end_last(self);
    if (self->pending.n_steps && self->steps.running[self->pending.n_steps - 1].at == i) {
        if (self->steps.running[self->pending.n_steps - 1].optimizer == known->object)
            return;
        end_last(self);
    }
    if (self->pending.n_steps < MT_STEPS)
        self->steps.running[self->pending.n_steps++] = (struct mt_running_step){known->object, i};
}

static bool has_ended(const struct mt_thread *self, const struct mt_running_step *step, unsigned n)
{
    return n < step->at || !self->frames.known[step->at].is_step ||
           self->frames.known[step->at].object != step->optimizer;
}

void mt_optimizers_follow(struct mt_thread *self, unsigned n)
{
    while (self->pending.n_steps &&
           has_ended(self, &self->steps.running[self->pending.n_steps - 1], n))
        end_last(self);
}

void mt_optimizers_scan(struct mt_thread *self)
{
    for (unsigned i = 0; i < self->pending.n_steps; i++)
        go_through(self, self->steps.running[i].optimizer);
}

void mt_optimizers_reset(void)
{
    mt_unmap(optimizers.seen, OPTIMIZERS * sizeof *optimizers.seen);
    optimizers.seen = NULL;
    optimizers.left = 0;
    optimizers.part.by = 0;
}
