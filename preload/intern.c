/* SPDX-License-Identifier: Apache-2.0 */
#include "intern.h"
#include "cache.h"
#include "memory.h"
#include "tail.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

/* Room, in entries or bytes: address space, committed as it fills. */
#define MOST_STRINGS (1u << 20)
#define MOST_TEXT (256u << 20)
#define MOST_MODULES (1u << 16)
#define MOST_FRAMES (1u << 20)
#define MOST_STACKS (1u << 24)

struct string {
    uint32_t at, size; /* in text */
};

struct module {
    uint32_t build_id, path;
};

struct frame {
    int is_native;
    union {
        struct {
            uint32_t function, file, line;
            uint32_t root, path; /* of a module's call; root 0: it is none */
        };
        struct {
            uint32_t module;
            uint64_t address;
        };
    };
};

struct stack {
    uint32_t parent, frame;
};

static struct {
    pthread_mutex_t lock;
    int has_failed; /* there was no memory for the tables; not tried again */
    char *text;
    uint32_t text_used;
    struct string *string;
    struct module *module;
    struct frame *frame;
    struct stack *stack;
    /* Entries in use, entry 0 included; published after the entry is written. */
    _Atomic uint32_t strings, modules, frames, stacks;
    struct mt_cache string_ids, module_ids, frame_ids, native_ids, stack_ids;
    struct mt_intern_position journaled;
} tables = {
    .lock = PTHREAD_MUTEX_INITIALIZER, .strings = 1, .modules = 1, .frames = 1, .stacks = 1};

static int is_mapped(void)
{
    return tables.text && tables.string && tables.module && tables.frame && tables.stack;
}

static void map_tables(void)
{
    tables.text = mt_map(MOST_TEXT);
    tables.string = mt_map(MOST_STRINGS * sizeof *tables.string);
    tables.module = mt_map(MOST_MODULES * sizeof *tables.module);
    tables.frame = mt_map(MOST_FRAMES * sizeof *tables.frame);
    tables.stack = mt_map(MOST_STACKS * sizeof *tables.stack);
}

static void unmap_tables(void)
{
    mt_unmap(tables.text, MOST_TEXT);
    mt_unmap(tables.string, MOST_STRINGS * sizeof *tables.string);
    mt_unmap(tables.module, MOST_MODULES * sizeof *tables.module);
    mt_unmap(tables.frame, MOST_FRAMES * sizeof *tables.frame);
    mt_unmap(tables.stack, MOST_STACKS * sizeof *tables.stack);
    tables.text = NULL;
    tables.string = NULL;
    tables.module = NULL;
    tables.frame = NULL;
    tables.stack = NULL;
}

void mt_intern_lock(void)
{
    pthread_mutex_lock(&tables.lock);
    if (is_mapped() || tables.has_failed)
        return;
    map_tables();
    if (!is_mapped()) {
        unmap_tables();
        tables.has_failed = 1;
    }
}

void mt_intern_unlock(void)
{
    pthread_mutex_unlock(&tables.lock);
}

/* The next free id, or 0: no room. */
static uint32_t next_id(_Atomic uint32_t *used, uint32_t most)
{
    uint32_t id = atomic_load_explicit(used, memory_order_relaxed);
    return is_mapped() && id < most ? id : 0;
}

/* Also in the journal of the tail, before anybody can know the id. */
static void publish(_Atomic uint32_t *used, uint32_t id)
{
    struct mt_definition definition;
    atomic_store_explicit(used, id + 1, memory_order_release);
    while (mt_intern_read(&tables.journaled, &definition))
        mt_tail_define(&definition);
}

static uint64_t text_hash(const char *text, size_t size)
{
    uint64_t hash = size;
    for (size_t i = 0; i < size; i++)
        hash = mt_mix(hash, (unsigned char)text[i]);
    return hash;
}

static uint32_t add_string(const char *text, size_t size)
{
    uint32_t id = next_id(&tables.strings, MOST_STRINGS);
    if (!id || size > MOST_TEXT - tables.text_used)
        return 0;
    memcpy(tables.text + tables.text_used, text, size);
    tables.string[id] = (struct string){tables.text_used, (uint32_t)size};
    tables.text_used += (uint32_t)size;
    publish(&tables.strings, id);
    return id;
}

/* Two texts with one hash differ in `parent`, which counts up. */
uint32_t mt_intern_string(const char *text, size_t size)
{
    if (size > MT_TEXT_LIMIT)
        size = MT_TEXT_LIMIT;
    struct mt_key key = {.a = text_hash(text, size), .b = size};
    for (;; key.parent++) {
        uint32_t id = mt_cache_find(&tables.string_ids, &key);
        if (!id)
            break;
        if (!memcmp(tables.text + tables.string[id].at, text, size))
            return id;
    }
    uint32_t id = add_string(text, size);
    if (id)
        mt_cache_add(&tables.string_ids, &key, id);
    return id;
}

const char *mt_intern_text(uint32_t string, size_t *size)
{
    *size = string ? tables.string[string].size : 0;
    return string ? tables.text + tables.string[string].at : "";
}

uint32_t mt_intern_frame(uint32_t function, uint32_t file, uint32_t line)
{
    return mt_intern_call(function, file, line, 0, 0);
}

uint32_t mt_intern_call(uint32_t function, uint32_t file, uint32_t line, uint32_t root,
                        uint32_t path)
{
    struct mt_key key = {
        .a = (uint64_t)root << 32 | function, .b = (uint64_t)path << 32 | file, .parent = line};
    uint32_t id = mt_cache_find(&tables.frame_ids, &key);
    if (id)
        return id;
    id = next_id(&tables.frames, MOST_FRAMES);
    if (!id)
        return 0;
    tables.frame[id] = (struct frame){
        .function = function, .file = file, .line = line, .root = root, .path = path};
    publish(&tables.frames, id);
    mt_cache_add(&tables.frame_ids, &key, id);
    return id;
}

uint32_t mt_intern_module(uint32_t build_id, uint32_t path)
{
    struct mt_key key = {.a = build_id, .b = path};
    uint32_t id = mt_cache_find(&tables.module_ids, &key);
    if (id)
        return id;
    id = next_id(&tables.modules, MOST_MODULES);
    if (!id)
        return 0;
    tables.module[id] = (struct module){build_id, path};
    publish(&tables.modules, id);
    mt_cache_add(&tables.module_ids, &key, id);
    return id;
}

uint32_t mt_intern_native_frame(uint32_t module, uint64_t address)
{
    struct mt_key key = {.a = address, .parent = module};
    uint32_t id = mt_cache_find(&tables.native_ids, &key);
    if (id)
        return id;
    id = next_id(&tables.frames, MOST_FRAMES);
    if (!id)
        return 0;
    tables.frame[id] = (struct frame){.is_native = 1, .module = module, .address = address};
    publish(&tables.frames, id);
    mt_cache_add(&tables.native_ids, &key, id);
    return id;
}

uint32_t mt_intern_stack(uint32_t parent, uint32_t frame)
{
    struct mt_key key = {.a = frame, .parent = parent};
    uint32_t id = mt_cache_find(&tables.stack_ids, &key);
    if (id)
        return id;
    id = next_id(&tables.stacks, MOST_STACKS);
    if (!id)
        return 0;
    tables.stack[id] = (struct stack){parent, frame};
    publish(&tables.stacks, id);
    mt_cache_add(&tables.stack_ids, &key, id);
    return id;
}

static int pending(_Atomic uint32_t *used, uint32_t *position)
{
    if (*position == 0)
        *position = 1; /* id 0 is nobody's */
    return *position < atomic_load_explicit(used, memory_order_acquire);
}

static void read_frame(const struct frame *frame, struct mt_definition *out)
{
    if (frame->is_native) {
        out->kind = MT_DEF_NATIVE;
        out->native.module = frame->module;
        out->native.address = frame->address;
    } else {
        out->kind = frame->root ? MT_DEF_CALL : MT_DEF_FRAME;
        out->frame.root = frame->root;
        out->frame.path = frame->path;
        out->frame.function = frame->function;
        out->frame.file = frame->file;
        out->frame.line = frame->line;
    }
}

/* What is read last was published last: the counts are taken stacks first, and passed on strings
 * first, so that every reference is to something passed on before. */
int mt_intern_read(struct mt_intern_position *position, struct mt_definition *out)
{
    memset(out, 0, sizeof *out);
    int stacks = pending(&tables.stacks, &position->stacks);
    int frames = pending(&tables.frames, &position->frames);
    int modules = pending(&tables.modules, &position->modules);
    if (pending(&tables.strings, &position->strings)) {
        struct string string = tables.string[position->strings];
        out->kind = MT_DEF_STRING;
        out->id = position->strings++;
        out->text = tables.text + string.at;
        out->text_size = string.size;
    } else if (modules) {
        struct module module = tables.module[position->modules];
        out->kind = MT_DEF_MODULE;
        out->id = position->modules++;
        out->module.build_id = module.build_id;
        out->module.path = module.path;
    } else if (frames) {
        read_frame(&tables.frame[position->frames], out);
        out->id = position->frames++;
    } else if (stacks) {
        struct stack stack = tables.stack[position->stacks];
        out->kind = MT_DEF_STACK;
        out->id = position->stacks++;
        out->stack.parent = stack.parent;
        out->stack.frame = stack.frame;
    } else {
        return 0;
    }
    return 1;
}

void mt_intern_reset(void)
{
    pthread_mutex_init(&tables.lock, NULL);
    mt_cache_reset(&tables.string_ids);
    mt_cache_reset(&tables.module_ids);
    mt_cache_reset(&tables.frame_ids);
    mt_cache_reset(&tables.native_ids);
    mt_cache_reset(&tables.stack_ids);
    unmap_tables();
    tables.has_failed = 0;
    tables.text_used = 0;
    memset(&tables.journaled, 0, sizeof tables.journaled);
    tables.strings = tables.modules = tables.frames = tables.stacks = 1;
}
