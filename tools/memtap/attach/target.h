/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A running process into which memtap attach loads its library, seen from outside.
 */
#ifndef MT_TARGET_H
#define MT_TARGET_H

#include <elfutils/libdwfl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/user.h>

struct mt_target_range {
    uint64_t start, end;
};

struct mt_target_function {
    uint64_t start, end;
    const char *name;
};

struct mt_target {
    pid_t pid;
    Dwfl *dwfl;
    struct mt_target_range c_library, loader;
    struct mt_target_function *functions; /* of the C library, by address */
    size_t n_functions, capacity;
    uint64_t dlopen, swab, restorer; /* addresses; restorer: calls rt_sigreturn */
    uint64_t state;                  /* of the loader: its r_debug; 0: unknown */
    uint64_t serve;                  /* memtap_attach_serve; 0: not loaded yet */
    int64_t errno_at;                /* from the thread's pointer; 0: unknown */
    bool has_memtap;                 /* libmemtap.so is loaded */
    bool has_own_malloc;             /* or may have: not the C library's */
};

/* Return whether a process runs: it exists and is not a zombie. */
bool mt_target_is_there(pid_t pid);

/* Return whether the process maps a file whose path contains this. */
bool mt_target_maps(pid_t pid, const char *part);

/* Check that memtap may and can attach to the process. Return 0, or MT_EXIT_BAD after a message. */
int mt_target_check(pid_t pid);

/* Read the process's images. Return 0, or MT_EXIT_BAD after a message. Close it in any case. */
int mt_target_open(struct mt_target *target, pid_t pid);
void mt_target_close(struct mt_target *target);

/* Read the process's memory. Return 0 or -EFAULT. */
int mt_target_read(pid_t pid, uint64_t address, void *out, size_t size);

/* Return whether a stopped thread of these registers may call dlopen now: neither the loader nor
 * the allocator is on its stack, nor anything else of the C library but a function that waits. */
bool mt_target_may_call(struct mt_target *target, pid_t thread,
                        const struct user_regs_struct *registers, bool is_waiting);

#endif
