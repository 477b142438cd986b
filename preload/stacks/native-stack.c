/* SPDX-License-Identifier: Apache-2.0 */
#include "native-stack.h"
#include "preload/host/settings.h"
#include "preload/native/rules.h"
#include "preload/native/unwind.h"
#include "preload/record/cache.h"
#include "preload/record/intern.h"
#include "python-stack.h"
#include "trace-format/meaning/marks.h"

#include <limits.h>
#include <stdbool.h>
#include <string.h>

static MT_HOT struct {
    _Atomic bool is_on;
    bool has_failed;
    uintptr_t own[2]; /* libmemtap.so's code */
    struct mt_cache stacks, frames;
} native = {.stacks.forgets = 1, .frames.forgets = 1};

void mt_native_find(void)
{
    mt_frame_rules_find_python();
}

void mt_native_start(bool has_python)
{
    struct mt_image own;
    if (mt_settings.has_auto_stacks && !has_python && !mt_settings.is_light)
        mt_settings.native_stacks = 1;
    mt_native_callers_are_named = mt_settings.python_stacks && !mt_settings.native_stacks;
    if (!mt_settings.native_stacks)
        return;
    native.has_failed = mt_frame_rules_prepare() != 0;
    if (!mt_image_find((uintptr_t)&mt_native_start, &own)) {
        native.own[0] = own.start;
        native.own[1] = own.end;
    }
    atomic_store(&native.is_on, !native.has_failed);
}

/* Return the id of the image with pc; code in no image has 0 and its own address. Call with the
 * lock: the buffer is static, because threads' stacks may be 16 KiB. */
static uint32_t intern_image(uintptr_t pc, uint64_t *address)
{
    static char path[PATH_MAX];
    struct mt_image image;
    char build_id[MT_BUILD_ID_TEXT];
    *address = pc;
    if (mt_image_find(pc, &image))
        return 0;
    mt_image_build_id(&image, build_id);
    mt_image_path(&image, path);
    *address = pc - image.bias;
    uint32_t build_string = *build_id ? mt_intern_string(build_id, strlen(build_id)) : 0;
    return mt_intern_image(build_string, mt_intern_string(path, strlen(path)));
}

/* Intern a frame. The stamp differs after another library was loaded at an address. */
static uint32_t intern_frame(uintptr_t pc, uint32_t stamp)
{
    struct mt_key key = {.a = pc, .stamp = stamp};
    uint64_t address;
    uint32_t id = mt_cache_find(&native.frames, &key);
    if (id)
        return id;
    uint32_t id_of_image = intern_image(pc, &address);
    id = mt_intern_native_frame(id_of_image, address);
    if (id)
        mt_cache_add(&native.frames, &key, id);
    return id;
}

/* Return how many of the innermost frames are libmemtap.so's own. */
static unsigned own_frames(const struct mt_walk *walk)
{
    unsigned n = 0;
    while (n < walk->n && walk->back[n] > native.own[0] && walk->back[n] <= native.own[1])
        n++;
    return n;
}

static uint32_t intern(const struct mt_walk *walk, const struct mt_key *key, uint32_t stamp)
{
    unsigned begin = own_frames(walk), end = walk->n;
    if (end > begin + MT_NATIVE_DEPTH)
        end = begin + MT_NATIVE_DEPTH;
    if (!mt_intern_lock())
        return 0;
    uint32_t id = mt_cache_find(&native.stacks, key);
    if (!id) {
        id = key->parent;
        for (unsigned i = end; i-- > begin;) {
            uint32_t frame = intern_frame(walk->back[i] - 1, stamp);
            uint32_t stack = frame ? mt_intern_stack(id, frame) : 0;
            id = stack ? stack : id;
        }
        if (id)
            mt_cache_add(&native.stacks, key, id);
    }
    mt_intern_unlock();
    return id;
}

/* Walk, find or intern the stack, and keep its id. */
static __attribute__((noinline)) uint32_t walk_natively(struct mt_thread *self, uint32_t parent,
                                                        struct mt_registers here, unsigned how)
{
    struct mt_walk *walk = &self->walk;
    mt_unwind(walk, &self->bounds, &self->foresight, here, how);
    uint32_t stamp = atomic_load_explicit(&mt_code_changes, memory_order_acquire);
    struct mt_key key = {(uint64_t)walk->sum, (uint64_t)(walk->sum >> 64), stamp, parent};
    uint32_t id = mt_cache_find(&native.stacks, &key);
    if (!id)
        id = intern(walk, &key, stamp);
    if (id)
        mt_unwind_keep(walk, &self->foresight, parent, id);
    return id;
}

/* Return the native stack, on top of the Python stack `parent` if there is one. Not inlined, so
 * that registers are not saved if there are no native stacks. */
static MT_HOT_CODE __attribute__((noinline)) uint32_t native_stack(struct mt_thread *self,
                                                                   uint32_t parent)
{
    struct mt_registers here = MT_OWN_REGISTERS();
    unsigned how = parent ? MT_UNTIL_PYTHON : 0;
    uint32_t id = mt_unwind_foresee(&self->bounds, &self->foresight, here, how, parent);
    return MT_LIKELY(id) ? id : walk_natively(self, parent, here, how);
}

MT_HOT_CODE uint32_t mt_thread_stack(struct mt_thread *self)
{
    uint32_t python = mt_python_stack(self);
    return atomic_load_explicit(&native.is_on, memory_order_relaxed) ? native_stack(self, python)
                                                                     : python;
}

static bool is_in_library(uintptr_t pc)
{
    struct mt_image image;
    return !mt_image_find(pc, &image) &&
           mt_module_marks(image.name) & (MT_MARK_MATH_LIBRARY | MT_MARK_NCCL);
}

static uint32_t intern_caller(const struct mt_key *key)
{
    if (!mt_intern_lock())
        return key->parent;
    uint32_t frame = intern_frame(key->a - 1, key->stamp);
    uint32_t id = frame ? mt_intern_stack(key->parent, frame) : 0;
    if (id)
        mt_cache_add(&native.stacks, key, id);
    mt_intern_unlock();
    return id ? id : key->parent;
}

MT_HOT bool mt_native_callers_are_named;

/* Callers outside CUDA's libraries, each with the stamp of its time in the highest bits: nearly all
 * calls are theirs, and finding a caller's image may take the loader's lock. */
static _Atomic uint64_t outside[64];

uint32_t mt_stack_with_caller(uint32_t stack, const void *caller)
{
    if (!caller)
        return stack;
    uint32_t stamp = atomic_load_explicit(&mt_code_changes, memory_order_acquire);
    uint64_t pc = (uintptr_t)caller, known = (uint64_t)stamp << 48 | pc;
    _Atomic uint64_t *place = &outside[(pc ^ pc >> 6) % (sizeof outside / sizeof *outside)];
    if (atomic_load_explicit(place, memory_order_relaxed) == known)
        return stack;
    const struct mt_key key = {.a = pc, .stamp = stamp, .parent = stack};
    uint32_t id = mt_cache_find(&native.stacks, &key);
    if (id)
        return id;
    if (is_in_library(pc - 1))
        return intern_caller(&key);
    atomic_store_explicit(place, known, memory_order_relaxed);
    return stack;
}

void mt_native_check_images(void)
{
    if (atomic_load(&native.is_on))
        mt_frame_rules_check_images();
    else
        atomic_fetch_add(&mt_code_changes, 1);
}

const char *mt_native_status(void)
{
    if (!mt_settings.native_stacks)
        return "no: switched off";
    return native.has_failed ? "no: out of memory" : "yes";
}

void mt_native_reset(void)
{
    mt_cache_reset(&native.stacks);
    mt_cache_reset(&native.frames);
    mt_frame_rules_reset();
}
