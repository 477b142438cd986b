/* SPDX-License-Identifier: Apache-2.0 */
/* cuFile: copies between files and device memory. Reads follow the rule for copies to a device. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/memory/content.h"

/* Two codes in one register: cuFile's own, from 5001, and the driver's. */
enum { SUCCESS = 0, INVALID_VALUE = 5022, INTERNAL = 5030, BY_DESCRIPTOR = 1 };
enum { CHUNK = 1 << 20 };

struct description {
    int type;
    union {
        int descriptor;
        void *handle;
    };
    const void *operations;
};

struct file {
    int descriptor;
};

/* Open the file again, through the host's cache: otherwise reads would have to be whole blocks. */
static int open_again(int descriptor)
{
    char name[32];
    int flags = fcntl(descriptor, F_GETFL);
    if (flags < 0)
        return -1;
    sprintf(name, "/proc/self/fd/%d", descriptor);
    return open(name, (flags & O_ACCMODE) | O_CLOEXEC);
}

int64_t cuFileHandleRegister(struct file **out, const struct description *description)
{
    if (!out || !description || description->type != BY_DESCRIPTOR)
        return INVALID_VALUE;
    int descriptor = open_again(description->descriptor);
    if (descriptor < 0)
        return INVALID_VALUE;
    *out = malloc(sizeof(**out));
    if (!*out) {
        close(descriptor);
        return INTERNAL;
    }
    (*out)->descriptor = descriptor;
    return SUCCESS;
}

void cuFileHandleDeregister(struct file *file)
{
    close(file->descriptor);
    free(file);
}

/* Return how many bytes the file has from `at` on, at most `size`; -1 and errno. */
static ssize_t available(const struct file *file, size_t size, off_t at)
{
    struct stat status;
    if (fstat(file->descriptor, &status))
        return -1;
    if (at >= status.st_size)
        return 0;
    return (uint64_t)(status.st_size - at) < size ? status.st_size - at : (ssize_t)size;
}

static ssize_t invalid(void)
{
    errno = EINVAL;
    return -1;
}

ssize_t cuFileRead(struct file *file, void *base, size_t size, off_t at, off_t in_device)
{
    size_t part = size < sim_copy_limit() ? size : 0;
    if (!part)
        return available(file, size, at);
    char *bytes = malloc(part);
    if (!bytes)
        return -1;
    ssize_t got = pread(file->descriptor, bytes, part, at);
    if (got > 0 && sim_copy((char *)base + in_device, (size_t)got, bytes, (size_t)got, (size_t)got,
                            1, SIM_HOST_TO_DEVICE))
        got = invalid();
    free(bytes);
    return got;
}

static ssize_t write_chunk(const struct file *file, char *bytes, const char *from, size_t size,
                           off_t at)
{
    if (sim_copy(bytes, size, from, size, size, 1, SIM_DEVICE_TO_HOST))
        return invalid();
    return pwrite(file->descriptor, bytes, size, at);
}

ssize_t cuFileWrite(struct file *file, const void *base, size_t size, off_t at, off_t in_device)
{
    const char *from = (const char *)base + in_device;
    char *bytes = malloc(CHUNK);
    ssize_t wrote = bytes ? 0 : -1;
    size_t done = 0;
    while (done < size && wrote >= 0) {
        size_t part = size - done < CHUNK ? size - done : CHUNK;
        wrote = write_chunk(file, bytes, from + done, part, at + (off_t)done);
        if (wrote == 0)
            break;
        done += wrote > 0 ? (size_t)wrote : 0;
    }
    free(bytes);
    return wrote < 0 ? -1 : (ssize_t)done;
}
