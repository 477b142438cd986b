/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Virtual-memory management: physical memory, addresses, and mappings between them. A physical
 * piece counts on its device until it is neither held nor mapped anywhere. Contents belong to the
 * mapping: unmapping loses them, unless the piece was exported to other processes: then they are in
 * a file.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../base/pages.h"
#include "../device/device.h"
#include "pool.h"
#include "range.h"
#include "vmm.h"

struct mapping {
    uintptr_t start;
    size_t size, offset; /* offset: in the physical piece */
    struct sim_physical *physical;
    bool allowed; /* some device may read and write it */
};

/* The mappings of one reservation, sorted by start. */
struct reservation {
    struct mapping *mappings;
    size_t used, room;
};

static bool is_multiple(size_t size)
{
    return size && !(size & (SIM_PAGE - 1));
}

int sim_physical_create(int number, size_t size, struct sim_physical **out)
{
    struct sim_device *device = sim_device(number);
    if (!device || !is_multiple(size))
        return -EINVAL;
    /* A program that allocates has a context, which must fit before it is created. */
    if (sim_primary_up(number))
        return -ENOMEM;
    struct sim_physical *physical = calloc(1, sizeof(*physical));
    if (!physical)
        return -ENOMEM;
    sim_range_lock();
    int error = sim_allocate_emptying(device, size);
    sim_range_unlock();
    if (error) {
        free(physical);
        return error;
    }
    *physical = (struct sim_physical){.device = number, .size = size, .references = 1};
    *out = physical;
    return 0;
}

void sim_physical_drop(struct sim_physical *physical)
{
    if (--physical->references)
        return;
    if (physical->team)
        physical->free_team(physical->team);
    else if (!physical->imported)
        sim_free_bytes(sim_device(physical->device), physical->size);
    if (physical->file)
        close(physical->file);
    free(physical);
}

int sim_physical_release(struct sim_physical *physical)
{
    if (!physical)
        return -EINVAL;
    sim_range_lock();
    sim_physical_drop(physical);
    sim_range_unlock();
    return 0;
}

int sim_physical_device(const struct sim_physical *physical)
{
    return physical->device;
}

int sim_address_reserve(size_t size, size_t alignment, void **out)
{
    struct sim_range range = {.size = size, .kind = SIM_RESERVED};
    if (!is_multiple(size) || (alignment & (alignment - 1)))
        return -EINVAL;
    range.inside = calloc(1, sizeof(struct reservation));
    if (!range.inside)
        return -ENOMEM;
    if (alignment < SIM_PAGE)
        alignment = SIM_PAGE;
    range.start = (uintptr_t)(alignment > SIM_PAGE ? sim_pages_map(size, alignment, false)
                                                   : sim_pages_in_turn(size, true));
    sim_range_lock();
    int error = range.start ? sim_range_add(range) : -ENOMEM;
    sim_range_unlock();
    if (!error) {
        *out = (void *)range.start;
        return 0;
    }
    if (range.start)
        sim_pages_unmap((void *)range.start, size);
    free(range.inside);
    return error;
}

/* Return the reservation that holds all of [start, start + size), or NULL. */
static struct reservation *reservation_of(uintptr_t start, size_t size)
{
    struct sim_range *range = sim_range_at(start);
    if (!range || range->kind != SIM_RESERVED || size > range->size - (start - range->start))
        return NULL;
    return range->inside;
}

int sim_address_free(void *address, size_t size)
{
    int error = -EINVAL;
    sim_range_lock();
    struct sim_range *range = sim_range_at((uintptr_t)address);
    struct reservation *reservation = reservation_of((uintptr_t)address, size);
    if (reservation && range->start == (uintptr_t)address && range->size == size &&
        !reservation->used) {
        sim_range_remove(range);
        sim_pages_unmap(address, size);
        free(reservation->mappings);
        free(reservation);
        error = 0;
    }
    sim_range_unlock();
    return error;
}

/* Return the index of the first mapping that ends after the address. */
static size_t mapping_from(const struct reservation *reservation, uintptr_t address)
{
    size_t low = 0, high = reservation->used;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct mapping *mapping = &reservation->mappings[middle];
        if (mapping->start + mapping->size <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static int insert(struct reservation *reservation, struct mapping mapping)
{
    size_t at = mapping_from(reservation, mapping.start);
    if (at < reservation->used && reservation->mappings[at].start < mapping.start + mapping.size)
        return -EINVAL;
    if (sim_grow(&reservation->mappings, reservation->used, &reservation->room, sizeof(mapping)))
        return -ENOMEM;
    for (size_t i = reservation->used++; i > at; i--)
        reservation->mappings[i] = reservation->mappings[i - 1];
    reservation->mappings[at] = mapping;
    return 0;
}

int sim_map(void *address, size_t size, size_t offset, struct sim_physical *physical)
{
    struct mapping mapping = {(uintptr_t)address, size, offset, physical, false};
    int error = -EINVAL;
    sim_range_lock();
    struct reservation *reservation = reservation_of(mapping.start, size);
    if (reservation && physical && is_multiple(size) && offset <= physical->size &&
        size <= physical->size - offset)
        error = insert(reservation, mapping);
    if (!error)
        physical->references++;
    if (!error && physical->file)
        error = sim_pages_map_file(address, size, physical->file, offset, false);
    sim_range_unlock();
    return error;
}

/* Return whether mappings tile the range exactly: the first one's index and their number. */
static bool tiles(const struct reservation *reservation, uintptr_t start, size_t size,
                  size_t *first, size_t *count)
{
    uintptr_t end = start + size, at = start;
    size_t i = mapping_from(reservation, start);
    *first = i;
    while (i < reservation->used && at < end && reservation->mappings[i].start == at)
        at += reservation->mappings[i++].size;
    *count = i - *first;
    return at == end;
}

int sim_unmap(void *address, size_t size)
{
    size_t first, count;
    int error = -EINVAL;
    sim_range_lock();
    struct reservation *reservation = reservation_of((uintptr_t)address, size);
    if (reservation && tiles(reservation, (uintptr_t)address, size, &first, &count)) {
        struct mapping *mappings = reservation->mappings;
        for (size_t i = first; i < first + count; i++)
            sim_physical_drop(mappings[i].physical);
        for (size_t i = first + count; i < reservation->used; i++)
            mappings[i - count] = mappings[i];
        reservation->used -= count;
        error = sim_pages_renew(address, size, false);
    }
    sim_range_unlock();
    return error;
}

int sim_set_access(void *address, size_t size, bool allowed)
{
    size_t first, count;
    int error = -EINVAL;
    sim_range_lock();
    struct reservation *reservation = reservation_of((uintptr_t)address, size);
    if (reservation && tiles(reservation, (uintptr_t)address, size, &first, &count))
        error = sim_pages_protect(address, size, allowed);
    for (size_t i = 0; !error && i < count; i++)
        reservation->mappings[first + i].allowed = allowed;
    sim_range_unlock();
    return error;
}

bool sim_mapped(const struct sim_range *range, uintptr_t start, size_t size)
{
    const struct reservation *reservation = range->inside;
    uintptr_t end = start + size;
    for (size_t i = mapping_from(reservation, start); i < reservation->used; i++) {
        const struct mapping *mapping = &reservation->mappings[i];
        if (mapping->start > start || !mapping->allowed)
            return false;
        start = mapping->start + mapping->size;
        if (start >= end)
            return true;
    }
    return false;
}

/* Return the mapping that holds the address, or NULL. Needs the lock. */
static const struct mapping *mapping_of(uintptr_t address)
{
    struct reservation *reservation = reservation_of(address, 1);
    if (!reservation)
        return NULL;
    size_t at = mapping_from(reservation, address);
    if (at == reservation->used || reservation->mappings[at].start > address)
        return NULL;
    return &reservation->mappings[at];
}

int sim_mapping_at(const void *address, uintptr_t *start, size_t *size, int *device)
{
    sim_range_lock();
    const struct mapping *mapping = mapping_of((uintptr_t)address);
    if (mapping) {
        *start = mapping->start;
        *size = mapping->size;
        *device = mapping->physical->device;
    }
    sim_range_unlock();
    return mapping ? 0 : -EINVAL;
}

struct sim_physical *sim_physical_at(uintptr_t address)
{
    const struct mapping *mapping = mapping_of(address);
    return mapping ? mapping->physical : NULL;
}

int sim_physical_retain(const void *address, struct sim_physical **out)
{
    sim_range_lock();
    const struct mapping *mapping = mapping_of((uintptr_t)address);
    if (mapping) {
        mapping->physical->references++;
        *out = mapping->physical;
    }
    sim_range_unlock();
    return mapping ? 0 : -EINVAL;
}

/* --- other processes ---------------------------------------------------------------------- */

static const char file_name[] = "cudasim-device-%d"; /* an import reads the device from this name */

/* Move the piece's mapped contents into its file. Needs the range lock. */
static int move_mappings(const struct sim_physical *physical)
{
    struct sim_range *range;
    int error = 0;
    for (size_t i = 0; !error && (range = sim_range_number(i)); i++) {
        const struct reservation *reservation = range->inside;
        for (size_t j = 0; range->kind == SIM_RESERVED && j < reservation->used && !error; j++) {
            const struct mapping *mapping = &reservation->mappings[j];
            if (mapping->physical != physical)
                continue;
            if (mapping->allowed)
                error = sim_pages_save((void *)mapping->start, mapping->size, physical->file,
                                       mapping->offset);
            if (!error)
                error = sim_pages_map_file((void *)mapping->start, mapping->size, physical->file,
                                           mapping->offset, mapping->allowed);
        }
    }
    return error;
}

int sim_physical_export(struct sim_physical *physical, int *fd)
{
    char name[32];
    int error = 0;
    if (!physical)
        return -EINVAL;
    if (physical->team)
        return -ENOTSUP;
    snprintf(name, sizeof(name), file_name, sim_device_ordinal(physical->device));
    sim_range_lock();
    if (!physical->file) {
        int file = sim_pages_file(physical->size, name);
        error = file < 0 ? file : 0;
        physical->file = error ? 0 : file;
        if (!error)
            error = move_mappings(physical);
    }
    *fd = error ? -1 : fcntl(physical->file, F_DUPFD_CLOEXEC, 3);
    sim_range_unlock();
    return error ? error : *fd < 0 ? -ENOMEM : 0;
}

/* Return the machine's number of the device whose memory the file holds, -1: another file. */
static int device_of(int fd)
{
    char path[32], link[64], expected[64];
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    ssize_t length = readlink(path, link, sizeof(link) - 1);
    link[length > 0 ? length : 0] = '\0';
    for (int number = 0; number < sim_device_count(); number++) {
        snprintf(expected, sizeof(expected), "/memfd:cudasim-device-%d (deleted)",
                 sim_device_ordinal(number));
        if (!strcmp(link, expected))
            return number;
    }
    return -1;
}

int sim_physical_import(int fd, struct sim_physical **out)
{
    int device = device_of(fd);
    struct stat file;
    if (device < 0 || fstat(fd, &file))
        return -EINVAL;
    struct sim_physical *physical = calloc(1, sizeof(*physical));
    if (!physical)
        return -ENOMEM;
    *physical = (struct sim_physical){.device = device,
                                      .size = (size_t)file.st_size,
                                      .references = 1,
                                      .file = fcntl(fd, F_DUPFD_CLOEXEC, 3),
                                      .imported = true};
    *out = physical;
    return 0;
}
