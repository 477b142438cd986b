/* SPDX-License-Identifier: Apache-2.0 */
#include "pages.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base.h"
#include "stretches.h"

static void *map_with(void *at, size_t size, bool usable, int how)
{
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | how;
    void *address = mmap(at, size, usable ? PROT_READ | PROT_WRITE : PROT_NONE, flags, -1, 0);
    if (address == MAP_FAILED)
        return NULL;
    /* Neither writing nor reading a byte may commit 2 MiB. */
    madvise(address, size, MADV_NOHUGEPAGE);
    /* A core dump of a 141 GB device would be useless. */
    madvise(address, size, MADV_DONTDUMP);
    return address;
}

static void *map(void *at, size_t size, bool usable)
{
    return map_with(at, size, usable, at ? MAP_FIXED : 0);
}

void *sim_pages_map(size_t size, size_t alignment, bool usable)
{
    uintptr_t start, aligned;
    if (size > SIZE_MAX - alignment)
        return NULL;
    void *whole = map(NULL, size + alignment, usable);
    if (!whole)
        return NULL;
    start = (uintptr_t)whole;
    aligned = (start + alignment - 1) & ~(uintptr_t)(alignment - 1);
    if (aligned > start)
        munmap(whole, aligned - start);
    munmap((void *)(aligned + size), start + alignment - aligned);
    return (void *)aligned;
}

/* Far from programs, libraries and stacks on Linux, on x86-64 and aarch64. */
static const uint64_t of_memory = UINT64_C(0x100000000000), of_reserves = UINT64_C(0x300000000000);
static const uint64_t room = UINT64_C(0x200000000000);

static size_t whole_pages(size_t size)
{
    return (size + SIM_PAGE - 1) & ~(SIM_PAGE - 1);
}

/* Choose an address for pages; 0 if there is none. */
static uintptr_t choose(size_t whole, bool reserves)
{
    static _Atomic uint64_t reserved;
    uint64_t place;
    if (whole >= room)
        return 0;
    if (!reserves)
        return sim_stretches_take(whole, room, &place) ? of_memory + place : 0;
    place = atomic_fetch_add(&reserved, whole);
    return place <= room - whole ? of_reserves + place : 0;
}

void *sim_pages_in_turn(size_t size, bool reserves)
{
    size_t whole = whole_pages(size);
    void *wanted = (void *)choose(whole, reserves), *address = NULL;
    if (wanted)
        address = map_with(wanted, size, !reserves, MAP_FIXED_NOREPLACE);
    if (address && address != wanted) /* a kernel before 4.17 */
        munmap(address, size);
    return address == wanted && address ? address : sim_pages_map(size, SIM_PAGE, !reserves);
}

void sim_pages_unmap(void *address, size_t size)
{
    uintptr_t at = (uintptr_t)address;
    munmap(address, size);
    if (at >= of_memory && at < of_memory + room)
        sim_stretches_give(at - of_memory, whole_pages(size));
}

int sim_pages_renew(void *address, size_t size, bool usable)
{
    return map(address, size, usable) ? 0 : -ENOMEM;
}

int sim_pages_protect(void *address, size_t size, bool usable)
{
    return mprotect(address, size, usable ? PROT_READ | PROT_WRITE : PROT_NONE) ? -ENOMEM : 0;
}

/* --- pages shared with other processes ---------------------------------------------------- */

enum { HOST_PAGE = 4096, CHUNK = 512 }; /* pages that one call examines */

int sim_pages_file(size_t size, const char *name)
{
    int fd = memfd_create(name, MFD_CLOEXEC);
    if (fd < 0)
        return -errno;
    if (!ftruncate(fd, (off_t)size))
        return fd;
    close(fd);
    return -ENOMEM;
}

int sim_pages_save(const void *address, size_t size, int fd, size_t offset)
{
    static const char zeros[HOST_PAGE];
    unsigned char resident[CHUNK];
    const char *start = address;
    for (size_t at = 0; at < size; at += HOST_PAGE) {
        if (at % (CHUNK * HOST_PAGE) == 0) {
            size_t rest = size - at < CHUNK * HOST_PAGE ? size - at : CHUNK * HOST_PAGE;
            if (mincore((void *)(uintptr_t)(start + at), rest, resident))
                memset(resident, 1, sizeof(resident));
        }
        if (!(resident[at / HOST_PAGE % CHUNK] & 1) || !memcmp(start + at, zeros, HOST_PAGE))
            continue;
        if (pwrite(fd, start + at, HOST_PAGE, (off_t)(offset + at)) != HOST_PAGE)
            return -ENOMEM;
    }
    return 0;
}

int sim_pages_map_file(void *address, size_t size, int fd, size_t offset, bool usable)
{
    if (mmap(address, size, usable ? PROT_READ | PROT_WRITE : PROT_NONE,
             MAP_SHARED | MAP_FIXED | MAP_NORESERVE, fd, (off_t)offset) == MAP_FAILED)
        return -ENOMEM;
    madvise(address, size, MADV_DONTDUMP);
    return 0;
}

int sim_pages_share(void *address, size_t size, const char *name, int *fd)
{
    int file = sim_pages_file(size, name), error;
    if (file < 0)
        return file;
    error = sim_pages_save(address, size, file, 0);
    if (!error)
        error = sim_pages_map_file(address, size, file, 0, true);
    if (error)
        close(file);
    else
        *fd = file;
    return error;
}
