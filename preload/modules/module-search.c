/* SPDX-License-Identifier: Apache-2.0 */
#include "module-search.h"
#include "module-proof.h"
#include "preload/host/memory.h"
#include "preload/record/cache.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* Where a search last found a module: its owner, and its place among the owner's children. A hint
 * may be outdated: check it before use. Call with the intern lock. */

struct module_hint {
    uint64_t child, owner;
    uint32_t at; /* entry of the dict of children */
};

#define FIRST_HINTS 4096u
#define MOST_HINTS (1u << 18) /* 6 MiB */
#define PROBES 8u
#define DICTS 256u

static struct {
    struct module_hint *hint;
    uint32_t size; /* a power of two */
    struct {
        uint64_t dict;
        uint32_t next;
    } dict[DICTS];
} hints;

/* Return the child's own place, an empty one, or its home place if another child has it; then
 * *is_full is set. */
static struct module_hint *place_of(uint64_t child, bool *is_full)
{
    uint64_t home = mt_mix(0, child);
    struct module_hint *place;
    *is_full = false;
    for (unsigned probe = 0; probe < PROBES; probe++) {
        place = &hints.hint[(home + probe) % hints.size];
        if (!place->child || place->child == child)
            return place;
    }
    *is_full = true;
    return &hints.hint[home % hints.size];
}

/* Double the table if there is memory. Return 1 if it has grown. */
static bool grow(void)
{
    struct module_hint *old = hints.hint;
    uint32_t size = hints.size, larger = size ? 2 * size : FIRST_HINTS;
    bool is_full;
    struct module_hint *table = larger <= MOST_HINTS ? mt_map(larger * sizeof *table) : NULL;
    if (!table)
        return false;
    hints.hint = table;
    hints.size = larger;
    for (uint32_t i = 0; i < size; i++)
        if (old[i].child)
            *place_of(old[i].child, &is_full) = old[i];
    mt_unmap(old, size * sizeof *old);
    return true;
}

/* Keep a hint; if there are too many, replace an older one. */
static void module_hint(uint64_t child, uint64_t owner, uint32_t at)
{
    bool is_full;
    if (!child || (!hints.hint && !grow()))
        return;
    struct module_hint *place = place_of(child, &is_full);
    if (is_full && grow())
        place = place_of(child, &is_full);
    if (place->child != child || place->owner != owner) /* the first of several names is kept */
        *place = (struct module_hint){child, owner, at};
}

/* Return a hint, or NULL. It is valid until the next one is kept. */
static const struct module_hint *module_hint_of(uint64_t child)
{
    bool is_full;
    const struct module_hint *place = hints.hint ? place_of(child, &is_full) : NULL;
    return place && place->child == child ? place : NULL;
}

/* Return where to begin the search for the next child in this dict: after the last one found. */
static uint32_t *module_next_child(uint64_t dict)
{
    unsigned i = (unsigned)mt_mix(0, dict) % DICTS;
    if (hints.dict[i].dict != dict) {
        hints.dict[i].dict = dict;
        hints.dict[i].next = 0;
    }
    return &hints.dict[i].next;
}

/* Reset in a forked child. */
static void module_hints_reset(void)
{
    mt_unmap(hints.hint, hints.size * sizeof *hints.hint);
    memset(&hints, 0, sizeof hints);
}

/* Wrappers, and the name under which each has the module that it represents. NULL: any class. */
static const struct {
    const char *class, *child;
} wrappers[] = {
    {NULL, "_orig_mod"},
    {NULL, "_fsdp_wrapped_module"},
    {NULL, "_checkpoint_wrapped_module"},
    {"DistributedDataParallel", "module"},
    {"DataParallel", "module"},
    {"FullyShardedDataParallel", "module"},
};

/* A module to search, and where it was found. */
struct step {
    uint64_t object, key;
    unsigned parent;
};

static bool is_wrapper(uint64_t holder, const char *child)
{
    char class[64];
    for (size_t i = 0; i < sizeof wrappers / sizeof *wrappers; i++)
        if (!strcmp(child, wrappers[i].child) &&
            (!wrappers[i].class ||
             (!mt_py_type_name(holder, class, sizeof class) && !strcmp(class, wrappers[i].class))))
            return true;
    return false;
}

static int append(const struct mt_python_layout *layout, struct mt_module_path *path,
                  uint64_t holder, const struct step *step)
{
    char name[256];
    size_t used = strlen(path->text);
    if (mt_py_text(layout, step->key, name, sizeof name))
        return -ENOENT;
    if (is_wrapper(holder, name)) {
        path->root = used ? path->root : step->object;
        return 0;
    }
    int more = snprintf(path->text + used, sizeof path->text - used, used ? ".%s" : "%s", name);
    return more < 0 || (size_t)more >= sizeof path->text - used ? -ENOENT : 0;
}

/* Prove that each module on the path still has the next one. */
static void prove_way(const struct mt_python_layout *layout, struct mt_py_proof *proof,
                      const struct step *steps, const unsigned *way, unsigned n)
{
    struct mt_py_proof one;
    proof->n = 0;
    while (n--) {
        const struct step *step = &steps[way[n]];
        if (mt_module_prove_child(layout, steps[step->parent].object, !step->parent, step->key,
                                  step->object, &one) ||
            proof->n + one.n > MT_PY_PROOF) {
            proof->n = 0;
            return;
        }
        memcpy(&proof->word[proof->n], one.word, one.n * sizeof *one.word);
        proof->n += one.n;
    }
}

static int spell(const struct mt_python_layout *layout, struct mt_module_path *path,
                 struct mt_py_proof *proof, const struct step *steps, unsigned last)
{
    unsigned way[MT_MODULE_MOST], n = 0;
    for (unsigned at = last; at; at = steps[at].parent)
        way[n++] = at;
    for (unsigned i = n; i--;)
        if (append(layout, path, steps[steps[way[i]].parent].object, &steps[way[i]]))
            return -ENOENT;
    prove_way(layout, proof, steps, way, n);
    return 0;
}

/* The remaining budget, in entries of dicts. Opening a module costs as much as OPENING entries. */
#define OPENING 16
#define AT_FIRST 32768
#define MOST_SAVED (1 << 20)
#define EACH 32       /* added by a new module */
#define WHEN_BROKE 2u /* modules to open even without budget */
#define ENTRIES_WHEN_BROKE 256u
#define IN_ORDER 64u /* children to search from the first on */

static struct {
    int64_t spent; /* without AT_FIRST */
    _Atomic uint32_t cut;
} effort;

void mt_module_search_earns(void)
{
    if (effort.spent > AT_FIRST - MOST_SAVED)
        effort.spent -= EACH;
}

static bool is_broke(void)
{
    return effort.spent >= AT_FIRST;
}

uint32_t mt_module_searches_cut(void)
{
    return atomic_load_explicit(&effort.cut, memory_order_relaxed);
}

void mt_module_search_reset(void)
{
    effort.spent = 0;
    effort.cut = 0;
    module_hints_reset();
}

static struct step steps[MT_MODULE_MOST + 1];

static int open_step(const struct mt_python_layout *layout, unsigned at,
                     struct mt_py_dict *children, uint64_t *dict)
{
    struct mt_py_proof unused;
    int rc = mt_module_children(layout, steps[at].object, !at, children, dict, &unused);
    effort.spent += rc ? 1 : OPENING;
    return rc;
}

/* Keep hints for the next children in the dict: most often they are called next. */
static void hint_at_next(struct mt_py_dict *children, unsigned at, uint64_t owner)
{
    struct mt_py_entry entry;
    unsigned most = children->n / 8 > IN_ORDER ? children->n / 8 : IN_ORDER;
    for (unsigned i = at; i < children->n && i - at < most; i++) {
        if (mt_py_dict_at(children, i, &entry))
            return;
        module_hint(entry.value, owner, i);
    }
}

/* Find the child among many, beginning after the last one found there. Return its index, or
 * -ENOENT. */
static int find_among(struct mt_py_dict *children, uint64_t dict, uint64_t owner, uint64_t child,
                      struct mt_py_entry *entry)
{
    uint32_t *next = module_next_child(dict);
    unsigned most =
        is_broke() && children->n > ENTRIES_WHEN_BROKE ? ENTRIES_WHEN_BROKE : children->n;
    unsigned start = children->n > IN_ORDER && *next < children->n ? *next : 0;
    for (unsigned n = 0; n < most; n++) {
        unsigned i = (start + n) % children->n;
        if (mt_py_dict_at(children, i, entry))
            break;
        effort.spent++;
        if (entry->value == child) {
            *next = i + 1;
            return (int)i;
        }
        module_hint(entry->value, owner, i);
    }
    return -ENOENT;
}

/* Make the child of step `at` the next step, by a hint or a search. Return 0 or -ENOENT. */
static int go_down(const struct mt_python_layout *layout, unsigned at, uint64_t child,
                   unsigned place)
{
    struct mt_py_dict children;
    struct mt_py_entry entry;
    uint64_t dict;
    if (open_step(layout, at, &children, &dict))
        return -ENOENT;
    if ((mt_py_dict_at(&children, place, &entry) || entry.value != child) &&
        find_among(&children, dict, steps[at].object, child, &entry) < 0)
        return -ENOENT;
    steps[at + 1] = (struct step){child, entry.key, at};
    return 0;
}

/* Make the child step 1 if it is among the owner's first children. */
static bool has_near(const struct mt_python_layout *layout, uint64_t child)
{
    struct mt_py_dict children;
    struct mt_py_entry entry;
    uint64_t dict;
    if (open_step(layout, 0, &children, &dict))
        return false;
    for (unsigned i = 0; i < children.n && i < IN_ORDER; i++) {
        effort.spent++;
        if (mt_py_dict_at(&children, i, &entry) || entry.value != child)
            continue;
        steps[1] = (struct step){child, entry.key, 0};
        return true;
    }
    return false;
}

/* Follow the last known owners from the module upwards. Return the last step, or 0. */
static unsigned follow_hints(const struct mt_python_layout *layout, uint64_t owner, uint64_t object)
{
    enum { MOST_LEVELS = 16 };
    struct module_hint way[MOST_LEVELS];
    unsigned n = 0;
    for (uint64_t at = object; at != owner; at = way[n++].owner) {
        const struct module_hint *hint = n < MOST_LEVELS ? module_hint_of(at) : NULL;
        if (!hint)
            return 0;
        way[n] = *hint;
    }
    steps[0] = (struct step){owner, 0, 0};
    if (n > 1 && has_near(layout, object))
        return 1;
    for (unsigned i = 0; i < n; i++)
        if (go_down(layout, i, way[n - 1 - i].child, way[n - 1 - i].at))
            return 0;
    return n;
}

/* Search the tree, the nearest modules first. Return the last step, or 0. */
static unsigned go_through(const struct mt_python_layout *layout, uint64_t owner, uint64_t object,
                           unsigned most)
{
    struct mt_py_dict children;
    struct mt_py_entry entry;
    uint64_t dict;
    unsigned n = 1;
    steps[0] = (struct step){owner, 0, 0};
    for (unsigned at = 0; at < n && at < most; at++) {
        if (is_broke() && most > WHEN_BROKE)
            most = WHEN_BROKE;
        if (open_step(layout, at, &children, &dict))
            continue;
        int found = find_among(&children, dict, steps[at].object, object, &entry);
        if (found >= 0) {
            steps[n] = (struct step){object, entry.key, at};
            hint_at_next(&children, (unsigned)found, steps[at].object);
            return n;
        }
        for (unsigned i = 0; i < children.n && n < most && !mt_py_dict_at(&children, i, &entry);
             i++) {
            effort.spent++;
            if (entry.value)
                steps[n++] = (struct step){entry.value, entry.key, at};
        }
    }
    if (n >= most)
        atomic_fetch_add_explicit(&effort.cut, 1, memory_order_relaxed);
    return 0;
}

int mt_module_search(const struct mt_python_layout *layout, uint64_t owner, uint64_t object,
                     unsigned most, struct mt_module_path *path, struct mt_py_proof *proof)
{
    unsigned last = follow_hints(layout, owner, object);
    if (!last)
        last = go_through(layout, owner, object, most);
    return last ? spell(layout, path, proof, steps, last) : -ENOENT;
}

bool mt_module_is_sound(const struct mt_python_layout *layout, uint64_t object)
{
    static const char *const made[] = {"_modules", "_parameters", "_buffers"};
    struct mt_py_dict attributes;
    struct mt_py_entry entry;
    struct mt_py_proof proof;
    uint64_t dict[3];
    if (mt_py_attributes(layout, object, &attributes, &proof))
        return false;
    for (unsigned i = 0; i < 3; i++) {
        struct mt_py_dict found;
        if (mt_py_dict_find(layout, &attributes, made[i], &entry) ||
            mt_py_dict_open(layout, entry.value, &found))
            return false;
        dict[i] = entry.value;
    }
    return mt_module_is_provable(layout, object, dict);
}

bool mt_module_is_scripted(const struct mt_python_layout *layout, uint64_t object)
{
    struct mt_py_dict attributes;
    struct mt_py_entry entry;
    struct mt_py_proof proof;
    char class[32];
    return !mt_py_attributes(layout, object, &attributes, &proof) &&
           !mt_module_attribute(layout, &attributes, MT_MODULE_CHILDREN, &entry) &&
           !mt_py_type_name(entry.value, class, sizeof class) &&
           !strcmp(class, "OrderedModuleDict");
}
