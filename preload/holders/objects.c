/* SPDX-License-Identifier: Apache-2.0 */
#include "picture.h"
#include "preload/host/memory.h"
#include "preload/python/python-objects.h"
#include "preload/stacks/python-frames.h"
#include "python-graph.h"
#include "torch-graph.h"

#include <errno.h>

struct mt_holder_python mt_holder_python;

#define KNOWN 4096u                          /* types */
#define LINK ~UINT64_C(3)                    /* the other bits of a link are the collector's */
#define MOST_INTERPRETER (UINT64_C(1) << 20) /* bytes to search */
enum { GENERATION = 24, GENERATIONS = 3, HEAD = 16 };

/* At the moment another thread's collection is under way: objects may be in lists of its own, which
 * have their heads on its stack, and links to the previous object may be something else. */
static bool is_collecting;

static uint64_t link_at(uint64_t address)
{
    return mt_word(address) & LINK;
}

/* Return whether this is a list's head. */
static bool is_list(uint64_t head)
{
    uint64_t next = link_at(head), previous = link_at(head + 8);
    return mt_is_readable(next, 16) && mt_is_readable(previous, 16) && link_at(next + 8) == head &&
           link_at(previous) == head;
}

/* Return whether this may be a generation's head, whose list may be changing. */
static bool is_generation(uint64_t head)
{
    return mt_is_readable(link_at(head), 32) && mt_is_readable(link_at(head + 8), 16);
}

/* Return whether the collector's generations are here: three lists, and a fourth for frozen
 * objects, which only gc.freeze() changes. */
static bool are_generations(uint64_t at)
{
    return mt_is_readable(at, MT_COLLECTOR_END) && is_generation(at) &&
           is_generation(at + GENERATION) && is_generation(at + 2 * GENERATION) &&
           is_list(at + (uint64_t)mt_holder_python.holding->collector_frozen);
}

/* Find the collector's generations in an interpreter's state: at the offset that _PyRuntime names,
 * or, in versions that do not name it, where the address of the first stands behind them. */
static uint64_t find_generations(uint64_t state)
{
    int offset = mt_holder_python.holding->collector_generations;
    if (offset >= 0) {
        uint64_t collector = mt_holder_python.runtime
                                 ? mt_word(mt_holder_python.runtime + MT_RUNTIME_COLLECTOR)
                                 : MOST_INTERPRETER;
        uint64_t at = state + collector + (uint64_t)offset;
        return collector < MOST_INTERPRETER && are_generations(at) ? at : 0;
    }
    for (uint64_t at = state; at < state + MOST_INTERPRETER && mt_is_readable(at, MT_COLLECTOR_END);
         at += 8)
        if (mt_word(at + MT_COLLECTOR_YOUNGEST) == at && are_generations(at))
            return at;
    return 0;
}

static uint64_t flags_of(uint64_t type)
{
    return mt_word(type + MT_TYPE_FLAGS);
}

/* Return whether the type's tp_traverse may be called: for a type object, only if it is on the
 * heap. */
static bool may_visit(uint64_t object, uint64_t type)
{
    uint64_t flags = flags_of(type);
    return flags & MT_FLAG_GC &&
           (!(flags >> MT_FLAG_TYPE_BIT & 1) || flags_of(object) & MT_FLAG_HEAP);
}

/* Return whether this is an object tracked by the collector, not the head of a list. */
static bool is_object(uint64_t object)
{
    uint64_t type = mt_is_readable(object, 16) ? mt_word(object + MT_OBJECT_TYPE) : 0;
    if (type % 8 || !mt_is_readable(type, MT_TYPE_DICT) || !may_visit(object, type))
        return false;
    uint64_t of_type = mt_word(type + MT_OBJECT_TYPE);
    return of_type % 8 == 0 && mt_is_readable(of_type, MT_TYPE_DICT) &&
           flags_of(of_type) >> MT_FLAG_TYPE_BIT & 1;
}

/* Return whether there was room. */
static bool add_object(uint64_t object)
{
    uint32_t node = mt_picture_add(object, MT_NODE_OBJECT);
    if (node == MT_NO_NODE)
        return false;
    mt_picture.flags[node] = MT_NODE_IS_TRACKED;
    mt_picture.refs[node] = mt_holder_python.layout->minor >= 12
                                ? (int64_t)(uint32_t)mt_word(object)
                                : (int64_t)mt_word(object);
    return true;
}

/* Walk a list: add its objects, or only count them. Return how many; 0 with is_adding where there
 * is no room. A list that is about to change may lead into another one, and never back. */
static uint64_t walk_list(uint64_t head, bool is_adding)
{
    uint64_t n = 0, passed = head;
    for (uint64_t at = link_at(head); at != head && at != passed && mt_is_readable(at, 32);
         at = link_at(at), n++) {
        if ((n & (n - 1)) == 0)
            passed = at;
        if (is_adding && (!is_collecting || is_object(at + HEAD)) && !add_object(at + HEAD))
            return 0;
    }
    return n;
}

static uint64_t walk_lists(uint64_t generations, bool is_adding)
{
    uint64_t n = 0;
    for (unsigned i = 0; i < GENERATIONS; i++)
        n += walk_list(generations + (uint64_t)i * GENERATION, is_adding);
    return n +
           walk_list(generations + (uint64_t)mt_holder_python.holding->collector_frozen, is_adding);
}

int mt_objects_read(void)
{
    enum { MOST = 1 << 26, MORE = 1 << 20, NODE_BYTES = 48 };
    uint64_t generations[16], n_objects = 0;
    unsigned n = 0;
    const struct mt_holder_python *python = &mt_holder_python;
    for (void *state = python->first_interpreter(); state && n < 16;
         state = python->next_interpreter(state)) {
        generations[n] = find_generations((uint64_t)(uintptr_t)state);
        if (!generations[n] && python->runtime) /* up to 3.8 there is one set for the process */
            generations[n] = find_generations(python->runtime);
        if (!generations[n])
            return -ENOENT;
        n_objects += walk_lists(generations[n], false);
        if (mt_py_int(generations[n], python->holding->collector_is_running)) {
            uint64_t old = generations[n] + (uint64_t)python->holding->collector_old;
            is_collecting = true;
            n_objects += mt_word(old) + mt_word(old + 8);
        }
        n++;
        if (python->layout->minor < 9)
            break;
    }
    if (!n_objects)
        return -ENOENT;
    if (n_objects > MOST || (2 * n_objects + MORE) * NODE_BYTES > mt_picture.room / 2 ||
        mt_picture_create((uint32_t)(2 * n_objects + MORE)))
        return -ENOMEM;
    for (unsigned i = 0; i < n; i++)
        walk_lists(generations[i], true);
    return 0;
}

/* Return whether it may be a type: one that was freed must not cost what stands next to its object.
 */
static bool is_type(uint64_t type)
{
    return type && type % 8 == 0 && mt_is_readable(type, MT_TYPE_DICT);
}

static enum mt_holder_type type_by_name(uint64_t type)
{
    static const struct {
        const char *name;
        enum mt_holder_type type;
    } known[] = {{"TensorBase", MT_TYPE_TENSOR},
                 {"_TensorBase", MT_TYPE_TENSOR},
                 {"_FunctionBase", MT_TYPE_CONTEXT},
                 {"StorageBase", MT_TYPE_STORAGE},
                 {"Optimizer", MT_TYPE_OPTIMIZER},
                 {"_localdummy", MT_TYPE_OF_THREAD},
                 {"_lru_cache_wrapper", MT_TYPE_CACHE},
                 {"_local", MT_TYPE_LOCAL},
                 {"ndarray", MT_TYPE_ARRAY}};
    bool has_gc = is_type(type) && flags_of(type) & MT_FLAG_GC;
    for (unsigned depth = 0; is_type(type) && depth < 16;
         depth++, type = mt_word(type + MT_TYPE_BASE)) {
        const char *name = (const char *)(uintptr_t)mt_word(type + MT_TYPE_NAME);
        if (!mt_is_readable((uint64_t)(uintptr_t)name, 1))
            return MT_TYPE_LEAF;
        const char *dot = strrchr(name, '.');
        name = dot ? dot + 1 : name;
        for (unsigned i = 0; i < sizeof known / sizeof *known; i++)
            if (!strcmp(name, known[i].name))
                return known[i].type;
    }
    return has_gc ? MT_TYPE_PLAIN : MT_TYPE_LEAF;
}

enum mt_holder_type mt_holder_type_of(uint64_t object)
{
    static struct {
        uint64_t type;
        enum mt_holder_type is;
    } *known; /* only the child has this memory */
    uint64_t type = mt_word(object + MT_OBJECT_TYPE);
    unsigned i = (unsigned)(type >> 4 ^ type >> 16) % KNOWN;
    if (!known && !(known = mt_map(KNOWN * sizeof *known)))
        return type_by_name(type);
    if (known[i].type != type) {
        known[i].is = type_by_name(type);
        known[i].type = type;
    }
    return known[i].is;
}

uint64_t mt_holder_wrapped(uint64_t object)
{
    enum {
        WRAPPED = 16,
        LEAST_ADDRESS = 4096
    }; /* possibly after a word that marks it as borrowed */
    uint64_t word = mt_word(object + WRAPPED);
    return word < LEAST_ADDRESS ? mt_word(object + WRAPPED + 8) : word;
}

void mt_object_visit(uint64_t object, mt_visit *visit, void *data)
{
    typedef int traverse(void *object, mt_visit *visit, void *data);
    if (MT_MAY_CRASH()) {
        uint64_t type = mt_word(object + MT_OBJECT_TYPE);
        uint64_t call = may_visit(object, type) ? mt_word(type + MT_TYPE_TRAVERSE) : 0;
        if (call)
            ((traverse *)(uintptr_t)call)((void *)(uintptr_t)object, visit, data);
        mt_crash_over();
    }
}

/* Add an object and the rest of its list, unless that is the list of a generation. */
static int add_list_of(void *object, void *unused)
{
    uint64_t first = (uint64_t)(uintptr_t)object;
    bool is_past_head = false;
    (void)unused;
    if (!first || !may_visit(first, mt_word(first + MT_OBJECT_TYPE)) ||
        mt_picture_find(first) != MT_NO_NODE)
        return 0;
    for (uint64_t at = first - HEAD; link_at(at) && mt_is_readable(link_at(at), 32);
         at = link_at(at)) {
        uint32_t n = mt_picture.n;
        if (is_object(at + HEAD)) {
            if (!add_object(at + HEAD) || mt_picture.n == n)
                break;
        } else if (is_past_head) {
            break;
        } else {
            is_past_head = true;
        }
    }
    return 0;
}

void mt_objects_read_moved(void)
{
    for (uint32_t node = 0; is_collecting && node < mt_picture.n; node++)
        mt_object_visit(mt_picture.address[node], add_list_of, NULL);
}

static int take_off(void *object, void *unused)
{
    uint32_t node = mt_picture_find((uint64_t)(uintptr_t)object);
    (void)unused;
    if (node != MT_NO_NODE)
        mt_picture.refs[node]--;
    return 0;
}

void mt_objects_count(void)
{
    uint32_t n = mt_picture.n;
    for (uint32_t node = 0; node < n; node++)
        mt_object_visit(mt_picture.address[node], take_off, NULL);
}

static int reach(void *object, void *data)
{
    uint64_t address = (uint64_t)(uintptr_t)object;
    enum mt_holder_type is = address ? mt_holder_type_of(address) : MT_TYPE_LEAF;
    if (is == MT_TYPE_OPTIMIZER)
        mt_picture_reach_later(address, MT_NODE_OBJECT, *(const uint32_t *)data);
    else if (is != MT_TYPE_LEAF)
        mt_picture_reach(address, MT_NODE_OBJECT, *(const uint32_t *)data);
    return 0;
}

uint64_t mt_array_objects(uint64_t array, const uint64_t **out)
{
    enum { MOST_SIDES = 64, MOST = 1 << 22 };
    uint64_t data = mt_word(array + MT_ARRAY_DATA), shape = mt_word(array + MT_ARRAY_SHAPE), n = 1;
    int sides = mt_py_int(array, MT_ARRAY_SIDES);
    const char *kind = (const char *)(uintptr_t)(mt_word(array + MT_ARRAY_TYPE) + MT_ARRAY_KIND);
    if (*kind != 'O' || mt_word(array + MT_ARRAY_BASE) || sides < 0 || sides > MOST_SIDES)
        return 0;
    for (int i = 0; i < sides && n <= MOST; i++)
        n *= mt_word(shape + 8 * (uint64_t)i);
    *out = (const uint64_t *)(uintptr_t)data;
    return n <= MOST && mt_is_readable(data, 8 * n) ? n : 0;
}

/* The collector, and so tp_traverse, does not know what numpy's arrays refer to. */
static void expand_array(uint64_t array, uint32_t node)
{
    const uint64_t *object;
    uint64_t n = mt_array_objects(array, &object);
    for (uint64_t i = 0; i < n; i++)
        reach((void *)(uintptr_t)object[i], &node);
    if (mt_word(array + MT_ARRAY_BASE))
        reach((void *)(uintptr_t)mt_word(array + MT_ARRAY_BASE), &node);
}

/* Reach what the C++ part of an object refers to. */
static void expand_wrapped(uint64_t object, uint32_t node)
{
    enum { THREAD_DICT = 16, HEAD_OF_OBJECT = 16, MOST_CONTEXT = 1024 };
    uint64_t type = mt_word(object + MT_OBJECT_TYPE), size;
    switch (mt_holder_type_of(object)) {
    case MT_TYPE_TENSOR:
        mt_torch_learn(mt_holder_wrapped(object));
        mt_picture_reach(mt_holder_wrapped(object), MT_NODE_IMPL, node);
        break;
    case MT_TYPE_STORAGE:
        mt_picture_reach(mt_holder_wrapped(object), MT_NODE_STORAGE, node);
        break;
    case MT_TYPE_CONTEXT:
        size = mt_word(type + MT_TYPE_BASIC_SIZE);
        if (size > HEAD_OF_OBJECT && size < MOST_CONTEXT)
            mt_torch_scan(object + HEAD_OF_OBJECT, (size - HEAD_OF_OBJECT) / 8, node);
        break;
    case MT_TYPE_ARRAY:
        expand_array(object, node);
        break;
    case MT_TYPE_OF_THREAD:
        if (mt_word(object + THREAD_DICT))
            mt_picture_reach(mt_word(object + THREAD_DICT), MT_NODE_OBJECT, node);
        break;
    default:
        break;
    }
}

void mt_object_expand(uint32_t node)
{
    uint64_t object = mt_picture.address[node];
    mt_object_visit(object, reach, &node);
    if (MT_MAY_CRASH()) {
        expand_wrapped(object, node);
        mt_crash_over();
    }
}

static uint64_t size_of_tuple(uint64_t tuple)
{
    return tuple ? mt_word(tuple + 16) : 0;
}

unsigned mt_frame_variables(uint64_t code)
{
    const struct mt_holder_layout *holding = mt_holder_python.holding;
    unsigned n = (unsigned)mt_py_int(code, holding->code_locals);
    if (holding->code_cells >= 0)
        n += (unsigned)(size_of_tuple(mt_word(code + (uint64_t)holding->code_cells)) +
                        size_of_tuple(mt_word(code + (uint64_t)holding->code_free)));
    return n < 65536 ? n : 0;
}

void mt_variable_name(uint64_t code, unsigned i, char *out, unsigned size)
{
    const struct mt_holder_layout *holding = mt_holder_python.holding;
    uint64_t names = mt_word(code + (uint64_t)holding->code_names);
    unsigned locals = (unsigned)mt_py_int(code, holding->code_locals);
    if (holding->code_cells >= 0 && i >= locals) {
        uint64_t cells = mt_word(code + (uint64_t)holding->code_cells);
        i -= locals;
        names = cells;
        if (i >= size_of_tuple(cells)) {
            i -= (unsigned)size_of_tuple(cells);
            names = mt_word(code + (uint64_t)holding->code_free);
        }
    }
    uint64_t n, items = mt_py_items(names, &n);
    *out = '\0';
    if (i < n)
        mt_py_text(mt_holder_python.layout, mt_word(items + 8ull * i), out, size);
}
