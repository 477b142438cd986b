/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The slots by which images call functions of others: entries of their relocation tables. The
 * loader has set them when the image was loaded; LD_PRELOAD would have made it choose our hooks.
 * Each is set by one aligned store, so that a thread that calls meanwhile gets one or the other.
 * The slots are visited while the loader's big lock is held: all images are
 * relocated then, and none comes or goes. The loader holds it for a library's constructor only, so
 * a small library is loaded for that (under-lock.c).
 */
#define MT_EXPORTS_MAP /* the names only */
#include "attach.h"
#include "images.h"
#include "preload/hooks/hooks.h"
#include "trace-format/settings/attach.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char settings[MT_ATTACH_SETTINGS];

void mt_attach_set_settings(const char *from)
{
    memcpy(settings, from, sizeof settings);
    settings[sizeof settings - 2] = settings[sizeof settings - 1] = '\0';
}

char *mt_attach_getenv(const char *name)
{
    size_t length = strlen(name);
    for (char *at = settings; *at; at += strlen(at) + 1)
        if (!strncmp(at, name, length) && at[length] == '=')
            return at + length + 1;
    return getenv(name);
}

#define ROOMS 2048u /* of the table of names */
#define UNKNOWN 0
#define NONE 1
#define MOST_TRIES 1000u

static const char *const names[] = {
#define NAME(name, symbol, library, result, parameters) symbol,
#define NAME_OF_DRIVER(name, base, symbol, since, until, parameters) symbol,
    MT_HOOKS(NAME) MT_DRIVER_HOOKS(NAME_OF_DRIVER) "dlopen", "getenv"};
#define N_NAMES (sizeof names / sizeof *names)

static struct hook {
    const char *name;
    void *function; /* NULL: none for the program */
    void *known;    /* a function of the program's of this name */
} hooks[N_NAMES];
static uint16_t room[ROOMS]; /* index + 1 by a hash of the name */

static struct saved {
    void **slot, *original;
} *saved;
static size_t n_saved, saved_capacity;
static uint32_t n_set;
static _Atomic unsigned long long generation; /* of the images visited last */
static const struct link_map *own;            /* libmemtap.so */
static _Atomic bool is_hooked;                /* or is to be */
static _Atomic unsigned n_visits;
static bool is_forked; /* the loader may be broken: another thread may have been in it */

__attribute__((visibility("hidden"))) void *mt_attach_dlopen, *mt_attach_dlsym; /* to jump to */
__attribute__((visibility("hidden"))) void mt_attach_by_dlopen(void), mt_attach_by_dlsym(void);
__attribute__((used, visibility("hidden"))) void mt_slots_follow(void);

/* The loader searches its caller's own paths and scope, so both functions must see the program as
 * their caller: jump. Images that were loaded before are hooked first. */
#define JUMP(function, real)                                                                       \
    __asm__(".text\n"                                                                              \
            ".type " function ", @function\n"                                                      \
            ".hidden " function "\n" function ":\n"                                                \
            ".cfi_startproc\n"                                                                     \
            "    pushq %rdi\n"                                                                     \
            ".cfi_adjust_cfa_offset 8\n"                                                           \
            "    pushq %rsi\n"                                                                     \
            ".cfi_adjust_cfa_offset 8\n"                                                           \
            "    subq $8, %rsp\n"                                                                  \
            ".cfi_adjust_cfa_offset 8\n"                                                           \
            "    call mt_slots_follow\n"                                                           \
            "    addq $8, %rsp\n"                                                                  \
            ".cfi_adjust_cfa_offset -8\n"                                                          \
            "    popq %rsi\n"                                                                      \
            ".cfi_adjust_cfa_offset -8\n"                                                          \
            "    popq %rdi\n"                                                                      \
            ".cfi_adjust_cfa_offset -8\n"                                                          \
            "    jmp *" real "(%rip)\n"                                                            \
            ".cfi_endproc\n"                                                                       \
            ".size " function ", .-" function "\n");
JUMP("mt_attach_by_dlopen", "mt_attach_dlopen")
JUMP("mt_attach_by_dlsym", "mt_attach_dlsym")

/* --- names ----------------------------------------------------------------------------------- */

static uint32_t hash_of(const char *name)
{
    uint32_t hash = 5381;
    while (*name)
        hash = hash * 33 + (unsigned char)*name++;
    return hash;
}

static void make_table(void)
{
    for (size_t i = 0; i < N_NAMES; i++) {
        uint32_t at = hash_of(names[i]) % ROOMS;
        while (room[at])
            at = (at + 1) % ROOMS;
        room[at] = (uint16_t)(i + 1);
        hooks[i].name = names[i];
    }
}

static struct hook *find(const char *name)
{
    uint32_t at = hash_of(name) % ROOMS;
    for (; room[at]; at = (at + 1) % ROOMS)
        if (!strcmp(hooks[room[at] - 1].name, name))
            return &hooks[room[at] - 1];
    return NULL;
}

static const struct link_map *image_of(const void *address)
{
    Dl_info info;
    struct link_map *image = NULL;
    return dladdr1(address, &info, (void **)&image, RTLD_DL_LINKMAP) ? image : NULL;
}

/* Where the program itself has a function, preloading would not have replaced it. */
static bool is_of_program(const char *name)
{
    const struct link_map *image = image_of(dlsym(RTLD_DEFAULT, name));
    return image && !*image->l_name;
}

static void choose_hooks(void *library)
{
    make_table();
    for (size_t i = 0; i < N_NAMES; i++) {
        void *found = dlsym(library, names[i]);
        const struct link_map *image = image_of(found);
        if (found && image && !strcmp(names[i], "memtap_start"))
            own = image;
        hooks[i].function = found;
    }
    for (size_t i = 0; i < N_NAMES; i++)
        if (image_of(hooks[i].function) != own || is_of_program(names[i]))
            hooks[i].function = NULL;
    mt_attach_dlopen = dlsym(RTLD_DEFAULT, "dlopen");
    mt_attach_dlsym = find("dlsym")->function;
    find("dlopen")->function = mt_attach_dlopen ? (void *)mt_attach_by_dlopen : NULL;
    find("dlsym")->function = mt_attach_dlsym ? (void *)mt_attach_by_dlsym : NULL;
    find("__libc_start_main")->function = NULL; /* it is over */
}

/* --- slots ----------------------------------------------------------------------------------- */

static bool has(const struct mt_attach_image *image, const void *address)
{
    return (uintptr_t)address >= image->start && (uintptr_t)address < image->end;
}

/* Return whether the loader's own images and ours stay as they are. */
static bool is_left_alone(const struct mt_attach_image *image)
{
    const char *slash = strrchr(image->name, '/'), *name = slash ? slash + 1 : image->name;
    return has(image, (const void *)(uintptr_t)mt_slots_set) || !strcmp(name, "libc.so.6") ||
           !strncmp(name, "ld-linux", 8) || !strcmp(name, "libmemtap-under-lock.so");
}

static bool set(struct mt_attach_image *image, void **slot, void *value)
{
    if (!mt_attach_is_writable(image, slot))
        return false;
    __atomic_store_n(slot, value, __ATOMIC_RELEASE);
    n_set++;
    return true;
}

/* Return what the image would find under the name, or NULL. */
static void *look_up(const struct mt_attach_image *image, const char *name)
{
    void *handle = dlopen(*image->name ? image->name : NULL, RTLD_NOLOAD | RTLD_LAZY);
    void *found = handle ? dlsym(handle, name) : NULL;
    if (handle)
        dlclose(handle);
    return found ? found : dlsym(RTLD_DEFAULT, name);
}

/* Return whether the slot is as the loader sets it: with a function that a library has under this
 * name, which our hook will find, too, or not looked up yet. Whatever else is there, another tool's
 * function or the program's, stays. */
static bool is_as_loaded(const struct mt_attach_image *image, struct hook *hook, unsigned type,
                         const ElfW(Sym) * symbol, void *value)
{
    Dl_info info;
    if (value == hook->known)
        return true;
    bool is_later = type == R_X86_64_JUMP_SLOT && has(image, value) &&
                    (void *)(image->base + symbol->st_value) != value;
    void *found = look_up(image, hook->name);
    const struct link_map *of = image_of(found);
    if (!of || of == own || !*of->l_name)
        return false;
    if (!is_later && (!dladdr(value, &info) || info.dli_saddr != value || !*info.dli_fname))
        return false;
    if (!is_later && found == value)
        hook->known = value;
    return is_later || found == value || (info.dli_sname && !strcmp(info.dli_sname, hook->name));
}

static struct saved *saved_of(void **slot)
{
    for (size_t i = n_saved; i--;)
        if (saved[i].slot == slot)
            return &saved[i];
    return NULL;
}

/* Remember what a slot had; of an image that was unloaded meanwhile, another's may be there now. */
static bool save(void **slot, void *original)
{
    struct saved *at = saved_of(slot);
    if (!at && n_saved == saved_capacity) {
        size_t capacity = 2 * saved_capacity + 1024;
        struct saved *grown = realloc(saved, capacity * sizeof *saved);
        if (!grown)
            return false;
        saved = grown;
        saved_capacity = capacity;
    }
    if (!at)
        at = &saved[n_saved++];
    *at = (struct saved){slot, original};
    return true;
}

static void hook_slot(struct mt_attach_image *image, struct hook *hook, unsigned type,
                      const ElfW(Sym) * symbol, void **slot)
{
    void *value = __atomic_load_n(slot, __ATOMIC_ACQUIRE);
    if (!value || value == hook->function || !hook->function ||
        !is_as_loaded(image, hook, type, symbol, value))
        return;
    if (save(slot, value))
        set(image, slot, hook->function);
}

static void restore_slot(struct mt_attach_image *image, struct hook *hook, void **slot)
{
    struct saved *at = hook->function && *slot == hook->function ? saved_of(slot) : NULL;
    if (at)
        set(image, slot, at->original);
}

/* --- an image --------------------------------------------------------------------------------- */

/* Visit the slots of hooked functions. A symbol is looked up by its name once. */
static void visit(struct mt_attach_image *image, bool is_restore)
{
    uint16_t *known = NULL;
    size_t n_known = 0;
    for (int i = 0; i < 2; i++)
        for (size_t k = 0; k < image->n[i]; k++) {
            const ElfW(Rela) *entry = &image->table[i][k];
            unsigned type = ELF64_R_TYPE(entry->r_info);
            size_t number = ELF64_R_SYM(entry->r_info);
            if (!number || entry->r_addend ||
                (type != R_X86_64_JUMP_SLOT && type != R_X86_64_GLOB_DAT && type != R_X86_64_64))
                continue;
            if (number >= n_known) {
                size_t n = number + number / 2 + 1024;
                uint16_t *grown = realloc(known, n * sizeof *known);
                if (!grown)
                    break;
                memset(grown + n_known, UNKNOWN, (n - n_known) * sizeof *known);
                known = grown;
                n_known = n;
            }
            const ElfW(Sym) *symbol = &image->symbols[number];
            if (known[number] == UNKNOWN) {
                struct hook *found = find(image->strings + symbol->st_name);
                known[number] = found ? (uint16_t)(found - hooks + 2) : NONE;
            }
            if (known[number] == NONE)
                continue;
            void **slot = (void **)(image->base + entry->r_offset);
            if (is_restore)
                restore_slot(image, &hooks[known[number] - 2], slot);
            else
                hook_slot(image, &hooks[known[number] - 2], type, symbol, slot);
        }
    free(known);
    mt_attach_close_image(image);
}

/* libmemtap.so itself gets the settings of the request by getenv. */
static void visit_own(struct mt_attach_image *image)
{
    struct hook *hook = find("getenv");
    for (size_t k = 0; k < image->n[0] + image->n[1]; k++) {
        const ElfW(Rela) *entry =
            k < image->n[0] ? &image->table[0][k] : &image->table[1][k - image->n[0]];
        size_t number = ELF64_R_SYM(entry->r_info);
        if (number && !strcmp(image->strings + image->symbols[number].st_name, hook->name))
            set(image, (void **)(image->base + entry->r_offset),
                (void *)(uintptr_t)mt_attach_getenv);
    }
    mt_attach_close_image(image);
}

static void visit_all(bool is_restore)
{
    struct mt_attach_images images;
    n_set = 0;
    if (mt_attach_find_images(&images))
        return;
    atomic_store(&generation, images.generation);
    for (size_t i = 0; i < images.n; i++)
        if (has(&images.of[i], own->l_ld)) {
            if (!is_restore)
                visit_own(&images.of[i]);
        } else if (!is_left_alone(&images.of[i])) {
            visit(&images.of[i], is_restore);
        }
    free(images.of);
}

void mt_slots_choose(void *library)
{
    if (!own)
        choose_hooks(library);
}

void memtap_attach_under_lock(void)
{
    if (own)
        visit_all(!atomic_load(&is_hooked));
    if (!atomic_load(&is_hooked))
        n_saved = 0;
    atomic_fetch_add(&n_visits, 1);
}

/* The library is loaded and unloaded again, unless another thread has it loaded: then try again. */
static int visit_under_lock(void)
{
    static char path[PATH_MAX];
    Dl_info info;
    if (!*path && dladdr((void *)(uintptr_t)mt_slots_set, &info)) {
        const char *slash = strrchr(info.dli_fname, '/');
        snprintf(path, sizeof path, "%.*slibmemtap-under-lock.so",
                 slash ? (int)(slash - info.dli_fname + 1) : 0, info.dli_fname);
    }
    unsigned before = atomic_load(&n_visits);
    for (unsigned i = 0; i < MOST_TRIES; i++) {
        void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        if (!library)
            return -ENOENT;
        dlclose(library);
        if (atomic_load(&n_visits) != before)
            return 0;
        sched_yield();
    }
    return -EBUSY; /* it stays loaded in a child that was forked while it was */
}

int mt_slots_set(bool to_hooks, uint32_t *n)
{
    atomic_store(&is_hooked, to_hooks);
    int rc = visit_under_lock();
    if (rc)
        atomic_store(&is_hooked, !to_hooks);
    *n = n_set;
    return rc;
}

/* --- images that are loaded later ---------------------------------------------------------------
 */

static int count(struct dl_phdr_info *info, size_t size, void *out)
{
    (void)size;
    *(unsigned long long *)out = info->dlpi_adds;
    return 1;
}

static void in_forked_child(void)
{
    is_forked = true;
}

__attribute__((constructor)) static void expect_fork(void)
{
    pthread_atfork(NULL, NULL, in_forked_child);
}

void mt_slots_follow(void)
{
    unsigned long long now = 0;
    int before = errno;
    if (!atomic_load(&is_hooked) || is_forked)
        return;
    dl_iterate_phdr(count, &now);
    if (now != atomic_load(&generation))
        visit_under_lock();
    errno = before;
}
