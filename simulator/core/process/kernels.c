/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels.h"

#include <elf.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#define RUNTIMES 2u
#define LIBRARY_KERNELS 256u
#define LARGEST_IMAGE ((uint64_t)256 << 20)
#define SLOTS 4096u

static bool (*_Atomic finders[RUNTIMES])(const void *function, struct sim_kernel_code *code);

void sim_kernels_found_by(bool (*find)(const void *function, struct sim_kernel_code *code))
{
    for (unsigned i = 0; i < RUNTIMES; i++) {
        bool (*none)(const void *, struct sim_kernel_code *) = NULL;
        if (atomic_compare_exchange_strong(&finders[i], &none, find))
            return;
    }
}

static bool find_code(const void *function, struct sim_kernel_code *code)
{
    for (unsigned i = 0; i < RUNTIMES; i++)
        if (finders[i] && finders[i](function, code))
            return true;
    return false;
}

/* --- kernels of libraries --------------------------------------------------------------------- */

static struct {
    const char *name;
    unsigned words;
} of_library[LIBRARY_KERNELS];
static _Atomic unsigned n_of_library;

void *sim_library_kernel(const char *name, unsigned words)
{
    unsigned at = atomic_fetch_add(&n_of_library, 1);
    if (at >= LIBRARY_KERNELS)
        return NULL;
    of_library[at].name = name;
    of_library[at].words = words;
    return &of_library[at];
}

bool sim_is_library_kernel(const void *function)
{
    return (uintptr_t)function - (uintptr_t)of_library < sizeof of_library;
}

static size_t place_of(const void *function)
{
    return ((uintptr_t)function - (uintptr_t)of_library) / sizeof of_library[0];
}

const char *sim_kernel_name(const void *function)
{
    struct sim_kernel_code code;
    if (sim_is_library_kernel(function))
        return of_library[place_of(function)].name;
    return find_code(function, &code) ? code.name : NULL;
}

/* --- layouts ---------------------------------------------------------------------------------- */

/* Of an image in a list of images. */
struct image_header {
    uint16_t kind, attributes;
    uint32_t header_size;
    uint64_t size; /* behind the header */
    uint32_t compressed_size, options;
};
enum { ELF_IMAGE = 2 };

/* The attributes of a kernel in its section .nv.info.NAME. */
enum { WITH_SIZE = 4, PARAMETER = 0x17, LARGE_PARAMETER = 0x45, SIZE_SHIFT = 18 };
static const char info_prefix[] = ".nv.info.";

struct parameter {
    uint16_t place, offset;
    uint32_t size;
};

struct layout {
    char *name;
    size_t n, room;
    struct parameter *parameters; /* by place */
};

/* The kernels of a source file, in the order of their names. */
struct module {
    const struct sim_image_wrapper *wrapper;
    size_t n, room;
    struct layout *layouts;
    struct module *next;
};

static struct module *modules[SLOTS]; /* by their wrappers */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static int by_place(const void *left, const void *right)
{
    return ((const struct parameter *)left)->place - ((const struct parameter *)right)->place;
}

static int by_name(const void *left, const void *right)
{
    return strcmp(((const struct layout *)left)->name, ((const struct layout *)right)->name);
}

static void read_info(struct layout *layout, const unsigned char *at, const unsigned char *end)
{
    struct {
        uint8_t form, attribute;
        uint16_t size;
    } head;
    while ((size_t)(end - at) >= sizeof head) {
        memcpy(&head, at, sizeof head);
        at += sizeof head;
        if (head.form != WITH_SIZE)
            continue;
        if (head.size > end - at)
            return;
        struct {
            uint32_t index;
            uint16_t place, offset;
            uint32_t bits;
        } found;
        bool is_large = head.attribute == LARGE_PARAMETER;
        if ((head.attribute == PARAMETER || is_large) && head.size >= sizeof found &&
            !sim_grow(&layout->parameters, layout->n, &layout->room, sizeof(struct parameter))) {
            memcpy(&found, at, sizeof found);
            layout->parameters[layout->n++] = (struct parameter){
                found.place, found.offset, is_large ? found.bits : found.bits >> SIZE_SHIFT};
        }
        at += head.size;
    }
}

/* Read the layouts of an image that was checked to have `size` bytes. */
static void read_image(struct module *module, const unsigned char *image, size_t size)
{
    Elf64_Ehdr head;
    Elf64_Shdr names, section;
    if (size < sizeof head)
        return;
    memcpy(&head, image, sizeof head);
    uint64_t sections = (uint64_t)head.e_shnum * sizeof section;
    if (memcmp(head.e_ident, ELFMAG, SELFMAG) || head.e_shentsize != sizeof section ||
        head.e_shoff > size || sections > size - head.e_shoff || head.e_shstrndx >= head.e_shnum)
        return;
    const unsigned char *table = image + head.e_shoff;
    memcpy(&names, table + head.e_shstrndx * sizeof names, sizeof names);
    if (names.sh_offset > size || names.sh_size > size - names.sh_offset || !names.sh_size ||
        image[names.sh_offset + names.sh_size - 1])
        return;
    for (unsigned i = 0; i < head.e_shnum; i++) {
        memcpy(&section, table + i * sizeof section, sizeof section);
        if (section.sh_name >= names.sh_size || section.sh_offset > size ||
            section.sh_size > size - section.sh_offset)
            continue;
        const char *name = (const char *)image + names.sh_offset + section.sh_name;
        if (strncmp(name, info_prefix, sizeof info_prefix - 1) ||
            sim_grow(&module->layouts, module->n, &module->room, sizeof(struct layout)))
            continue;
        struct layout layout = {.name = strdup(name + sizeof info_prefix - 1)};
        if (!layout.name)
            continue;
        read_info(&layout, image + section.sh_offset, image + section.sh_offset + section.sh_size);
        if (layout.n)
            qsort(layout.parameters, layout.n, sizeof *layout.parameters, by_place);
        module->layouts[module->n++] = layout;
    }
    if (module->n)
        qsort(module->layouts, module->n, sizeof *module->layouts, by_name);
}

static void read_compressed(struct module *module, const unsigned char *image, size_t size)
{
    unsigned long long whole = ZSTD_getFrameContentSize(image, size);
    if (whole == ZSTD_CONTENTSIZE_UNKNOWN || whole == ZSTD_CONTENTSIZE_ERROR ||
        whole > LARGEST_IMAGE)
        return;
    unsigned char *plain = malloc(whole);
    if (plain && ZSTD_decompress(plain, whole, image, size) == whole)
        read_image(module, plain, whole);
    free(plain);
}

/* Read the smallest image of a list: kernels have the same parameters for each architecture. */
static void read_module(struct module *module)
{
    struct sim_image_list list;
    struct image_header image, best = {0};
    const unsigned char *best_at = NULL;
    const struct sim_image_wrapper *wrapper = module->wrapper;
    if (!wrapper || wrapper->magic != SIM_WRAPPER_MAGIC || !wrapper->list)
        return;
    memcpy(&list, wrapper->list, sizeof list);
    if (list.magic != SIM_LIST_MAGIC)
        return;
    const unsigned char *at = wrapper->list + list.header_size, *end = at + list.size;
    while ((size_t)(end - at) >= sizeof image) {
        memcpy(&image, at, sizeof image);
        if (image.header_size > (size_t)(end - at) ||
            image.size > (uint64_t)(end - at) - image.header_size)
            break;
        if (image.kind == ELF_IMAGE && (!best_at || image.size < best.size)) {
            best = image;
            best_at = at + image.header_size;
        }
        at += image.header_size + image.size;
    }
    if (!best_at)
        return;
    if (best.compressed_size && best.compressed_size <= best.size)
        read_compressed(module, best_at, best.compressed_size);
    else
        read_image(module, best_at, best.size);
}

/* Return the module, read once; NULL: no memory. Under the lock. */
static struct module *module_of(const struct sim_image_wrapper *wrapper)
{
    struct module **slot = &modules[(uintptr_t)wrapper / sizeof(void *) % SLOTS];
    for (struct module *module = *slot; module; module = module->next)
        if (module->wrapper == wrapper)
            return module;
    struct module *module = calloc(1, sizeof *module);
    if (!module)
        return NULL;
    module->wrapper = wrapper;
    module->next = *slot;
    *slot = module;
    read_module(module);
    return module;
}

int sim_kernel_parameter(const void *function, size_t index, size_t *offset, size_t *size)
{
    struct sim_kernel_code code;
    int error = -ENOENT;
    if (sim_is_library_kernel(function)) {
        *offset = index * sizeof(uint64_t);
        *size = sizeof(uint64_t);
        unsigned words = of_library[place_of(function)].words;
        if (words == SIM_UNKNOWN_WORDS)
            return -ENOENT;
        return index < words ? 0 : -ERANGE;
    }
    if (!find_code(function, &code))
        return -ENOENT;
    pthread_mutex_lock(&lock);
    const struct module *module = module_of(code.wrapper);
    struct layout key = {.name = (char *)(uintptr_t)code.name};
    const struct layout *layout = module && module->n ? bsearch(&key, module->layouts, module->n,
                                                                sizeof *module->layouts, by_name)
                                                      : NULL;
    if (layout && index < layout->n) {
        *offset = layout->parameters[index].offset;
        *size = layout->parameters[index].size;
        error = 0;
    } else if (layout) {
        error = -ERANGE;
    }
    pthread_mutex_unlock(&lock);
    return error;
}
