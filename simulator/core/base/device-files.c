/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs check for a card by its driver's device files: JAX does so before it loads any CUDA
 * library. A query about such a file is answered as for /dev/null. The files cannot be opened,
 * since all access to them goes through the driver's library.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base.h"

/* Answer by their names in the library: headers give one the other's. The last two are what
 * programs call that were linked before glibc 2.33. */
SIM_API int sim_stat(const char *path, struct stat *out) __asm__("stat");
SIM_API int sim_stat64(const char *path, struct stat *out) __asm__("stat64");
SIM_API int sim_xstat(int version, const char *path, struct stat *out) __asm__("__xstat");
SIM_API int sim_xstat64(int version, const char *path, struct stat *out) __asm__("__xstat64");

/* Return whether the machine whose device is simulated would have the file. */
static bool is_device_file(const char *path)
{
    static const char begin[] = "/dev/nvidia";
    const char *rest = path + sizeof(begin) - 1;
    if (!path || strncmp(path, begin, sizeof(begin) - 1))
        return false;
    if (!strcmp(rest, "ctl") || !strcmp(rest, "-uvm"))
        return true;
    return *rest >= '0' && *rest <= '9' && !rest[1] &&
           (uint64_t)(*rest - '0') < sim_environment("CUDASIM_GPUS", 1);
}

static int status_of(const char *path, struct stat *out)
{
    int saved = errno, result = fstatat(AT_FDCWD, path, out, 0);
    sim_note_probed_file(path, !result || errno != ENOENT);
    if (!result || errno != ENOENT || !is_device_file(path))
        return result;
    errno = saved;
    return fstatat(AT_FDCWD, "/dev/null", out, 0);
}

int sim_stat(const char *path, struct stat *out)
{
    return status_of(path, out);
}

int sim_stat64(const char *path, struct stat *out)
{
    return status_of(path, out);
}

int sim_xstat(int version, const char *path, struct stat *out)
{
    (void)version; /* one on machines of 64 bits */
    return status_of(path, out);
}

int sim_xstat64(int version, const char *path, struct stat *out)
{
    return sim_xstat(version, path, out);
}

SIM_API int access(const char *path, int mode)
{
    int saved = errno, result = faccessat(AT_FDCWD, path, mode, 0);
    sim_note_probed_file(path, !result || errno != ENOENT);
    if (!result || errno != ENOENT || !is_device_file(path))
        return result;
    errno = saved;
    return faccessat(AT_FDCWD, "/dev/null", mode, 0);
}
