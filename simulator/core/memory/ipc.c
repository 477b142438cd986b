/* SPDX-License-Identifier: Apache-2.0 */
#include "ipc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../base/pages.h"
#include "../device/device.h"
#include "range.h"

enum { MEMORY_MAGIC = 0x6d6d6973 };

/* Memory of another process, opened here: sim_range.inside. */
struct opened {
    dev_t file_device;
    ino_t file;
    unsigned references;
};

_Static_assert(sizeof(struct sim_ipc_memory) == 64, "as large as CUDA's");

/* Put a file behind the pages, unless there is one. Needs the range lock. */
static int share(struct sim_range *range, int *file, uintptr_t *start)
{
    size_t size = (range->size + SIM_PAGE - 1) & ~(SIM_PAGE - 1);
    int *known = &range->file;
    int error = 0;
    *start = range->start;
    if (range->place == SIM_IN_SLAB) {
        known = sim_slab_file(range->inside);
        *start = sim_slab_start(range->inside);
        size = SIM_PAGE;
    }
    if (*known <= 0)
        error = sim_pages_share((void *)*start, size, "cudasim-memory", known);
    *file = *known;
    return error;
}

int sim_ipc_export(void *address, struct sim_ipc_memory *handle)
{
    uintptr_t start;
    int error = -EINVAL, file = -1;
    sim_range_lock();
    struct sim_range *range = sim_range_at((uintptr_t)address);
    if (range && range->kind == SIM_DEVICE &&
        (range->place == SIM_ALONE || range->place == SIM_IN_SLAB))
        error = share(range, &file, &start);
    if (!error)
        *handle = (struct sim_ipc_memory){.magic = MEMORY_MAGIC,
                                          .pid = (uint32_t)getpid(),
                                          .file = file,
                                          .ordinal = sim_device_ordinal(range->device),
                                          .offset = range->start - start};
    sim_range_unlock();
    return error;
}

static int number_of(int ordinal)
{
    for (int number = 0; number < sim_device_count(); number++)
        if (sim_device_ordinal(number) == ordinal)
            return number;
    return -1;
}

/* Return the range of a file that is open already. Needs the range lock. */
static struct sim_range *find(const struct stat *file)
{
    struct sim_range *range;
    for (size_t i = 0; (range = sim_range_number(i)); i++) {
        const struct opened *opened = range->place == SIM_OPENED ? range->inside : NULL;
        if (opened && opened->file == file->st_ino && opened->file_device == file->st_dev)
            return range;
    }
    return NULL;
}

static int map_file(int fd, const struct stat *file, int device, uintptr_t *start)
{
    size_t size = (size_t)file->st_size;
    struct opened *opened = calloc(1, sizeof(*opened));
    struct sim_range range = {
        .size = size, .kind = SIM_DEVICE, .place = SIM_OPENED, .device = device, .inside = opened};
    int error = -ENOMEM;
    if (!opened)
        return error;
    *opened = (struct opened){file->st_dev, file->st_ino, 1};
    range.start = (uintptr_t)sim_pages_map(size, SIM_PAGE, false);
    if (range.start)
        error = sim_pages_map_file((void *)range.start, size, fd, 0, true);
    if (!error)
        error = sim_range_add(range);
    if (error && range.start)
        sim_pages_unmap((void *)range.start, size);
    if (error)
        free(opened);
    *start = range.start;
    return error;
}

static int open_file(int fd, int device, uintptr_t *start)
{
    struct stat file;
    int error = 0;
    if (fstat(fd, &file) || !file.st_size)
        return -ENOENT;
    sim_range_lock();
    struct sim_range *range = find(&file);
    if (range) {
        ((struct opened *)range->inside)->references++;
        *start = range->start;
    } else {
        error = map_file(fd, &file, device, start);
    }
    sim_range_unlock();
    return error;
}

int sim_ipc_open(const struct sim_ipc_memory *handle, void **out)
{
    int device = number_of(handle->ordinal), fd, error;
    uintptr_t start;
    char path[64];
    if (handle->magic != MEMORY_MAGIC || device < 0)
        return -EINVAL;
    if (handle->pid == (uint32_t)getpid())
        return -EDEADLK;
    snprintf(path, sizeof(path), "/proc/%u/fd/%d", handle->pid, handle->file);
    fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return -ENOENT;
    error = open_file(fd, device, &start);
    close(fd);
    if (!error)
        *out = (void *)(start + handle->offset);
    return error;
}

int sim_ipc_close(void *address)
{
    sim_range_lock();
    struct sim_range *range = sim_range_at((uintptr_t)address);
    if (!range || range->place != SIM_OPENED) {
        sim_range_unlock();
        return -EINVAL;
    }
    struct opened *opened = range->inside;
    if (!--opened->references) {
        sim_pages_unmap((void *)range->start, range->size);
        sim_range_remove(range);
        free(opened);
    }
    sim_range_unlock();
    return 0;
}
