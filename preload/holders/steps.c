/* SPDX-License-Identifier: Apache-2.0 */
#include "steps.h"
#include "picture.h"
#include "preload/python/python-code.h"
#include "preload/python/python-objects.h"
#include "python-graph.h"
#include "torch-graph.h"

#include <stdbool.h>
#include <stdio.h>

#define NAME 96u /* bytes of a name; a longer one is truncated */

/* --- from a TensorImpl or an autograd node (with the address graph), to node[1]: each returns the
 * number of nodes that it covers ------------------------------------------------------------- */

/* Add the class of a node: "N5torch8autograd9generated12MulBackward0E" is MulBackward0. */
static void put_class(struct mt_path *path, uint64_t graph)
{
    const char *text = mt_torch_class(graph), *last = "a node";
    size_t length = 6;
    for (text += text && *text == 'N'; text && *text >= '0' && *text <= '9'; text += length) {
        for (length = 0; *text >= '0' && *text <= '9'; text++)
            length = length * 10 + (size_t)(*text - '0');
        last = text;
        if (length > strlen(text))
            length = strlen(text);
    }
    mt_step_put(path, "%.*s", (int)(length < NAME ? length : NAME), last);
}

static unsigned from_graph(struct mt_path *path, const uint32_t *node, uint64_t graph)
{
    unsigned sort = mt_picture.sort[node[1]];
    mt_step_is(path, MT_HOLDER_AUTOGRAD);
    if (sort == MT_NODE_GRAPH || sort == MT_NODE_CHUNK)
        return 1;
    mt_step_begin(path);
    if (sort == MT_NODE_OBJECT &&
        mt_holder_type_of(mt_picture.address[node[1]]) == MT_TYPE_CONTEXT) {
        mt_step_put(path, "ctx");
    } else {
        mt_step_put(path, "saved by ");
        put_class(path, graph);
    }
    return 1;
}

static unsigned from_impl(struct mt_path *path, const uint32_t *node)
{
    uint64_t child = mt_picture.address[node[1]];
    uint64_t meta = mt_torch_autograd(mt_picture.address[node[0]]);
    unsigned sort = mt_picture.sort[node[1]];
    if (sort == MT_NODE_STORAGE || sort == MT_NODE_CHUNK)
        return 1;
    mt_step_begin(path);
    if (sort == MT_NODE_OBJECT) {
        mt_step_put(path, "a hook");
        mt_step_is(path, MT_HOLDER_HOOK);
    } else if (sort == MT_NODE_GRAPH) {
        mt_step_put(path, meta && mt_word(meta + MT_AUTOGRAD_NODE) == child ? ".grad_fn"
                                                                            : "a view's node");
    } else {
        mt_step_put(path,
                    meta && mt_word(meta + MT_AUTOGRAD_GRADIENT) == child ? ".grad" : "._base");
    }
    return 1;
}

static const struct mt_python_layout *layout(void)
{
    return mt_holder_python.layout;
}

static bool is_of(uint64_t object, uint64_t type)
{
    return type && mt_word(object + MT_OBJECT_TYPE) == type;
}

static void type_name(uint64_t object, char out[NAME])
{
    if (mt_py_type_name_alive(object, out, NAME))
        strcpy(out, "object");
}

/* Read a nonnegative int. Return 0 or -1. */
static int read_int(uint64_t object, uint64_t *number)
{
    enum { SIZE = 16, IS_ZERO = 1 }; /* since 3.12, the sign is in the lowest bits */
    char type[NAME];
    type_name(object, type);
    if (strcmp(type, "int") != 0)
        return -1;
    uint64_t size = mt_word(object + SIZE);
    *number = 0;
    return (layout()->minor < 12 ? !size : (size & 3) == IS_ZERO) ||
                   !mt_py_product(layout(), object, number)
               ? 0
               : -1;
}

/* Add a key as Python prints it, in a format: "[%s]". */
static void put_key(struct mt_path *path, uint64_t key, const char *format)
{
    char text[NAME], quoted[NAME + 2];
    uint64_t number;
    if (!mt_py_text(layout(), key, text, sizeof text)) {
        snprintf(quoted, sizeof quoted, "'%s'", text);
        text[0] = '\0';
    } else if (!read_int(key, &number)) {
        snprintf(quoted, sizeof quoted, "%llu", (unsigned long long)number);
    } else {
        type_name(key, text);
        snprintf(quoted, sizeof quoted, "<%s>", text);
    }
    char whole[2 * NAME];
    const char *at = strstr(format, "%s");
    snprintf(whole, sizeof whole, "%.*s%s%s", (int)(at - format), format, quoted, at + 2);
    mt_step_put(path, "%s", whole);
}

/* Find the key of a value. Return 0 or -1. */
static int find_key(struct mt_py_dict *dict, uint64_t value, uint64_t *key)
{
    struct mt_py_entry entry;
    for (unsigned i = 0; i < dict->n && !mt_py_dict_at(dict, i, &entry); i++)
        if (entry.value == value) {
            *key = entry.key;
            return 0;
        }
    return -1;
}

static int key_in_dict(uint64_t dict, uint64_t value, uint64_t *key)
{
    struct mt_py_dict entries;
    return mt_py_dict_open_alive(layout(), dict, &entries) ? -1 : find_key(&entries, value, key);
}

bool mt_step_key(struct mt_path *path, uint64_t dict, uint64_t value, const char *format)
{
    char name[NAME];
    uint64_t key;
    if (key_in_dict(dict, value, &key) || mt_py_text(layout(), key, name, sizeof name))
        return false;
    const char *at = strstr(format, "%s");
    mt_step_put(path, "%.*s%s%s", (int)(at - format), format, name, at + 2);
    return true;
}

static int key_in_attributes(uint64_t object, uint64_t value, char out[NAME])
{
    struct mt_py_dict entries;
    struct mt_py_proof proof;
    uint64_t key;
    return mt_py_attributes_alive(layout(), object, &entries, &proof) ||
                   find_key(&entries, value, &key) || mt_py_text(layout(), key, out, NAME)
               ? -1
               : 0;
}

/* Find an attribute among those of C, including __slots__. */
static int key_in_members(uint64_t object, uint64_t value, char out[NAME])
{
    enum { MEMBER = 40, SORT = 8, OFFSET = 16, OBJECT = 6, OBJECT_EX = 16 };
    for (uint64_t type = mt_word(object + MT_OBJECT_TYPE); type;
         type = mt_word(type + MT_TYPE_BASE))
        for (uint64_t at = mt_word(type + MT_TYPE_MEMBERS); at && mt_word(at); at += MEMBER) {
            int sort = mt_py_int(at, SORT);
            if ((sort == OBJECT || sort == OBJECT_EX) &&
                mt_word(object + mt_word(at + OFFSET)) == value) {
                snprintf(out, NAME, "%s", (const char *)(uintptr_t)mt_word(at));
                return 0;
            }
        }
    return -1;
}

static const char *file_of(uint64_t code, char out[NAME])
{
    char text[1024];
    if (mt_py_text(layout(), mt_py_word(code, layout()->code_filename), text, sizeof text))
        strcpy(text, "?");
    const char *slash = strrchr(text, '/');
    snprintf(out, NAME, "%.95s", slash ? slash + 1 : text);
    return out;
}

static void function_name(uint64_t code, char out[NAME])
{
    if (mt_py_text(layout(), mt_py_word(code, layout()->code_name), out, NAME))
        strcpy(out, "?");
}

void mt_step_variable(struct mt_path *path, const char *what, uint64_t frame, unsigned index,
                      const char *how)
{
    char name[NAME], function[NAME], file[NAME];
    uint64_t code = mt_py_frame_code(layout(), frame);
    uint64_t instruction =
        mt_py_word(frame, layout()->frame_instruction) & mt_py_instruction_bits(layout());
    mt_variable_name(code, index, name, sizeof name);
    function_name(code, function);
    mt_step_put(path, "%s", what);
    if (*name)
        mt_step_put(path, " `%s`", name);
    mt_step_put(path, " %s %s() at %s:%u", how, function, file_of(code, file),
                mt_py_line(layout(), code, instruction));
}

/* Below, each puts the step from a parent of some type to its child, node[1], and returns how many
 * nodes on it is; 0: it knows none. */

static uint64_t address_of(uint32_t node)
{
    return mt_picture.address[node];
}

/* Add the variable of a frame whose value is the child. */
static unsigned from_frame(struct mt_path *path, uint64_t frame, uint64_t child, const char *how)
{
    uint64_t code = mt_py_frame_code(layout(), frame);
    unsigned i = 0, n = mt_frame_variables(code);
    while (i < n && mt_py_reference(mt_word(mt_variable(frame, i))) != child)
        i++;
    mt_step_variable(path, i < n ? "local variable" : "temporary value", frame, i, how);
    return 1;
}

/* Add the variable of a suspended function. Up to 3.10 its frame is a separate object. */
static unsigned from_generator(struct mt_path *path, uint64_t object, const uint32_t *node,
                               unsigned n)
{
    uint64_t frame = object + (uint64_t)mt_holder_python.holding->generator_frame;
    if (!mt_holder_python.holding->is_inline)
        frame = mt_word(frame);
    bool is_object = frame == address_of(node[1]);
    mt_step_is(path, MT_HOLDER_GENERATOR);
    if (is_object && n < 3)
        return 1;
    mt_step_begin(path);
    from_frame(path, frame, address_of(node[is_object ? 2 : 1]), "of suspended");
    return is_object ? 2 : 1;
}

static unsigned from_frame_object(struct mt_path *path, uint64_t object, uint64_t child)
{
    int offset = mt_holder_python.holding->object_frame;
    mt_step_begin(path);
    mt_step_is(path, MT_HOLDER_TRACEBACK);
    return from_frame(path, offset ? mt_word(object + (uint64_t)offset) : object, child, "of");
}

/* Return the index of an item in a tuple; -1: it is not in it. */
static int index_in(uint64_t sequence, uint64_t item)
{
    uint64_t n, items = mt_py_items(sequence, &n);
    for (uint64_t i = 0; i < n && i < INT32_MAX; i++)
        if (mt_word(items + 8 * i) == item)
            return (int)i;
    return -1;
}

/* Add a variable of an outer function, in a cell: its name is among the last ones of the code. */
static unsigned from_closure(struct mt_path *path, uint64_t function, const uint32_t *node,
                             unsigned n)
{
    char name[NAME];
    uint64_t code = mt_word(function + (uint64_t)mt_holder_python.holding->function_code), n_cells;
    mt_py_items(address_of(node[1]), &n_cells);
    int i = index_in(address_of(node[1]), address_of(node[2]));
    unsigned first = mt_frame_variables(code) - (unsigned)n_cells;
    mt_variable_name(code, first + (unsigned)(i < 0 ? 0 : i), name, sizeof name);
    mt_step_begin(path);
    mt_step_put(path, "closure `%s`", name);
    mt_step_is(path, MT_HOLDER_CLOSURE);
    return n > 3 ? 3 : 2;
}

/* Add a default argument: they belong to the last arguments. */
static unsigned from_defaults(struct mt_path *path, uint64_t function, const uint32_t *node)
{
    char name[NAME];
    uint64_t code = mt_word(function + (uint64_t)mt_holder_python.holding->function_code), n;
    mt_py_items(address_of(node[1]), &n);
    int i = index_in(address_of(node[1]), address_of(node[2]));
    int arguments = mt_py_int(code, layout()->code_arguments);
    mt_variable_name(code, (unsigned)(arguments - (int)n + i), name, sizeof name);
    mt_step_begin(path);
    mt_step_put(path, "default argument `%s`", name);
    mt_step_is(path, MT_HOLDER_DEFAULT);
    return 2;
}

static unsigned from_function(struct mt_path *path, uint64_t function, const uint32_t *node,
                              unsigned n)
{
    const struct mt_holder_layout *holding = mt_holder_python.holding;
    uint64_t child = address_of(node[1]);
    if (n < 3)
        return 0;
    if (child == mt_word(function + (uint64_t)holding->function_closure))
        return from_closure(path, function, node, n);
    if (child == mt_word(function + (uint64_t)holding->function_defaults))
        return from_defaults(path, function, node);
    if (child != mt_word(function + (uint64_t)holding->function_keywords))
        return 0;
    mt_step_begin(path);
    if (!mt_step_key(path, child, address_of(node[2]), "default argument `%s`"))
        mt_step_put(path, "default argument");
    mt_step_is(path, MT_HOLDER_DEFAULT);
    return 2;
}

/* Add the function whose results are cached. */
static unsigned from_cache(struct mt_path *path, uint64_t cache, const uint32_t *node, unsigned n)
{
    char name[NAME] = "?";
    uint64_t size = mt_word(mt_word(cache + MT_OBJECT_TYPE) + MT_TYPE_BASIC_SIZE);
    for (uint64_t at = 16; at < size && size < 1024; at += 8) {
        uint64_t word = mt_word(cache + at);
        if (mt_is_readable(word, 16) && is_of(word, mt_holder_python.function))
            mt_py_text(layout(),
                       mt_word(word + (uint64_t)mt_holder_python.holding->function_qualname), name,
                       sizeof name);
    }
    mt_step_begin(path);
    mt_step_put(path, "cached result of %s()", name);
    mt_step_is(path, MT_HOLDER_LRU_CACHE);
    return n > 2 && mt_py_sort(address_of(node[1])) == MT_PY_DICT ? 2 : 1;
}

static unsigned from_error(struct mt_path *path, uint64_t error, uint64_t child)
{
    const struct mt_holder_layout *holding = mt_holder_python.holding;
    const char *what = child == mt_word(error + (uint64_t)holding->error_traceback)
                           ? "__traceback__"
                       : child == mt_word(error + MT_ERROR_ARGUMENTS)               ? "args"
                       : child == mt_word(error + (uint64_t)holding->error_context) ? "__context__"
                       : child == mt_word(error + (uint64_t)holding->error_cause)   ? "__cause__"
                                                                                    : NULL;
    if (!what)
        return 0;
    mt_step_begin(path);
    mt_step_put(path, ".%s", what);
    return 1;
}

/* Add an attribute of a class by the class's name alone: how the class is reached does not matter.
 */
static unsigned from_class(struct mt_path *path, uint64_t class, const uint32_t *node, unsigned n)
{
    char name[128];
    if (n < 3 || address_of(node[1]) != mt_word(class + MT_TYPE_DICT))
        return 0;
    const char *whole = (const char *)(uintptr_t)mt_word(class + MT_TYPE_NAME);
    const char *dot = strrchr(whole, '.');
    snprintf(name, sizeof name, "attribute `%%s` of class %.90s", dot ? dot + 1 : whole);
    struct mt_path before = *path;
    path->n = 0;
    path->root = MT_HOLDER_CLASS;
    if (mt_step_key(path, address_of(node[1]), address_of(node[2]), name))
        return 2;
    *path = before;
    return 0;
}

/* Put what a thread has by threading.local, from 3.13 on in a dict of the threads' dicts: as where
 * the thread itself leads to it, however the object is reached. */
static unsigned from_local(struct mt_path *path, const uint32_t *node, unsigned n)
{
    struct mt_path before = *path;
    if (n < 4)
        return 0;
    path->n = 0;
    path->root = MT_HOLDER_THREAD;
    if (mt_step_key(path, address_of(node[2]), address_of(node[3]), "thread local `%s`"))
        return 3;
    *path = before;
    return 0;
}

static unsigned from_items(struct mt_path *path, uint64_t parent, uint64_t child)
{
    int i = index_in(parent, child);
    if (i < 0)
        return 0;
    mt_step_begin(path);
    mt_step_put(path, "[%d]", i);
    return 1;
}

static unsigned from_array(struct mt_path *path, uint64_t array, uint64_t child)
{
    const uint64_t *object;
    uint64_t n = mt_array_objects(array, &object), i = 0;
    while (i < n && object[i] != child)
        i++;
    if (i < n) {
        mt_step_begin(path);
        mt_step_put(path, mt_py_int(array, MT_ARRAY_SIDES) == 1 ? "[%llu]" : ".flat[%llu]",
                    (unsigned long long)i);
    }
    return i < n || mt_word(array + MT_ARRAY_BASE) == child;
}

static unsigned from_dict(struct mt_path *path, uint64_t dict, uint64_t child)
{
    uint64_t key;
    mt_step_begin(path);
    if (!key_in_dict(dict, child, &key))
        put_key(path, key, "[%s]");
    else
        mt_step_put(path, "a key");
    return 1;
}

/* Add an attribute. torch.nn's own dicts of a module's parts are left out: ".weight", not
 * "._parameters['weight']". */
static unsigned put_attribute(struct mt_path *path, const char *name, const uint32_t *node,
                              unsigned n)
{
    static const char *const parts[] = {"_parameters", "_buffers", "_modules"};
    char part[NAME];
    uint64_t key;
    if (strstr(name, "_hooks"))
        mt_step_is(path, MT_HOLDER_HOOK);
    for (unsigned i = 0; n > 2 && i < sizeof parts / sizeof *parts; i++)
        if (!strcmp(name, parts[i]) &&
            !key_in_dict(address_of(node[1]), address_of(node[2]), &key) &&
            !mt_py_text(layout(), key, part, sizeof part)) {
            mt_step_begin(path);
            mt_step_put(path, *part >= '0' && *part <= '9' ? "[%s]" : ".%s", part);
            return 2;
        }
    mt_step_begin(path);
    mt_step_put(path, ".%s", name);
    return 1;
}

/* Add an attribute of any object: it may be in the object's dict, which is a separate node. */
static unsigned from_instance(struct mt_path *path, uint64_t object, const uint32_t *node,
                              unsigned n)
{
    static const struct mt_py_class optimizer = {"torch.optim.optimizer", "Optimizer"};
    char name[NAME];
    uint64_t child = address_of(node[1]);
    bool is_by_dict = key_in_attributes(object, child, name) && n > 2 &&
                      mt_py_sort(child) == MT_PY_DICT &&
                      !key_in_attributes(object, address_of(node[2]), name);
    if (!is_by_dict && key_in_attributes(object, child, name) &&
        key_in_members(object, child, name))
        return 0;
    if (!strcmp(name, "state") && mt_py_derives(layout(), object, &optimizer, 1))
        mt_step_is(path, MT_HOLDER_OPTIMIZER);
    return is_by_dict + put_attribute(path, name, node + is_by_dict, n - is_by_dict);
}

static unsigned from_object(struct mt_path *path, const uint32_t *node, unsigned n)
{
    const struct mt_holder_python *python = &mt_holder_python;
    uint64_t object = address_of(node[0]), child = address_of(node[1]);
    uint64_t type = mt_word(object + MT_OBJECT_TYPE), flags = mt_word(type + MT_TYPE_FLAGS);
    enum mt_holder_type is = mt_holder_type_of(object);
    char name[NAME];
    unsigned on = 0;
    if (mt_picture.sort[node[1]] == MT_NODE_STORAGE ||
        (is == MT_TYPE_TENSOR && mt_picture.sort[node[1]] == MT_NODE_IMPL))
        return 1;
    if (mt_picture.sort[node[1]] != MT_NODE_OBJECT) {
        mt_step_begin(path);
        mt_step_put(path, is == MT_TYPE_CONTEXT ? ".saved_tensors" : "in its C++ part");
        if (is == MT_TYPE_CONTEXT)
            mt_step_is(path, MT_HOLDER_AUTOGRAD);
        return 1;
    }
    if (is == MT_TYPE_TENSOR && mt_holder_type_of(child) == MT_TYPE_CONTEXT) {
        mt_step_begin(path);
        mt_step_put(path, ".grad_fn");
        mt_step_is(path, MT_HOLDER_AUTOGRAD);
        return 1;
    }
    if (is_of(object, python->frame))
        return from_frame_object(path, object, child);
    if (is_of(object, python->generator) || is_of(object, python->coroutine) ||
        is_of(object, python->async_generator))
        return from_generator(path, object, node, n);
    if (is_of(object, python->traceback) || is_of(object, (uint64_t)(uintptr_t)mt_py_types.cell))
        return 1;
    if (is_of(object, python->function))
        on = from_function(path, object, node, n);
    else if (is == MT_TYPE_CACHE)
        on = from_cache(path, object, node, n);
    else if (is == MT_TYPE_LOCAL)
        on = from_local(path, node, n);
    else if (is == MT_TYPE_ARRAY)
        on = from_array(path, object, child);
    else if (flags >> MT_FLAG_TYPE_BIT & 1)
        on = from_class(path, object, node, n);
    else if (flags & MT_FLAG_ERROR)
        on = from_error(path, object, child);
    else if (mt_py_sort(object) == MT_PY_DICT)
        return from_dict(path, object, child);
    else if (mt_py_sort(object) != MT_PY_OTHER)
        on = from_items(path, object, child);
    if (!on)
        on = from_instance(path, object, node, n);
    if (!on) {
        type_name(object, name);
        mt_step_begin(path);
        mt_step_put(path, "in a %s", name);
        on = 1;
    }
    return on;
}

unsigned mt_step_add(struct mt_path *path, const uint32_t *node, unsigned n)
{
    uint32_t parent = node[0];
    while (mt_picture.sort[parent] == MT_NODE_CHUNK && !(mt_picture.parent[parent] & MT_ROOT_BIT))
        parent = mt_picture.parent[parent];
    switch (mt_picture.sort[parent]) {
    case MT_NODE_OBJECT:
        return from_object(path, node, n);
    case MT_NODE_IMPL:
        return from_impl(path, node);
    case MT_NODE_GRAPH:
        return from_graph(path, node, mt_picture.address[parent]);
    }
    return 1;
}
