/* SPDX-License-Identifier: Apache-2.0 */
#include "locate.h"
#include "tools/memtap/terminal/command.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Relative to the command's folder; the build folder's come first. */
static const char *const shim_places[] = {"../preload", "../" MT_LIBDIR "/memtap", "../lib/memtap",
                                          NULL};
static const char *const simulator_places[] = {
    "../simulator/lib", "../" MT_LIBDIR "/memtap/simulator", "../lib/memtap/simulator", NULL};
static const char *const package_places[] = {"../../python", NULL};
static const char *const page_places[] = {"../page", "../share/memtap", NULL};

/* Find the folder of the running command. */
static int own_folder(char out[PATH_MAX])
{
    ssize_t n = readlink("/proc/self/exe", out, PATH_MAX - 1);
    out[n > 0 ? n : 0] = '\0';
    char *slash = strrchr(out, '/');
    if (!slash)
        return -ENOENT;
    *slash = '\0';
    return 0;
}

/* Find the first place with the file. `out` gets the path of `name` there, or in the last place. */
static int locate(char out[MT_PLACE_SIZE], const char *const *places, const char *file,
                  const char *name)
{
    char folder[PATH_MAX], path[MT_PLACE_SIZE], real[PATH_MAX];
    *out = '\0';
    if (own_folder(folder))
        return -ENOENT;
    for (; *places; places++) {
        snprintf(out, MT_PLACE_SIZE, "%s/%s/%s", folder, *places, name);
        snprintf(path, sizeof path, "%s/%s/%s", folder, *places, file);
        if (access(path, R_OK) || !realpath(out, real))
            continue;
        snprintf(out, MT_PLACE_SIZE, "%s", real);
        return 0;
    }
    return -ENOENT;
}

int mt_locate_shim(char out[MT_PLACE_SIZE])
{
    int rc = locate(out, shim_places, "libmemtap.so", "libmemtap.so");
    if (!rc && mt_match_machine(out) == 1)
        return 0;
    return mt_fail("%s: the recording library is %s; build or install it", out,
                   rc ? "missing" : "built for another machine");
}

/* Locate the simulator by libcuda.so.1, which may be a link to another folder. */
int mt_locate_simulator(char out[MT_PLACE_SIZE])
{
    return locate(out, simulator_places, "libcuda.so.1", "");
}

int mt_locate_page(char out[MT_PLACE_SIZE])
{
    return locate(out, page_places, "memtap.html", "memtap.html");
}

int mt_locate_package(char out[MT_PLACE_SIZE])
{
    return locate(out, package_places, "memtap/fleet/command.py", "");
}

/* The fields at the same offsets in 32-bit and 64-bit headers. */
struct head {
    unsigned char ident[EI_NIDENT];
    Elf64_Half type, machine;
};

static bool read_head(const char *path, struct head *head)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    ssize_t n = fd < 0 ? -1 : read(fd, head, sizeof *head);
    if (fd >= 0)
        close(fd);
    return n == sizeof *head && !memcmp(head->ident, ELFMAG, SELFMAG);
}

/* Find the path of a program's loader. */
static bool read_loader(int fd, char loader[256])
{
    Elf64_Ehdr head;
    Elf64_Phdr part;
    if (pread(fd, &head, sizeof head, 0) != sizeof head || memcmp(head.e_ident, ELFMAG, SELFMAG) ||
        head.e_ident[EI_CLASS] != ELFCLASS64)
        return false;
    for (unsigned i = 0; i < head.e_phnum; i++) {
        off_t at = (off_t)(head.e_phoff + i * sizeof part);
        if (pread(fd, &part, sizeof part, at) != sizeof part)
            return false;
        if (part.p_type == PT_INTERP && part.p_filesz && part.p_filesz < 256) {
            memset(loader, 0, 256);
            return pread(fd, loader, part.p_filesz, (off_t)part.p_offset) > 0;
        }
    }
    return false;
}

bool mt_is_of_musl(const char *path)
{
    char loader[256];
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    bool is_read = fd >= 0 && read_loader(fd, loader);
    if (fd >= 0)
        close(fd);
    return is_read && strstr(loader, "/ld-musl-");
}

int mt_match_machine(const char *path)
{
    struct head own, other;
    if (!read_head(path, &other) || !read_head("/proc/self/exe", &own))
        return -1;
    return other.machine == own.machine && other.ident[EI_CLASS] == own.ident[EI_CLASS] &&
           other.ident[EI_DATA] == own.ident[EI_DATA];
}
