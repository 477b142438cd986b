/* SPDX-License-Identifier: Apache-2.0 */
#include "native-paths.h"
#include "path-text.h"
#include "picture.h"
#include "preload/host/memory.h"
#include "preload/record/threads.h"
#include "preload/scan/by-address.h"
#include "preload/scan/pointers.h"
#include "preload/scan/symbols.h"

#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define WAITS 4000u /* for the writer, which may be busy */
#define WAIT_NS 500000
#define MOST_BYTES (UINT64_C(1) << 28)

static struct native {
    struct mt_regions *regions;
    struct mt_pointers *pointers;
    uint32_t n, n_left_out;
    bool has_unread; /* CUDA's memory that the program can read, and the child cannot */
    struct mt_pointed block[MT_MOST_CUDA_BLOCKS];
    struct mt_memory_range left_out[MT_MOST_CUDA_BLOCKS + MT_MOST_SHARED + MT_MOST_THREADS];
    struct mt_path path;
    struct mt_pointer_way way;
} *native; /* NULL: not searched */

static bool await_blocks(const struct mt_holders_answer *answer)
{
    for (unsigned i = 0; i < WAITS && !atomic_load(&answer->has_blocks); i++) {
        if (getppid() != mt_picture.parent_pid)
            return false;
        syscall(SYS_nanosleep, &(struct timespec){0, WAIT_NS}, NULL);
    }
    return atomic_load(&answer->has_blocks);
}

static void leave_out(uint64_t begin, uint64_t end)
{
    if (native->n_left_out == sizeof native->left_out / sizeof *native->left_out)
        return;
    native->left_out[native->n_left_out++] = (struct mt_memory_range){begin, end};
}

static void read_blocks(const struct mt_holders_task *task)
{
    const struct mt_holders_answer *answer = task->answer;
    for (uint32_t i = 0; i < answer->n_blocks; i++) {
        const struct mt_cuda_block *block = &answer->block[i];
        native->has_unread |= block->kind == MT_BLOCK_MANAGED;
        if (block->kind == MT_BLOCK_HOST)
            continue;
        native->block[native->n++] =
            (struct mt_pointed){block->address, block->size, block->device};
        leave_out(block->address, block->address + block->size);
    }
    for (uint32_t i = 0; i < task->n_left_out; i++)
        leave_out(task->left_out[i].begin, task->left_out[i].end);
    for (struct mt_thread *thread = mt_threads_of_copy(); thread; thread = thread->next)
        leave_out((uint64_t)(uintptr_t)thread, (uint64_t)(uintptr_t)(thread + 1));
    mt_sort_by_address(native->left_out, native->n_left_out, sizeof *native->left_out);
}

/* Page-locked memory may be a mapping of a device, which is not read. */
static void find_unread(const struct mt_holders_answer *answer)
{
    const struct mt_region *region = native->regions->region;
    for (uint32_t i = 0; i < answer->n_blocks && !native->has_unread; i++) {
        uint64_t at = answer->block[i].address;
        uint32_t k = 0;
        if (answer->block[i].kind != MT_BLOCK_HOST)
            continue;
        while (k < native->regions->n && (at < region[k].begin || at >= region[k].end))
            k++;
        native->has_unread = k == native->regions->n;
    }
}

/* Return the bytes that may be used for what is reached. */
static uint64_t room(void)
{
    return mt_picture.room / 8 < MOST_BYTES ? mt_picture.room / 8 : MOST_BYTES;
}

static __attribute__((noinline)) void search(const struct mt_holders_task *task)
{
    if (!MT_MAY_CRASH())
        return;
    if (mt_regions_read(native->regions, &task->thread, native->left_out, native->n_left_out))
        native->pointers = mt_pointers_create(native->regions, native->block, native->n, room());
    find_unread(task->answer);
    if (native->pointers)
        mt_pointers_search(native->pointers);
    mt_crash_over();
}

void mt_native_search(const struct mt_holders_task *task)
{
    native = mt_map(sizeof *native);
    if (!native || !(native->regions = mt_regions_create(&task->thread)) ||
        !await_blocks(task->answer))
        return;
    read_blocks(task);
    search(task);
}

static void put_thread(struct mt_path *path, const char *what, int thread)
{
    if (thread == mt_picture.parent_pid)
        mt_step_put(path, "%s of the main thread", what);
    else
        mt_step_put(path, "%s of thread %d", what, thread);
}

/* Add a variable, and where in it the address is: in words of 8 bytes, like an element. */
static void put_symbol(struct mt_path *path, const char *what, const struct mt_image_symbol *symbol,
                       const struct mt_image_file *image, bool is_last)
{
    mt_step_put(path, "%s `%s` of %s", what, symbol->name, mt_file_name(image->path));
    if (symbol->size <= sizeof(void *) || !is_last)
        return;
    mt_step_begin(path);
    mt_step_put(path, "[%llu]", (unsigned long long)(symbol->offset / sizeof(void *)));
}

/* Return the image that has an address; NULL: none. */
static const struct mt_image_file *image_with(uint64_t address)
{
    for (uint32_t i = 0; i < native->regions->n_images; i++) {
        const struct mt_image_file *image = &native->regions->image[i];
        if (address >= image->begin && address < image->end)
            return image;
    }
    return NULL;
}

/* Add the function whose frame has an address on the stack of the thread of the moment: of frames
 * of CUDA's libraries, which may have saved the values of their callers, the first other one's. */
static void put_frame(struct mt_path *path, const struct mt_holders_answer *answer, uint64_t at)
{
    const struct mt_image_file *image = NULL;
    struct mt_image_symbol symbol;
    uint32_t i = 0;
    while (i < answer->n_frames && answer->frame[i].end <= at)
        i++;
    for (; i < answer->n_frames; i++)
        if ((image = image_with(answer->frame[i].back - 1)) && !image->is_cudas)
            break;
    if (i < answer->n_frames && mt_symbol_of_function(image, answer->frame[i].back - 1, &symbol))
        mt_step_put(path, ", frame of `%s` of %s", symbol.name, mt_file_name(image->path));
}

static void put_root(struct mt_path *path, const struct mt_holders_answer *answer,
                     const struct mt_pointer_way *way)
{
    const struct mt_region *root = way->root;
    const struct mt_image_file *program = native->regions->image;
    struct mt_image_symbol symbol;
    switch (root->sort) {
    case MT_REGION_VARIABLES:
        path->root = MT_HOLDER_SYMBOL;
        if (mt_symbol_of_variable(root->image, way->root_at, &symbol))
            put_symbol(path, "variable", &symbol, root->image, !way->n);
        else
            mt_step_put(path, "variable at +0x%llx of %s",
                        (unsigned long long)(way->root_at - root->image->begin),
                        mt_file_name(root->image->path));
        break;
    case MT_REGION_STACK:
        path->root = MT_HOLDER_STACK;
        put_thread(path, "stack", root->thread);
        if (root->is_whole)
            mt_step_put(path, ", perhaps left there by an earlier call");
        else
            put_frame(path, answer, way->root_at);
        break;
    case MT_REGION_THREAD:
        path->root = MT_HOLDER_THREAD;
        if (mt_symbol_thread_local(program, root->pthread - way->root_at, &symbol)) {
            put_thread(path, "thread-local variables", root->thread);
            mt_step_begin(path);
            put_symbol(path, "variable", &symbol, program, !way->n);
        } else {
            put_thread(path, "thread-local memory", root->thread);
        }
        break;
    case MT_REGION_SHARED:
        path->root = MT_HOLDER_NATIVE;
        mt_step_put(path, "shared memory%s%s", *root->file ? " " : "", root->file);
        break;
    case MT_REGION_CHUNKS:
    case MT_REGION_CUDA:
    case MT_REGION_OTHER:
        break;
    }
}

static void put_memory(struct mt_path *path, const struct mt_piece *memory)
{
    mt_step_put(path, memory->is_malloced ? "heap block of %llu bytes" : "mapping of %llu bytes",
                (unsigned long long)(memory->end - memory->begin));
}

/* Add the memory between the root and the block: the last piece, which has its address, and how. */
static void put_steps(struct mt_path *path, const struct mt_pointer_way *way)
{
    if (!way->n)
        return;
    if (way->n > 1) {
        mt_step_begin(path);
        mt_step_put(path, "other memory");
    }
    mt_step_begin(path);
    put_memory(path, &way->last);
    mt_step_begin(path);
    mt_step_put(path, "[%llu]", (unsigned long long)((way->at - way->last.begin) / sizeof(void *)));
}

/* Add what is known of a block that the program is not known to reach: it is lost if no memory has
 * its address, and all was searched. */
static void put_not_found(struct mt_path *path, enum mt_pointed_state state,
                          const struct mt_pointer_way *way)
{
    unsigned n = native->regions->other_threads;
    bool is_lost =
        state == MT_POINTED_LOST && mt_regions_are_all(native->regions) && !native->has_unread;
    path->root = is_lost ? MT_HOLDER_LOST : MT_HOLDER_NOT_FOUND;
    if (state == MT_POINTED_UNREACHED) {
        mt_step_put(path, "no pointer leads to the ");
        put_memory(path, &way->last);
        mt_step_put(path, " that has its address");
    } else if (state == MT_POINTED_CUDAS) {
        mt_step_put(path, "only memory that CUDA's libraries use, too, has its address");
    } else if (state == MT_POINTED_UNALIGNED) {
        mt_step_put(path, "only an unaligned pointer to it was found");
    } else {
        mt_step_put(path, is_lost ? "no pointer to it exists" : "no pointer found");
    }
    if (n)
        mt_step_put(path, ", but registers of %u other thread%s cannot be read", n,
                    n == 1 ? "" : "s");
    else if (native->has_unread && state == MT_POINTED_LOST)
        mt_step_put(path, ", but managed or page-locked memory cannot be read");
}

static void put_path(struct mt_path *path, const struct mt_holders_answer *answer,
                     enum mt_pointed_state state, const struct mt_pointer_way *way)
{
    path->n = 0;
    path->root = MT_HOLDER_HEAP;
    if (state != MT_POINTED_HELD) {
        put_not_found(path, state, way);
        return;
    }
    put_root(path, answer, way);
    put_steps(path, way);
}

/* Write a path to a block, whose first row is `first`, unless it is there already. Return whether
 * there was room. */
static bool write_path(struct mt_holders_answer *answer, const struct mt_pointed *block,
                       uint32_t first)
{
    const struct mt_path *path = &native->path;
    for (uint32_t i = first; i < answer->n; i++)
        if (answer->holder[i].text_size == path->n &&
            !memcmp(answer->text + answer->holder[i].text_at, path->text, path->n))
            return true;
    if (answer->n == MT_MOST_HOLDERS || path->n > MT_HOLDERS_TEXT - answer->text_used)
        return false;
    answer->holder[answer->n++] = (struct mt_holders_row){.address = block->address,
                                                          .device = block->device,
                                                          .root = (uint32_t)path->root,
                                                          .text_at = answer->text_used,
                                                          .text_size = (uint32_t)path->n};
    memcpy(answer->text + answer->text_used, path->text, path->n);
    answer->text_used += (uint32_t)path->n;
    return true;
}

static __attribute__((noinline)) bool write_block(struct mt_holders_answer *answer, uint32_t i)
{
    enum mt_pointed_state state = MT_POINTED_UNKNOWN;
    volatile bool has_room = true;
    uint32_t first = answer->n;
    if (!MT_MAY_CRASH())
        return false;
    for (unsigned k = 0; has_room && mt_pointers_way(native->pointers, i, k, &state, &native->way);
         k++) {
        if (state == MT_POINTED_UNKNOWN)
            break;
        put_path(&native->path, answer, state, &native->way);
        has_room = write_path(answer, &native->block[i], first);
    }
    mt_crash_over();
    return has_room;
}

uint32_t mt_native_paths_write(struct mt_holders_answer *answer)
{
    if (!native || !native->regions)
        return MT_HOLDERS_MEMORY;
    if (!native->pointers)
        return atomic_load(&answer->has_blocks) ? MT_HOLDERS_CRASHED : MT_HOLDERS_TIME;
    bool has_room = !answer->are_blocks_left_out && !mt_pointers_are_full(native->pointers);
    for (uint32_t i = 0; i < native->n && has_room; i++)
        has_room = write_block(answer, i);
    return !has_room                                    ? MT_HOLDERS_MEMORY
           : mt_pointers_are_complete(native->pointers) ? MT_HOLDERS_COMPLETE
                                                        : MT_HOLDERS_CRASHED;
}
