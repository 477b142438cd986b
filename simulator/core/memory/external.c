/* SPDX-License-Identifier: Apache-2.0 */
#include "external.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../base/pages.h"
#include "../device/device.h"
#include "range.h"

struct sim_external {
    int fd;
    size_t size;
    bool has_contents; /* the descriptor is a file of that size */
};

int sim_external_import(int fd, size_t size, struct sim_external **out)
{
    struct stat file;
    if (!size || fstat(fd, &file))
        return -EINVAL;
    struct sim_external *external = calloc(1, sizeof(*external));
    if (!external)
        return -ENOMEM;
    *external = (struct sim_external){.fd = fd,
                                      .size = size,
                                      .has_contents =
                                          S_ISREG(file.st_mode) && (size_t)file.st_size >= size};
    *out = external;
    return 0;
}

static int map_pages(const struct sim_external *external, size_t offset, struct sim_range *range)
{
    size_t size = (range->size + SIM_PAGE - 1) & ~(SIM_PAGE - 1);
    size_t whole = (range->size + 4095) & ~(size_t)4095; /* of the file: as much as there is */
    range->start = (uintptr_t)sim_pages_map(size, SIM_PAGE, true);
    if (!range->start)
        return -ENOMEM;
    int error = external->has_contents && offset % 4096 == 0
                    ? sim_pages_map_file((void *)range->start, whole, external->fd, offset, true)
                    : 0;
    if (!error)
        error = sim_range_add(*range);
    if (error)
        sim_pages_unmap((void *)range->start, size);
    return error;
}

int sim_external_map(const struct sim_external *external, size_t offset, size_t size, void **out)
{
    struct sim_range range = {
        .size = size, .kind = SIM_DEVICE, .place = SIM_EXTERNAL, .device = sim_thread.device};
    if (!size || offset > external->size || size > external->size - offset)
        return -EINVAL;
    sim_range_lock();
    int error = map_pages(external, offset, &range);
    sim_range_unlock();
    if (!error)
        *out = (void *)range.start;
    return error;
}

void sim_external_destroy(struct sim_external *external)
{
    close(external->fd);
    free(external);
}
