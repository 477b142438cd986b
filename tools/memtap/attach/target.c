/* SPDX-License-Identifier: Apache-2.0 */
#include "target.h"
#include "analyzer/support/grow.h"
#include "tools/memtap/launch/locate.h"
#include "tools/memtap/terminal/command.h"

#include <errno.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#define LOADER_LOOKS 300u
#define LOADER_LOOK_US 1000

/* --- checks ---------------------------------------------------------------------------------- */

/* Read a line of /proc/PID/status; "" if there is none. */
static void status_of(pid_t pid, const char *name, char out[128])
{
    char path[64], line[256];
    snprintf(path, sizeof path, "/proc/%d/status", pid);
    FILE *file = fopen(path, "re");
    size_t length = strlen(name);
    *out = '\0';
    while (file && fgets(line, sizeof line, file))
        if (!strncmp(line, name, length) && line[length] == ':')
            snprintf(out, 128, "%.100s", line + length + 1 + strspn(line + length + 1, " \t"));
    if (file)
        fclose(file);
}

static long number_of(pid_t pid, const char *name)
{
    char text[128];
    status_of(pid, name, text);
    return strtol(text, NULL, 10);
}

/* Return whether both processes have the same namespace of this kind; true if it is unknown. */
static bool shares(pid_t pid, const char *kind)
{
    char path[64];
    struct stat own, other;
    snprintf(path, sizeof path, "/proc/%d/ns/%s", pid, kind);
    if (stat(path, &other))
        return errno != EACCES;
    snprintf(path, sizeof path, "/proc/self/ns/%s", kind);
    return stat(path, &own) || (own.st_ino == other.st_ino && own.st_dev == other.st_dev);
}

static bool shares_root(pid_t pid)
{
    char path[64];
    struct stat own, other;
    snprintf(path, sizeof path, "/proc/%d/root", pid);
    return stat(path, &other) || stat("/", &own) ||
           (own.st_ino == other.st_ino && own.st_dev == other.st_dev);
}

static int check_owner(pid_t pid)
{
    char ids[128], path[64];
    long real, effective, saved;
    status_of(pid, "Uid", ids);
    if (sscanf(ids, "%ld %ld %ld", &real, &effective, &saved) != 3)
        return mt_fail("process %d has ended", pid);
    snprintf(path, sizeof path, "/proc/%d/maps", pid);
    if (real != effective || real != saved)
        return mt_fail("process %d runs with another user's rights (setuid)", pid);
    if (access(path, R_OK) || ((uid_t)real != geteuid() && geteuid()))
        return mt_fail("process %d belongs to another user; only that user can attach to it", pid);
    return MT_EXIT_OK;
}

bool mt_target_is_there(pid_t pid)
{
    char state[128], path[64];
    status_of(pid, "State", state);
    if (!*state || *state == 'Z' || *state == 'X')
        return false;
    snprintf(path, sizeof path, "/proc/%d/exe", pid); /* gone before it is a zombie */
    return readlink(path, state, sizeof state) >= 0 || errno != ENOENT;
}

bool mt_target_maps(pid_t pid, const char *part)
{
    char path[64], *line = NULL;
    size_t room = 0;
    bool found = false;
    snprintf(path, sizeof path, "/proc/%d/maps", pid);
    FILE *file = fopen(path, "re");
    while (file && !found && getline(&line, &room, file) > 0)
        found = strstr(line, part);
    free(line);
    if (file)
        fclose(file);
    return found;
}

int mt_target_check(pid_t pid)
{
    char state[128], path[64];
    status_of(pid, "State", state);
    if (!*state)
        return mt_fail("%d: no such process", pid);
    if (*state == 'Z' || *state == 'X')
        return mt_fail("process %d has ended", pid);
    int code = check_owner(pid);
    if (code)
        return code;
    if (number_of(pid, "TracerPid")) /* which may have stopped it */
        return mt_fail("process %d is traced by process %ld, such as a debugger; end that first",
                       pid, number_of(pid, "TracerPid"));
    if (*state == 'T' || *state == 't')
        return mt_fail("process %d is stopped; let it continue first (kill -CONT %d)", pid, pid);
    snprintf(path, sizeof path, "/proc/%d/exe", pid);
    if (readlink(path, state, sizeof state) < 0 && errno == ENOENT)
        return mt_fail("process %d is a thread of the kernel, or has ended", pid);
    if (!shares(pid, "pid") || !shares(pid, "mnt") || !shares_root(pid))
        return mt_fail("process %d runs in a container; run memtap attach there; see man "
                       "memtap-attach",
                       pid);
    if (number_of(pid, "Seccomp") == 1 ||
        number_of(pid, "Seccomp_filters") > number_of(getpid(), "Seccomp_filters"))
        return mt_fail("process %d restricts its system calls (seccomp)", pid);
    snprintf(path, sizeof path, "/proc/%d/exe", pid);
    if (mt_match_machine(path) != 1)
        return mt_fail("process %d runs a program for another machine type", pid);
    return MT_EXIT_OK;
}

/* --- images ---------------------------------------------------------------------------------- */

int mt_target_read(pid_t pid, uint64_t address, void *out, size_t size)
{
    struct iovec here = {out, size}, there = {(void *)(uintptr_t)address, size};
    return process_vm_readv(pid, &here, 1, &there, 1, 0) == (ssize_t)size ? 0 : -EFAULT;
}

static int no_debug_information(Dwfl_Module *module, void **data, const char *name, Dwarf_Addr base,
                                const char *file, const char *link, GElf_Word sum, char **found)
{
    (void)module, (void)data, (void)name, (void)base;
    (void)file, (void)link, (void)sum, (void)found;
    return -1;
}

static const Dwfl_Callbacks callbacks = {.find_elf = dwfl_linux_proc_find_elf,
                                         .find_debuginfo = no_debug_information};

static const char *file_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* Return the address of a function that a module defines; 0: none. */
static uint64_t address_of(Dwfl_Module *module, const char *name)
{
    int n = dwfl_module_getsymtab(module);
    for (int i = 1; i < n; i++) {
        GElf_Sym symbol;
        GElf_Addr address;
        GElf_Word section;
        const char *found =
            dwfl_module_getsym_info(module, i, &symbol, &address, &section, NULL, NULL);
        if (found && section != SHN_UNDEF && symbol.st_value && !strcmp(found, name))
            return address;
    }
    return 0;
}

static int by_address(const void *a, const void *b)
{
    const struct mt_target_function *x = a, *y = b;
    return x->start < y->start ? -1 : x->start > y->start;
}

static int read_functions(struct mt_target *target, Dwfl_Module *module)
{
    int n = dwfl_module_getsymtab(module);
    for (int i = 1; i < n; i++) {
        GElf_Sym symbol;
        GElf_Addr address;
        GElf_Word section;
        const char *name =
            dwfl_module_getsym_info(module, i, &symbol, &address, &section, NULL, NULL);
        if (!name || section == SHN_UNDEF || !symbol.st_size ||
            GELF_ST_TYPE(symbol.st_info) != STT_FUNC)
            continue;
        if (MT_GROW(target->functions, target->capacity, target->n_functions))
            return -ENOMEM;
        target->functions[target->n_functions++] =
            (struct mt_target_function){address, address + symbol.st_size, name};
    }
    qsort(target->functions, target->n_functions, sizeof *target->functions, by_address);
    return 0;
}

static int read_module(Dwfl_Module *module, void **data, const char *path, Dwarf_Addr start,
                       void *out)
{
    struct mt_target *target = out;
    const char *name = file_name(path);
    Dwarf_Addr end;
    uint64_t found;
    (void)data;
    dwfl_module_eh_cfi(module, &(Dwarf_Addr){0}); /* not while a thread is stopped */
    dwfl_module_info(module, NULL, NULL, &end, NULL, NULL, NULL, NULL);
    if (!strcmp(name, "libc.so.6")) {
        target->c_library = (struct mt_target_range){start, end};
        target->swab = address_of(module, "swab");
        if (read_functions(target, module))
            return DWARF_CB_ABORT;
    }
    if (!strcmp(name, "libc.so.6") || !strcmp(name, "libdl.so.2")) {
        found = address_of(module, "dlopen");
        target->dlopen = found ? found : target->dlopen;
    }
    if (!strncmp(name, "ld-linux", 8))
        target->loader = (struct mt_target_range){start, end},
        target->state = address_of(module, "_r_debug");
    if (!strcmp(name, "libmemtap.so"))
        target->has_memtap = true;
    if (!strcmp(name, "libmemtap-attach.so"))
        target->serve = address_of(module, "memtap_attach_serve");
    return DWARF_CB_OK;
}

static const unsigned char sigreturn[] = {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05};

/* Find the instructions to which the kernel lets signal handlers return. */
static uint64_t find_restorer(const struct mt_target *target)
{
    size_t size = target->c_library.end - target->c_library.start;
    unsigned char page[4096 + sizeof sigreturn];
    for (size_t at = 0; at < size; at += 4096) {
        if (mt_target_read(target->pid, target->c_library.start + at, page, sizeof page) &&
            mt_target_read(target->pid, target->c_library.start + at, page, 4096))
            continue;
        for (size_t i = 0; i < 4096; i++)
            if (!memcmp(page + i, sigreturn, sizeof sigreturn))
                return target->c_library.start + at + i;
    }
    return 0;
}

/* Find errno's place from the code of __errno_location:
 * mov offset(%rip), %rax; add %fs:0, %rax; ret. */
static int64_t find_errno(const struct mt_target *target)
{
    static const unsigned char end[] = {0x64, 0x48, 0x03, 0x04, 0x25, 0, 0, 0, 0, 0xc3};
    static const unsigned char branch[] = {0xf3, 0x0f, 0x1e, 0xfa}; /* endbr64 */
    unsigned char code[32];
    int32_t offset;
    int64_t result = 0;
    uint64_t at = 0;
    for (size_t i = 0; i < target->n_functions; i++)
        if (!strcmp(target->functions[i].name, "__errno_location"))
            at = target->functions[i].start;
    if (!at || mt_target_read(target->pid, at, code, sizeof code))
        return 0;
    size_t i = memcmp(code, branch, sizeof branch) ? 0 : sizeof branch;
    if (memcmp(code + i, "\x48\x8b\x05", 3) || memcmp(code + i + 7, end, sizeof end))
        return 0;
    memcpy(&offset, code + i + 3, sizeof offset);
    if (mt_target_read(target->pid, at + i + 7 + (uint64_t)(int64_t)offset, &result, sizeof result))
        return 0;
    return result;
}

/* Return whether the loader stays in the middle of its work: a child was forked then, and the next
 * dlopen would end it. */
static bool is_loader_broken(const struct mt_target *target)
{
    struct r_debug state;
    for (unsigned i = 0; i < LOADER_LOOKS; i++) {
        if (!target->state || mt_target_read(target->pid, target->state, &state, sizeof state) ||
            state.r_state == RT_CONSISTENT)
            return false;
        usleep(LOADER_LOOK_US);
    }
    return true;
}

/* Return whether the program's allocator may be another than the C library's: of an image that the
 * loader searches before it. */
static bool has_own_malloc(const struct mt_target *target)
{
    struct r_debug state;
    struct link_map image;
    if (!target->state || mt_target_read(target->pid, target->state, &state, sizeof state))
        return true;
    for (uint64_t at = (uint64_t)(uintptr_t)state.r_map; at;
         at = (uint64_t)(uintptr_t)image.l_next) {
        if (mt_target_read(target->pid, at, &image, sizeof image))
            return true;
        uint64_t place = (uint64_t)(uintptr_t)image.l_ld;
        Dwfl_Module *module = dwfl_addrmodule(target->dwfl, place);
        if (place >= target->c_library.start && place < target->c_library.end)
            return false;
        if (module && address_of(module, "malloc"))
            return true;
    }
    return true;
}

/* Read the images. Return NULL, or why memtap cannot attach. */
static const char *read_images(struct mt_target *target)
{
    target->dwfl = dwfl_begin(&callbacks);
    if (!target->dwfl || dwfl_linux_proc_report(target->dwfl, target->pid) ||
        dwfl_report_end(target->dwfl, NULL, NULL))
        return "has images that cannot be read";
    dwfl_getmodules(target->dwfl, read_module, target, 0);
    if (!target->c_library.start || !target->dlopen)
        return "runs without glibc's loader (statically linked, or musl)";
    target->has_own_malloc = has_own_malloc(target);
    target->restorer = find_restorer(target);
    target->errno_at = target->swab ? find_errno(target) : 0;
    if (is_loader_broken(target))
        return "was forked while another thread loaded a library; it cannot load one";
    return target->restorer ? NULL : "runs a C library that memtap does not know";
}

int mt_target_open(struct mt_target *target, pid_t pid)
{
    *target = (struct mt_target){.pid = pid};
    const char *problem = read_images(target);
    if (!problem)
        return MT_EXIT_OK;
    return mt_fail("process %d %s", pid, mt_target_is_there(pid) ? problem : "has ended");
}

void mt_target_close(struct mt_target *target)
{
    if (target->dwfl)
        dwfl_end(target->dwfl);
    free(target->functions);
}
