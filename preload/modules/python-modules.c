/* SPDX-License-Identifier: Apache-2.0 */
#include "python-modules.h"
#include "module-proof.h"
#include "module-roots.h"
#include "module-search.h"
#include "preload/host/memory.h"
#include "preload/host/message.h"
#include "preload/python/python-code.h"
#include "preload/record/cache.h"
#include "preload/record/intern.h"
#include "trace-format/likely.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define ENTRIES 16384u
#define PROBES 8u
#define MISSES 256u
#define MOST_TRIES 4u
#define OPENED_WHEN_TIRED 8u

enum status { UNSEEN, SOUND, WRONG_LAYOUT };

/* A named module, as called from another. Addresses are reused, and modules move: the proof shows
 * that it is still the same module at the same place. turn is odd while the entry is being written.
 */
struct entry {
    _Atomic uint32_t turn, caller_id, id, n;
    _Atomic uint64_t object, caller;
    struct {
        _Atomic uint64_t address, value;
    } word[MT_PY_PROOF];
};

/* Entries are in the order in which their places were first used, so that few modules use few
 * pages. */
struct named_modules {
    _Atomic uint16_t number[ENTRIES]; /* by hash: an entry, from 1 up; 0: none yet */
    uint32_t used;
    struct entry entry[ENTRIES];
};

static struct {
    const struct mt_python_layout *layout;
    _Atomic int status;
    struct named_modules *_Atomic table;
    struct mt_module_name *name; /* by id */
    uint32_t n_names;
    struct mt_cache ids;
    struct {
        uint64_t class;
        uint32_t caller_id, tries;
    } missed[MISSES];
} modules;

static const struct mt_module_caller by_itself;

void mt_modules_start(const struct mt_python_layout *layout)
{
    modules.layout = layout;
    modules.status = UNSEEN;
    mt_module_proof_start(layout);
}

/* Functions of torch.nn.Module, and the method of a module that is called without them. */
static const struct {
    const char *function, *file;
    enum mt_module_work work;
} callers[] = {
    {"_wrapped_call_impl", "torch/nn/modules/module.py", MT_CALLS_MODULE},
    {"_call_impl", "torch/nn/modules/module.py", MT_CALLS_MODULE},
    {"_apply", "torch/nn/modules/module.py", MT_MOVES_MODULE}, /* .to(), .cuda() */
    {"forward", NULL, MT_CALLS_MODULE},
    {"__call__", NULL, MT_CALLS_MODULE}, /* of a class with its own, such as gpytorch's */
};

static size_t read_str(uint64_t code, int offset, char *out, size_t size)
{
    size_t used = mt_py_utf8(modules.layout, mt_py_word(code, offset), out, size - 1);
    out[used] = '\0';
    return used;
}

static bool ends_with(const char *text, size_t size, const char *end)
{
    size_t n = strlen(end);
    return size >= n && !strcmp(text + size - n, end);
}

static bool is_sound(uint64_t object)
{
    if (modules.status == UNSEEN && !mt_module_is_scripted(modules.layout, object)) {
        int sound = mt_module_is_sound(modules.layout, object);
        modules.status = sound ? SOUND : WRONG_LAYOUT;
        if (!sound)
            mt_message("the object layout of this Python 3.%d is unknown; "
                       "recording without module names",
                       modules.layout->minor);
    }
    return modules.status == SOUND;
}

enum mt_module_work mt_module_work(uint64_t code, uint64_t object)
{
    static char function[256], file[4096]; /* a thread's stack may be small */
    if (modules.status > SOUND || !object)
        return 0;
    read_str(code, modules.layout->code_name, function, sizeof function);
    const char *dot = strrchr(function, '.'), *last = dot ? dot + 1 : function;
    for (size_t i = 0; i < sizeof callers / sizeof *callers; i++) {
        if (strcmp(last, callers[i].function))
            continue;
        if (!callers[i].file)
            return modules.status == SOUND && mt_module_is_sound(modules.layout, object)
                       ? callers[i].work
                       : 0;
        size_t size = read_str(code, modules.layout->code_filename, file, sizeof file);
        if (ends_with(file, size, callers[i].file))
            return is_sound(object) ? callers[i].work : 0;
    }
    return 0;
}

static unsigned place(uint64_t object, struct mt_module_caller caller, unsigned probe)
{
    return (unsigned)(mt_mix(mt_mix(caller.id, object), caller.object) + probe) % ENTRIES;
}

/* Return the entry at a place, or NULL. */
static struct entry *entry_at(struct named_modules *table, unsigned place)
{
    unsigned number = atomic_load_explicit(&table->number[place], memory_order_acquire);
    return number ? &table->entry[number - 1] : NULL;
}

static bool is_for(struct entry *entry, uint64_t object, struct mt_module_caller caller)
{
    return atomic_load_explicit(&entry->object, memory_order_relaxed) == object &&
           atomic_load_explicit(&entry->caller, memory_order_relaxed) == caller.object &&
           atomic_load_explicit(&entry->caller_id, memory_order_relaxed) == caller.id;
}

/* Return the name, or 0 while it is being written. All loads precede the second load of turn. */
static uint32_t read_entry(struct entry *entry, struct mt_py_proof *proof)
{
    uint32_t turn = atomic_load_explicit(&entry->turn, memory_order_acquire);
    uint32_t id = atomic_load_explicit(&entry->id, memory_order_acquire);
    proof->n = atomic_load_explicit(&entry->n, memory_order_acquire) % (MT_PY_PROOF + 1);
    for (unsigned i = 0; i < proof->n; i++) {
        proof->word[i].address =
            atomic_load_explicit(&entry->word[i].address, memory_order_acquire);
        proof->word[i].value = atomic_load_explicit(&entry->word[i].value, memory_order_acquire);
    }
    return turn % 2 || atomic_load_explicit(&entry->turn, memory_order_relaxed) != turn ? 0 : id;
}

static bool holds(const struct mt_py_proof *proof)
{
    for (unsigned i = 0; i < proof->n; i++)
        if (mt_py_word(proof->word[i].address, 0) != proof->word[i].value)
            return false;
    return true;
}

MT_HOT_CODE uint32_t mt_module_find(uint64_t object, struct mt_module_caller caller)
{
    struct named_modules *table = atomic_load_explicit(&modules.table, memory_order_acquire);
    struct mt_py_proof proof;
    for (unsigned probe = 0; table && probe < PROBES; probe++) {
        struct entry *entry = entry_at(table, place(object, caller, probe));
        if (!entry)
            return 0;
        if (!is_for(entry, object, caller))
            continue;
        uint32_t id = read_entry(entry, &proof);
        return id && is_for(entry, object, caller) && holds(&proof) ? id : 0;
    }
    return 0;
}

/* Give a place the next entry: there are as many as places. */
static struct entry *add_entry(struct named_modules *table, unsigned place)
{
    struct entry *entry = &table->entry[table->used++];
    atomic_store_explicit(&table->number[place], (uint16_t)table->used, memory_order_release);
    return entry;
}

/* Return the existing entry, an empty one, or any. */
static struct entry *place_for(struct named_modules *table, uint64_t object,
                               struct mt_module_caller caller)
{
    for (unsigned probe = 0; probe < PROBES; probe++) {
        unsigned at = place(object, caller, probe);
        struct entry *entry = entry_at(table, at);
        if (!entry)
            return add_entry(table, at);
        if (is_for(entry, object, caller))
            return entry;
    }
    static unsigned turns;
    return entry_at(table, place(object, caller, turns++ % PROBES));
}

static void put(uint64_t object, struct mt_module_caller caller, uint32_t id,
                const struct mt_py_proof *proof)
{
    struct named_modules *table = modules.table;
    if (!table) {
        table = mt_map(sizeof *table);
        if (!table)
            return;
        atomic_store_explicit(&modules.table, table, memory_order_release);
    }
    struct entry *entry = place_for(table, object, caller);
    uint32_t turn = atomic_load_explicit(&entry->turn, memory_order_relaxed);
    atomic_store_explicit(&entry->turn, turn + 1, memory_order_relaxed); /* before all below */
    atomic_store_explicit(&entry->object, object, memory_order_release);
    atomic_store_explicit(&entry->caller, caller.object, memory_order_release);
    atomic_store_explicit(&entry->caller_id, caller.id, memory_order_release);
    atomic_store_explicit(&entry->id, id, memory_order_release);
    atomic_store_explicit(&entry->n, proof->n, memory_order_release);
    for (unsigned i = 0; i < proof->n; i++) {
        atomic_store_explicit(&entry->word[i].address, proof->word[i].address,
                              memory_order_release);
        atomic_store_explicit(&entry->word[i].value, proof->word[i].value, memory_order_release);
    }
    atomic_store_explicit(&entry->turn, turn + 2, memory_order_release);
}

static uint32_t id_of(uint32_t root, const char *path)
{
    uint32_t text = *path ? mt_intern_string(path, strlen(path)) : 0;
    struct mt_key key = {.a = root, .b = text};
    uint32_t id = mt_cache_find(&modules.ids, &key);
    if (id || !root || (*path && !text))
        return id;
    if (!modules.name && !(modules.name = mt_map(MT_MOST_MODULES * sizeof *modules.name)))
        return 0;
    if (modules.n_names + 1 == MT_MOST_MODULES)
        return 0;
    id = ++modules.n_names;
    modules.name[id] = (struct mt_module_name){root, text};
    mt_cache_add(&modules.ids, &key, id);
    return id;
}

struct mt_module_name mt_module_name(uint32_t id)
{
    return id && id <= modules.n_names ? modules.name[id] : (struct mt_module_name){0, 0};
}

/* Begin the path with the owner's: by its name, or as an outermost module. */
static uint32_t begin(struct mt_module_path *path, const struct mt_module_caller *owner)
{
    uint32_t id = owner->id ? owner->id : mt_module_find(owner->object, by_itself);
    struct mt_module_name name = mt_module_name(id);
    size_t size;
    const char *text = mt_intern_text(name.path, &size);
    snprintf(path->text, sizeof path->text, "%.*s", (int)size, text);
    path->root = owner->object;
    return name.root;
}

static uint32_t search(uint64_t object, const struct mt_module_caller *owner, unsigned most,
                       struct mt_py_proof *proof)
{
    static struct mt_module_path path;
    uint32_t root = begin(&path, owner);
    if (mt_module_search(modules.layout, owner->object, object, most, &path, proof))
        return 0;
    return id_of(root && path.root == owner->object ? root
                                                    : mt_module_root(modules.layout, path.root),
                 path.text);
}

/* Count failed searches by class and caller: modules that are created for each call have no name,
 * and must not cost a wide search each time. */
static uint32_t *tries(uint64_t object, uint32_t caller_id)
{
    uint64_t class = mt_py_word(object, MT_OBJECT_TYPE);
    unsigned at = (unsigned)mt_mix(mt_mix(0, class), caller_id) % MISSES;
    if (modules.missed[at].class != class || modules.missed[at].caller_id != caller_id) {
        modules.missed[at].class = class;
        modules.missed[at].caller_id = caller_id;
        modules.missed[at].tries = 0;
    }
    return &modules.missed[at].tries;
}

/* Search the owners' children, except those of the module itself, whose methods may be its callers
 * (to, _apply). The proof is the path from the caller, if the caller has the module. */
static uint32_t search_owners(uint64_t object, struct mt_module_caller caller,
                              const struct mt_module_caller *owners, unsigned n,
                              struct mt_py_proof *proof)
{
    uint32_t *missed = tries(object, caller.id);
    bool is_tired = *missed == MOST_TRIES;
    for (unsigned i = 0; i < (is_tired && n ? 1 : n); i++) {
        uint32_t id =
            owners[i].object == object
                ? 0
                : search(object, &owners[i], is_tired ? OPENED_WHEN_TIRED : MT_MODULE_MOST, proof);
        if (!id)
            continue;
        *missed = 0;
        if (owners[i].object != caller.object)
            proof->n = 0;
        return id;
    }
    *missed += !is_tired;
    return 0;
}

/* Keep a module that its caller does not have under the caller's name, as long as neither changes,
 * to avoid a search at each call. */
static void put_as_callers(uint64_t object, struct mt_module_caller caller)
{
    struct mt_py_proof proof, of_caller;
    if (mt_module_prove(modules.layout, object, &proof) ||
        mt_module_prove_children(modules.layout, caller.object, &of_caller))
        return;
    for (unsigned i = 0; i < of_caller.n; i++)
        mt_py_prove(&proof, of_caller.word[i].address, of_caller.word[i].value);
    put(object, caller, caller.id, &proof);
}

uint32_t mt_module_resolve(uint64_t object, struct mt_module_caller caller,
                           const struct mt_module_caller *owners, unsigned n)
{
    struct mt_py_proof proof = {0}, identity;
    mt_module_search_earns();
    uint32_t id = search_owners(object, caller, owners, n, &proof);
    uint32_t elsewhere = mt_module_find(object, by_itself);
    if (!id && elsewhere)
        id = elsewhere;
    if (!id && caller.id) {
        if (*tries(object, caller.id) == MOST_TRIES)
            put_as_callers(object, caller);
        return caller.id;
    }
    if (!id)
        id = id_of(mt_module_root(modules.layout, object), "");
    if (!id || mt_module_prove(modules.layout, object, &identity))
        return id;
    put(object, caller, id, proof.n ? &proof : &identity);
    if (id != elsewhere && caller.object)
        put(object, by_itself, id, &identity);
    return id;
}

const char *mt_modules_status(void)
{
    switch (modules.status) {
    case UNSEEN:
        return "no: no torch.nn module was seen";
    case WRONG_LAYOUT:
        return "no: the object layout of this Python is unknown";
    }
    return "yes";
}

void mt_modules_reset(void)
{
    if (modules.table)
        mt_unmap(modules.table, sizeof *modules.table);
    if (modules.name)
        mt_unmap(modules.name, MT_MOST_MODULES * sizeof *modules.name);
    mt_cache_reset(&modules.ids);
    mt_module_roots_reset();
    mt_module_search_reset();
    memset(&modules, 0, sizeof modules);
}
