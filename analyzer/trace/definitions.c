/* SPDX-License-Identifier: Apache-2.0 */
#include "definitions.h"
#include "analyzer/support/address-map.h"
#include "analyzer/support/demangle.h"
#include "analyzer/support/grow.h"
#include "analyzer/support/hash.h"
#include "analyzer/support/text.h"
#include "redact.h"
#include "symbols.h"
#include "trace-format/meaning/marks.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

/* An id further than this beyond the last one means damage. */
#define ID_SLACK 65536u
/* Many such steps mean damage, too: a table has at most this many entries per definition, plus
 * these. */
#define ID_SPREAD 16u
#define ID_START (1u << 20)
/* memtap records 1,024 Python frames and 256 native ones of a stack: stacks need no more. */
#define DEPTH_LIMIT 2048u

struct thread {
    char *name;
    uint32_t os_thread;
};

struct image {
    uint32_t build_id, path; /* path 0: not defined */
};

struct mt_definitions {
    size_t defined; /* definitions with ids */
    char **strings;
    size_t n_strings, strings_capacity; /* n_: one more than the highest id */
    struct image *images;
    size_t n_images, images_capacity;
    struct mt_frame *frames;
    size_t n_frames, frames_capacity;
    struct mt_stack *stacks;
    size_t n_stacks, stacks_capacity;
    struct thread *threads;
    size_t n_threads, threads_capacity;
    struct mt_info *infos;
    size_t n_infos, infos_capacity;
    struct mt_address_map by_key;   /* a key's hash -> 1 + the place of its value */
    struct mt_address_map by_place; /* a frame's texts and line, hashed -> the first with them */
    uint32_t before;                /* the stack of what was allocated before; 0: none */
    char **names;                   /* made here */
    size_t n_names, names_capacity;
    struct mt_redaction redaction;
    struct mt_symbols *symbols;
};

static const struct mt_frame unknown_frame = {.function = "?", .file = "?"};
static const struct mt_stack unknown_stack;

struct mt_definitions *mt_definitions_create(void)
{
    struct mt_definitions *d = calloc(1, sizeof *d);
    if (!d || (d->symbols = mt_symbols_create()))
        return d;
    free(d);
    return NULL;
}

void mt_definitions_destroy(struct mt_definitions *d)
{
    if (!d)
        return;
    for (size_t i = 0; i < d->n_strings; i++)
        free(d->strings[i]);
    for (size_t i = 0; i < d->n_threads; i++)
        free(d->threads[i].name);
    for (size_t i = 0; i < d->n_infos; i++)
        free((char *)d->infos[i].key);
    for (size_t i = 0; i < d->n_names; i++)
        free(d->names[i]);
    mt_redaction_clear(&d->redaction);
    mt_symbols_destroy(d->symbols);
    mt_address_map_clear(&d->by_key);
    mt_address_map_clear(&d->by_place);
    free(d->images);
    free(d->names);
    free(d->strings);
    free(d->frames);
    free(d->stacks);
    free(d->threads);
    free(d->infos);
    free(d);
}

/* Make element `id` of a table. */
static int reserve(struct mt_definitions *d, void *array, size_t *count, size_t *capacity,
                   uint32_t id, size_t size)
{
    if (id == 0 || id > *count + ID_SLACK || id > ID_SPREAD * d->defined + ID_START)
        return -EINVAL;
    if (mt_grow(array, capacity, (size_t)id + 1, size))
        return -ENOMEM;
    if (*count <= id)
        *count = (size_t)id + 1;
    d->defined++;
    return 0;
}

static int add_string(struct mt_definitions *d, const struct mt_definition *definition)
{
    int rc = reserve(d, &d->strings, &d->n_strings, &d->strings_capacity, definition->id,
                     sizeof *d->strings);
    if (rc || d->strings[definition->id])
        return rc ? rc : -EINVAL;
    d->strings[definition->id] = strndup(definition->text, definition->text_size);
    return d->strings[definition->id] ? 0 : -ENOMEM;
}

/* Make a frame that was not defined yet, Python or native: both share one space of ids. */
static int new_frame(struct mt_definitions *d, uint32_t id, struct mt_frame **frame)
{
    int rc = reserve(d, &d->frames, &d->n_frames, &d->frames_capacity, id, sizeof *d->frames);
    *frame = rc ? NULL : &d->frames[id];
    return rc ? rc : (*frame)->function ? -EINVAL : 0;
}

/* Find the first frame of the same place; after a hash collision, a place has two. Return 0 or
 * -ENOMEM. */
static int note_place(struct mt_definitions *d, uint32_t id)
{
    struct mt_frame *frame = &d->frames[id];
    uint64_t hash =
        mt_hash_text(mt_hash_text(MT_HASH_SEED ^ frame->line, frame->function), frame->file);
    uint32_t first = mt_address_map_get(&d->by_place, hash);
    const struct mt_frame *known = &d->frames[first];
    if (known->line != frame->line || !first || strcmp(known->function, frame->function) ||
        strcmp(known->file, frame->file))
        first = id;
    frame->place = first;
    return first == id ? mt_address_map_put(&d->by_place, hash, id) : 0;
}

static int add_frame(struct mt_definitions *d, const struct mt_definition *definition)
{
    struct mt_frame *frame;
    int rc = new_frame(d, definition->id, &frame);
    if (rc)
        return rc;
    frame->name = definition->frame.function;
    if (frame->name < d->n_strings && d->strings[frame->name])
        mt_compiled_shorten(d->strings[frame->name]);
    frame->function = mt_string(d, frame->name);
    frame->file = mt_string(d, definition->frame.file);
    frame->line = definition->frame.line;
    frame->marks = mt_frame_marks(frame->function, frame->file);
    frame->serving = mt_serving_of(frame->function, frame->file);
    frame->is_before = !definition->frame.file && !strcmp(frame->function, MT_BEFORE_RECORDING);
    if (frame->is_before || (!definition->frame.file && !strncmp(frame->function, "... ", 4))) {
        frame->is_gap = true;
        frame->file = "";
        frame->marks |= MT_MARK_FRAMEWORK; /* not anybody's line */
    }
    if (definition->kind == MT_DEF_CALL) {
        frame->root = mt_string(d, definition->frame.root);
        frame->path = mt_string(d, definition->frame.path);
        frame->called = *frame->path ? frame->path : frame->root;
        frame->marks |= mt_call_marks(frame->function);
    }
    return note_place(d, definition->id);
}

static void inherit(struct mt_stack *stack, const struct mt_stack *parent,
                    const struct mt_frame *frame)
{
    uint32_t marks = frame->marks;
    /* A dict that is copied separately does not hold an object's attributes. */
    if (!(parent->marks & MT_MARK_COPY_OBJECT))
        marks &= ~(uint32_t)MT_MARK_COPY_DICT;
    stack->marks = parent->marks | marks;
    stack->serving = frame->serving > parent->serving ? frame->serving : parent->serving;
    stack->phase = frame->marks & MT_PHASE_MARKS ? frame->marks & MT_PHASE_MARKS : parent->phase;
}

static int add_module(struct mt_definitions *d, const struct mt_definition *definition)
{
    int rc = reserve(d, &d->images, &d->n_images, &d->images_capacity, definition->id,
                     sizeof *d->images);
    if (!rc)
        d->images[definition->id] =
            (struct image){definition->image.build_id, definition->image.path};
    return rc;
}

/* Copy a text for the lifetime of the definitions; NULL: no memory. */
__attribute__((format(printf, 2, 3))) static const char *make_name(struct mt_definitions *d,
                                                                   const char *format, ...)
{
    va_list arguments;
    char *name;
    if (MT_GROW(d->names, d->names_capacity, d->n_names))
        return NULL;
    va_start(arguments, format);
    int size = vasprintf(&name, format, arguments);
    va_end(arguments);
    return size < 0 ? NULL : (d->names[d->n_names++] = name);
}

static int add_native(struct mt_definitions *d, const struct mt_definition *definition)
{
    struct mt_frame *frame;
    int rc = new_frame(d, definition->id, &frame);
    if (rc)
        return rc;
    const char *path = mt_trace_image(d, definition->native.image).path;
    frame->function = make_name(d, "%s+0x%" PRIx64, mt_last_part(path), definition->native.address);
    if (!frame->function)
        return -ENOMEM;
    frame->file = path;
    frame->is_native = true;
    frame->image = definition->native.image;
    frame->address = definition->native.address;
    frame->marks = mt_module_marks(path);
    return note_place(d, definition->id);
}

static int add_symbol(struct mt_definitions *d, const struct mt_definition *definition)
{
    struct mt_frame *frame = definition->id < d->n_frames ? &d->frames[definition->id] : NULL;
    if (!frame || !frame->is_native)
        return -EINVAL;
    frame->function = mt_string(d, definition->frame.function);
    if (definition->frame.file)
        frame->file = mt_string(d, definition->frame.file);
    frame->line = definition->frame.line;
    frame->is_named = true;
    return note_place(d, definition->id);
}

/* Return the stack whose line is shown for a stack, skipping code that implements an operator. */
static uint32_t user_of(const struct mt_definitions *d, uint32_t id, const struct mt_frame *frame,
                        const struct mt_stack *parent)
{
    if ((frame->marks | parent->marks) & MT_MARK_DISPATCH || frame->marks & MT_MARK_FRAMEWORK ||
        (frame->is_native && parent->user && !mt_stack_frame(d, parent->user)->is_native))
        return parent->user;
    return id;
}

/* Return whether it is "Class.backward" or "Class.vjp": only the qualified name gives the class. */
static bool is_backward_of_class(const struct mt_frame *frame)
{
    const char *dot = strrchr(frame->function, '.');
    return dot && dot != frame->function && (!strcmp(dot, ".backward") || !strcmp(dot, ".vjp"));
}

/* Add a stack. Callers must be defined before their callees, so there are no cycles. */
static int add_stack(struct mt_definitions *d, const struct mt_definition *definition)
{
    int rc = reserve(d, &d->stacks, &d->n_stacks, &d->stacks_capacity, definition->id,
                     sizeof *d->stacks);
    if (rc)
        return rc;
    struct mt_stack *stack = &d->stacks[definition->id];
    const struct mt_stack *parent = mt_stack(d, definition->stack.parent);
    if (stack->depth || parent->depth == DEPTH_LIMIT)
        return -EINVAL;
    const struct mt_frame *frame = mt_frame(d, definition->stack.frame);
    stack->parent = parent->depth ? definition->stack.parent : 0;
    stack->frame = definition->stack.frame;
    inherit(stack, parent, frame);
    stack->user = user_of(d, definition->id, frame, parent);
    stack->call = frame->path ? definition->stack.frame : parent->call;
    stack->caller =
        parent->caller || !(frame->marks & MT_MARK_MODULE_CALL) ? parent->caller : stack->parent;
    stack->python = frame->is_native ? parent->python : definition->id;
    bool is_custom = mt_frame(d, parent->frame)->marks & MT_MARK_CUSTOM_BACKWARD && parent->depth;
    stack->custom = is_custom && is_backward_of_class(frame) ? frame->name : parent->custom;
    stack->depth = parent->depth + 1;
    if (frame->is_before && stack->depth == 1)
        d->before = definition->id;
    return 0;
}

bool mt_is_from_before(const struct mt_definitions *d, uint32_t stack)
{
    return stack && stack == d->before;
}

bool mt_begins_late(const struct mt_definitions *d)
{
    return d->before;
}

static int add_thread(struct mt_definitions *d, const struct mt_definition *definition)
{
    int rc = reserve(d, &d->threads, &d->n_threads, &d->threads_capacity, definition->id,
                     sizeof *d->threads);
    if (rc)
        return rc;
    struct thread *thread = &d->threads[definition->id];
    char *name = strndup(definition->text_size ? definition->text : "", definition->text_size);
    if (!name)
        return -ENOMEM;
    free(thread->name); /* a thread may be renamed */
    thread->name = name;
    thread->os_thread = definition->os_thread;
    return 0;
}

/* Return the place of a key's value; NULL: none, or another key has its hash. */
static struct mt_info *info_of(const struct mt_definitions *d, const char *key)
{
    uint32_t place = mt_address_map_get(&d->by_key, mt_hash_text(MT_HASH_SEED, key));
    return place && !strcmp(d->infos[place - 1].key, key) ? &d->infos[place - 1] : NULL;
}

static int add_info(struct mt_definitions *d, const struct mt_definition *definition)
{
    if (MT_GROW(d->infos, d->infos_capacity, d->n_infos))
        return -ENOMEM;
    char *key = strndup(definition->text_size ? definition->text : "", definition->text_size);
    if (!key)
        return -ENOMEM;
    char *equals = strchr(key, '=');
    if (equals)
        *equals = '\0';
    struct mt_info *place = info_of(d, key); /* the last value holds */
    if (!place &&
        mt_address_map_put(&d->by_key, mt_hash_text(MT_HASH_SEED, key), (uint32_t)d->n_infos + 1)) {
        free(key);
        return -ENOMEM;
    }
    if (!place)
        place = &d->infos[d->n_infos++];
    free((char *)place->key);
    *place = (struct mt_info){key, equals ? equals + 1 : ""};
    return 0;
}

/* Not SUMMARY, which is the replay's (summary-lists.c). */
static int (*const add[MT_DEF_LIMIT])(struct mt_definitions *, const struct mt_definition *) = {
    [MT_DEF_STRING] = add_string, [MT_DEF_FRAME] = add_frame,   [MT_DEF_CALL] = add_frame,
    [MT_DEF_STACK] = add_stack,   [MT_DEF_THREAD] = add_thread, [MT_DEF_INFO] = add_info,
    [MT_DEF_IMAGE] = add_module,  [MT_DEF_NATIVE] = add_native, [MT_DEF_SYMBOL] = add_symbol,
};

int mt_definitions_add(struct mt_definitions *d, const struct mt_definition *definition)
{
    struct mt_definition redacted;
    if (mt_redact(&d->redaction, definition, &redacted))
        return -ENOMEM;
    return redacted.kind < MT_DEF_LIMIT && add[redacted.kind] ? add[redacted.kind](d, &redacted)
                                                              : -EINVAL;
}

/* Return a hash of the qualified name before ".METHOD" and of the file; 0: not this method. */
static uint64_t class_of(const struct mt_frame *frame, const char *method)
{
    const char *dot = strrchr(frame->function, '.');
    if (!dot || strcmp(dot + 1, method))
        return 0;
    return mt_hash_text(mt_hash(MT_HASH_SEED, frame->function, dot - frame->function),
                        frame->file) |
           1;
}

/* Return a module's class: one whose forward nn.Module calls, or that creates modules in its
 * constructor and is not framework code. */
static uint64_t module_class(const struct mt_definitions *d, const struct mt_stack *stack)
{
    const struct mt_frame *frame = mt_frame(d, stack->frame);
    const struct mt_frame *caller = mt_stack_frame(d, stack->parent);
    if (caller->marks & MT_MARK_MODULE_CALL)
        return class_of(frame, "forward");
    return frame->marks & MT_MARK_MODULE_INIT && !(caller->marks & MT_MARK_FRAMEWORK)
               ? class_of(caller, "__init__")
               : 0;
}

/* Return whether the program itself called modules of several classes that have named parts. */
static bool has_roots(const struct mt_definitions *d)
{
    const char *root = NULL;
    for (size_t i = 1; i < d->n_frames; i++) {
        const struct mt_frame *frame = &d->frames[i];
        if (!frame->path || !*frame->path)
            continue;
        if (root && strcmp(root, frame->root))
            return true;
        root = frame->root;
    }
    return false;
}

static int name_roots(struct mt_definitions *d)
{
    for (size_t i = 1; i < d->n_frames; i++) {
        struct mt_frame *frame = &d->frames[i];
        if (frame->path && *frame->path && frame->called == frame->path && /* not yet */
            !(frame->called = make_name(d, "%s.%s", frame->root, frame->path)))
            return -ENOMEM;
    }
    return 0;
}

int mt_definitions_finish(struct mt_definitions *d)
{
    struct mt_address_map modules = {0};
    int rc = has_roots(d) ? name_roots(d) : 0;
    for (size_t i = 1; i < d->n_stacks && !rc; i++) {
        uint64_t class = d->stacks[i].depth ? module_class(d, &d->stacks[i]) : 0;
        rc = class ? mt_address_map_put(&modules, class, 1) : 0;
    }
    for (size_t i = 1; i < d->n_frames && !rc; i++) {
        struct mt_frame *frame = &d->frames[i];
        uint64_t class = frame->function ? class_of(frame, "__init__") : 0;
        if (class && mt_address_map_get(&modules, class))
            frame->marks |= MT_MARK_MODULE_INIT;
    }
    for (size_t i = 1; i < d->n_stacks && !rc; i++) /* callers have lower ids */
        if (d->stacks[i].depth)
            inherit(&d->stacks[i], mt_stack(d, d->stacks[i].parent),
                    mt_frame(d, d->stacks[i].frame));
    mt_address_map_clear(&modules);
    return rc;
}

const char *mt_string(const struct mt_definitions *d, uint32_t id)
{
    if (id == 0)
        return "";
    return id < d->n_strings && d->strings[id] ? d->strings[id] : "?";
}

const struct mt_frame *mt_frame(const struct mt_definitions *d, uint32_t id)
{
    return id < d->n_frames && d->frames[id].function ? &d->frames[id] : &unknown_frame;
}

uint32_t mt_definitions_string_limit(const struct mt_definitions *d)
{
    return (uint32_t)d->n_strings;
}

uint32_t mt_definitions_frame_limit(const struct mt_definitions *d)
{
    return (uint32_t)d->n_frames;
}

uint32_t mt_definitions_stack_limit(const struct mt_definitions *d)
{
    return (uint32_t)d->n_stacks;
}

struct mt_trace_image mt_trace_image(const struct mt_definitions *d, uint32_t id)
{
    if (id >= d->n_images || !d->images[id].path)
        return (struct mt_trace_image){"", "?"};
    return (struct mt_trace_image){mt_string(d, d->images[id].build_id),
                                   mt_string(d, d->images[id].path)};
}

const struct mt_frame *mt_named_frame(const struct mt_definitions *d, uint32_t id)
{
    struct mt_symbol symbol;
    if (id >= d->n_frames || !d->frames[id].is_native || d->frames[id].is_named ||
        d->frames[id].is_sought)
        return mt_frame(d, id);
    struct mt_frame *frame = &d->frames[id];
    frame->is_sought = true;
    if (mt_symbols_find(d->symbols, mt_trace_image(d, frame->image), frame->address, &symbol))
        return frame;
    frame->function = symbol.function;
    frame->file = symbol.file ? symbol.file : frame->file;
    frame->line = symbol.line;
    frame->is_named = true;
    return frame;
}

void mt_stack_expect(const struct mt_definitions *d, uint32_t id)
{
    __builtin_prefetch(mt_stack(d, id));
}

const struct mt_stack *mt_stack(const struct mt_definitions *d, uint32_t id)
{
    return id < d->n_stacks ? &d->stacks[id] : &unknown_stack;
}

const char *mt_thread(const struct mt_definitions *d, uint32_t id, uint32_t *os_thread)
{
    *os_thread = id < d->n_threads ? d->threads[id].os_thread : 0;
    return id < d->n_threads && d->threads[id].name ? d->threads[id].name : "";
}

const char *mt_info(const struct mt_definitions *d, const char *key)
{
    const struct mt_info *info = info_of(d, key);
    return info ? info->value : NULL;
}

const struct mt_info *mt_info_at(const struct mt_definitions *d, size_t index)
{
    return index < d->n_infos ? &d->infos[index] : NULL;
}
