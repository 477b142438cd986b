/* SPDX-License-Identifier: Apache-2.0 */
#include "module.h"
#include "../device/device.h"
#include "../device/trace.h"
#include "../memory/memory.h"

#include <elf.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct sim_module {
    struct sim_module *next;
    void *memory; /* NULL: it takes none */
    int device;
};

static struct {
    pthread_mutex_t lock;
    struct sim_module *first;
    uint32_t last_number;
} loaded = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Return a cubin's size: its tables are at its end. */
static size_t size_of_cubin(const void *image)
{
    Elf64_Ehdr elf;
    size_t sections, segments;
    memcpy(&elf, image, sizeof(elf));
    sections = elf.e_shoff + (size_t)elf.e_shnum * elf.e_shentsize;
    segments = elf.e_phoff + (size_t)elf.e_phnum * elf.e_phentsize;
    return sections > segments ? sections : segments;
}

/* Return the size of PTX, which is compiled: the result is assumed to be as long. */
static size_t size_of_text(const char *image)
{
    static const char *const begins[] = {".version", "//"};
    for (size_t i = 0; i < sizeof(begins) / sizeof(begins[0]); i++)
        if (!strncmp(image, begins[i], strlen(begins[i])))
            return strlen(image) + 1;
    return 0;
}

/* Return the size of an image, 0: an unknown format. */
static size_t size_of(const void *image)
{
    struct sim_image_wrapper wrapper;
    struct sim_image_list list;
    if (!image)
        return 0;
    if (*(const char *)image == '.' || *(const char *)image == '/')
        return size_of_text(image);
    if (!memcmp(image, ELFMAG, SELFMAG))
        return size_of_cubin(image);
    memcpy(&list.magic, image, sizeof(list.magic));
    if (list.magic == SIM_WRAPPER_MAGIC) {
        memcpy(&wrapper, image, sizeof(wrapper));
        return size_of(wrapper.list);
    }
    if (list.magic != SIM_LIST_MAGIC)
        return 0;
    memcpy(&list, image, sizeof(list));
    return list.header_size + list.size;
}

static void add(struct sim_module *module, const void *image, size_t size)
{
    struct sim_loaded_module report = {.size = size, .image = image};
    pthread_mutex_lock(&loaded.lock);
    module->next = loaded.first;
    loaded.first = module;
    report.number = ++loaded.last_number;
    pthread_mutex_unlock(&loaded.lock);
    sim_report_resource(SIM_MODULE_LOADED, sim_thread.context, &report);
}

int sim_module_load(const void *image, struct sim_module **out)
{
    struct sim_module *module = calloc(1, sizeof(*module));
    size_t size = size_of(image);
    int error = module ? 0 : -ENOMEM;
    if (!error)
        module->device = sim_thread.device;
    if (!error && size)
        error = sim_allocate(SIM_DEVICE, module->device, size, 0, &module->memory);
    if (error) {
        free(module);
        return error;
    }
    add(module, image, size);
    *out = module;
    return 0;
}

int sim_module_load_file(const char *path, struct sim_module **out)
{
    FILE *file = path ? fopen(path, "rbe") : NULL;
    unsigned char *image = NULL;
    size_t size = 0, room = 0;
    int error = file ? 0 : -ENOENT;
    while (!error && !feof(file) && !ferror(file)) {
        unsigned char *bigger = realloc(image, room += 1 << 16);
        if (!bigger)
            error = -ENOMEM;
        else
            size += fread((image = bigger) + size, 1, room - size, file);
    }
    if (file)
        fclose(file);
    if (!error)
        error =
            size >= sizeof(Elf64_Ehdr) ? sim_module_load(image, out) : sim_module_load(NULL, out);
    free(image);
    return error;
}

int sim_module_unload(struct sim_module *module)
{
    struct sim_module **link = &loaded.first;
    pthread_mutex_lock(&loaded.lock);
    while (*link && *link != module)
        link = &(*link)->next;
    if (*link)
        *link = module->next;
    else
        module = NULL;
    pthread_mutex_unlock(&loaded.lock);
    if (!module)
        return -EINVAL;
    if (module->memory)
        sim_release(module->memory, SIM_DEVICE);
    free(module);
    return 0;
}

void sim_modules_reset(int device)
{
    pthread_mutex_lock(&loaded.lock);
    for (struct sim_module *module = loaded.first; module; module = module->next)
        if (module->device == device)
            module->memory = NULL;
    pthread_mutex_unlock(&loaded.lock);
}
