/* SPDX-License-Identifier: Apache-2.0 */
#include "intern.h"
#include "cache.h"
#include "lock.h"
#include "preload/host/index.h"
#include "preload/host/memory.h"
#include "preload/host/no-cancel.h"
#include "preload/host/no-signals.h"
#include "tail.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* Tables that only grow. Address space is reserved at once, memory as they fill. All of them full,
 * with their indexes, are 19 MiB. */
#define MOST_TEXT (6u << 20)

struct string {
    uint32_t at, size; /* in text */
};

struct image {
    uint32_t build_id, path;
};

/* Compared byte by byte, so it must have no padding. */
struct frame {
    uint64_t address; /* of a native frame, which has an image */
    uint32_t image, function, file, line;
    uint32_t root, path; /* of a torch.nn module's call; root 0: none */
    uint32_t is_native, zero;
};

struct stack {
    uint32_t parent, frame;
};

enum what { STRINGS, IMAGES, FRAMES, STACKS, TABLES };

struct table {
    const char *name;
    uint32_t entry_size, most;
    _Atomic uint32_t used; /* includes entry 0, which is unused; published after the entry */
    _Atomic bool is_full;  /* an entry was left out */
    char *entry;
    struct mt_index index;
};

static struct {
    struct mt_lock lock;
    _Atomic uint64_t n_refused;
    uint64_t signals; /* signal mask of the lock's holder before it locked */
    int cancel;
    bool has_failed; /* no memory for the tables; not tried again */
    char *text;
    uint32_t text_used;
    struct table table[TABLES];
    struct mt_intern_position journaled;
} tables = {.lock = MT_LOCK_INITIALIZER,
            .table = {
                [STRINGS] = {"names", sizeof(struct string), 3 << 15, .used = 1},
                [IMAGES] = {"modules", sizeof(struct image), 1 << 12, .used = 1},
                [FRAMES] = {"frames", sizeof(struct frame), 3 << 15, .used = 1},
                [STACKS] = {"stacks", sizeof(struct stack), 3 << 17, .used = 1},
            }};

static const struct string *string_of(uint32_t id)
{
    return (const struct string *)tables.table[STRINGS].entry + id;
}

static bool is_mapped(void)
{
    int is = tables.text != NULL;
    for (int i = 0; i < TABLES; i++)
        is = is && tables.table[i].entry;
    return is;
}

static void map_tables(void)
{
    tables.text = mt_map(MOST_TEXT);
    for (struct table *table = tables.table; table < tables.table + TABLES; table++)
        table->entry = mt_map((size_t)table->most * table->entry_size);
}

static void unmap_tables(void)
{
    mt_unmap(tables.text, MOST_TEXT);
    tables.text = NULL;
    for (struct table *table = tables.table; table < tables.table + TABLES; table++) {
        mt_unmap(table->entry, (size_t)table->most * table->entry_size);
        table->entry = NULL;
    }
}

static void prepare(void)
{
    if (is_mapped() || tables.has_failed)
        return;
    map_tables();
    if (!is_mapped()) {
        unmap_tables();
        tables.has_failed = true;
    }
}

/* Lock with signals and cancellation held back: a jump would leave the tables locked and half
 * written. */
static bool lock_by(bool (*lock)(struct mt_lock *))
{
    int cancel = mt_cancel_disable();
    uint64_t signals = mt_signals_block();
    if (!lock(&tables.lock)) {
        mt_signals_restore(&signals);
        mt_cancel_restore(&cancel);
        return false;
    }
    tables.signals = signals;
    tables.cancel = cancel;
    prepare();
    return true;
}

bool mt_intern_lock(void)
{
    bool is_ours = lock_by(mt_lock);
    atomic_fetch_add_explicit(&tables.n_refused, !is_ours, memory_order_relaxed);
    return is_ours;
}

bool mt_intern_try_lock(void)
{
    return lock_by(mt_try_lock);
}

uint64_t mt_intern_refused(void)
{
    return atomic_load_explicit(&tables.n_refused, memory_order_relaxed);
}

void mt_intern_unlock(void)
{
    uint64_t signals = tables.signals;
    int cancel = tables.cancel;
    mt_unlock(&tables.lock);
    mt_signals_restore(&signals);
    mt_cancel_restore(&cancel);
}

/* Add an entry. Return its id, or 0 if there is no room. The entry is in the tail's journal before
 * anybody can know the id. */
static uint32_t add(struct table *table, uint64_t hash, const void *entry)
{
    struct mt_definition definition;
    uint32_t id = atomic_load_explicit(&table->used, memory_order_relaxed);
    if (!is_mapped() || id == table->most || mt_index_add(&table->index, hash, id)) {
        atomic_store_explicit(&table->is_full, true, memory_order_relaxed);
        return 0;
    }
    memcpy(table->entry + (size_t)id * table->entry_size, entry, table->entry_size);
    atomic_store_explicit(&table->used, id + 1, memory_order_release);
    while (mt_intern_read(&tables.journaled, &definition))
        mt_tail_define(&definition);
    return id;
}

static uint64_t hash_of(const char *bytes, size_t size)
{
    uint64_t hash = size, word;
    for (; size > sizeof word; bytes += sizeof word, size -= sizeof word) {
        memcpy(&word, bytes, sizeof word);
        hash = mt_mix(hash, word);
    }
    word = 0;
    memcpy(&word, bytes, size);
    return mt_mix(hash, word);
}

/* Return the id of an entry, compared byte by byte. */
static uint32_t intern(enum what what, const void *entry)
{
    struct table *table = &tables.table[what];
    uint64_t hash = hash_of(entry, table->entry_size);
    struct mt_search search = mt_index_search(&table->index, hash);
    uint32_t id;
    while ((id = mt_index_next(&table->index, &search)))
        if (!memcmp(table->entry + (size_t)id * table->entry_size, entry, table->entry_size))
            return id;
    return add(table, hash, entry);
}

static uint32_t add_string(uint64_t hash, const char *text, size_t size)
{
    struct string string = {tables.text_used, (uint32_t)size};
    if (!is_mapped() || size > MOST_TEXT - tables.text_used) {
        tables.table[STRINGS].is_full = true;
        return 0;
    }
    memcpy(tables.text + tables.text_used, text, size);
    tables.text_used += (uint32_t)size;
    return add(&tables.table[STRINGS], hash, &string);
}

uint32_t mt_intern_string(const char *text, size_t size)
{
    if (size > MT_TEXT_LIMIT)
        size = MT_TEXT_LIMIT;
    uint64_t hash = hash_of(text, size);
    struct mt_index *index = &tables.table[STRINGS].index;
    struct mt_search search = mt_index_search(index, hash);
    uint32_t id;
    while ((id = mt_index_next(index, &search)))
        if (string_of(id)->size == size && !memcmp(tables.text + string_of(id)->at, text, size))
            return id;
    return add_string(hash, text, size);
}

const char *mt_intern_text(uint32_t string, size_t *size)
{
    *size = string ? string_of(string)->size : 0;
    return string ? tables.text + string_of(string)->at : "";
}

uint32_t mt_intern_frame(uint32_t function, uint32_t file, uint32_t line)
{
    return mt_intern_call(function, file, line, 0, 0);
}

uint32_t mt_intern_call(uint32_t function, uint32_t file, uint32_t line, uint32_t root,
                        uint32_t path)
{
    return intern(
        FRAMES, &(struct frame){
                    .function = function, .file = file, .line = line, .root = root, .path = path});
}

uint32_t mt_intern_image(uint32_t build_id, uint32_t path)
{
    return intern(IMAGES, &(struct image){build_id, path});
}

uint32_t mt_intern_native_frame(uint32_t image, uint64_t address)
{
    return intern(FRAMES, &(struct frame){.address = address, .image = image, .is_native = 1});
}

uint32_t mt_intern_stack(uint32_t parent, uint32_t frame)
{
    return intern(STACKS, &(struct stack){parent, frame});
}

int mt_intern_full(char *out, size_t size)
{
    size_t used = 0;
    *out = '\0';
    for (const struct table *table = tables.table; table < tables.table + TABLES; table++)
        if (atomic_load_explicit(&table->is_full, memory_order_relaxed) && used < size)
            used +=
                (size_t)snprintf(out + used, size - used, "%s%s", used ? ", " : "", table->name);
    return used != 0;
}

/* Return the next entry that was not passed on yet, or NULL. */
static const void *pending(enum what what, uint32_t *position)
{
    const struct table *table = &tables.table[what];
    if (*position == 0)
        *position = 1; /* id 0 is unused */
    if (*position >= atomic_load_explicit(&table->used, memory_order_acquire))
        return NULL;
    return table->entry + (size_t)*position * table->entry_size;
}

static void read_string(const struct string *string, struct mt_definition *out)
{
    out->kind = MT_DEF_STRING;
    out->text = tables.text + string->at;
    out->text_size = string->size;
}

static void read_image(const struct image *image, struct mt_definition *out)
{
    out->kind = MT_DEF_IMAGE;
    out->image.build_id = image->build_id;
    out->image.path = image->path;
}

static void read_frame(const struct frame *frame, struct mt_definition *out)
{
    if (frame->is_native) {
        out->kind = MT_DEF_NATIVE;
        out->native.image = frame->image;
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

static void read_stack(const struct stack *stack, struct mt_definition *out)
{
    out->kind = MT_DEF_STACK;
    out->stack.parent = stack->parent;
    out->stack.frame = stack->frame;
}

/* Read the counts of stacks first and of strings last, and pass on strings first: each reference is
 * then to something passed on before. */
bool mt_intern_read(struct mt_intern_position *position, struct mt_definition *out)
{
    memset(out, 0, sizeof *out);
    const struct stack *stack = pending(STACKS, &position->stacks);
    const struct frame *frame = pending(FRAMES, &position->frames);
    const struct image *image = pending(IMAGES, &position->images);
    const struct string *string = pending(STRINGS, &position->strings);
    if (string) {
        read_string(string, out);
        out->id = position->strings++;
    } else if (image) {
        read_image(image, out);
        out->id = position->images++;
    } else if (frame) {
        read_frame(frame, out);
        out->id = position->frames++;
    } else if (stack) {
        read_stack(stack, out);
        out->id = position->stacks++;
    }
    return string || image || frame || stack;
}

void mt_intern_reset(void)
{
    mt_lock_reset(&tables.lock);
    tables.n_refused = 0;
    unmap_tables();
    for (struct table *table = tables.table; table < tables.table + TABLES; table++) {
        mt_index_reset(&table->index);
        table->used = 1;
        table->is_full = false;
    }
    tables.has_failed = false;
    tables.text_used = 0;
    memset(&tables.journaled, 0, sizeof tables.journaled);
}
