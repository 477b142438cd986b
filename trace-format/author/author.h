/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The process that writes a trace: its identity in the trace, and whether it still runs. Two things
 * show that. It holds a lock on the open file, which outlives the closing of other descriptors and
 * which the kernel drops with the process; other containers see the lock, and so do other machines
 * if the file system forwards locks. And its process number and start time identify it.
 */
#ifndef MT_TRACE_AUTHOR_H
#define MT_TRACE_AUTHOR_H

#include <stdbool.h>
#include <stdint.h>

#define MT_AUTHOR_SIZE 64u /* bytes, as in a trace's header */
#define MT_AUTHOR_LOCKED 1u

struct mt_author {
    uint32_t flags;         /* MT_AUTHOR_LOCKED: it holds the lock */
    uint32_t pid;           /* in its namespace; 0: the trace does not state its process */
    uint64_t started;       /* clock ticks after boot, as in /proc */
    uint64_t pid_namespace; /* inode of the namespace */
    uint64_t device, inode; /* of the trace: a copy has another inode */
    unsigned char boot[16]; /* the machine's boot id */
};

enum mt_author_sign {
    MT_AUTHOR_UNSEEN, /* nothing shows whether it runs */
    MT_AUTHOR_GONE,   /* certain: no process writes the trace any more */
    MT_AUTHOR_LIVES,
};

/* Other signs that a trace is being written. */
struct mt_author_evidence {
    bool is_locked;        /* by another open file */
    bool is_other;         /* the process executed another program, or is about to */
    uint64_t last_sign_ns; /* when it last wrote something, by CLOCK_REALTIME; 0: unknown */
    uint64_t device, inode;
};

/* Return the calling process as the author of the trace open at fd, and lock the file. */
void mt_author_sign(struct mt_author *self, int fd);

/* Lock a file. Return 1, or 0 if that fails. The lock lasts until every descriptor and mapping of
 * this open() is closed, in children too. */
bool mt_author_lock(int fd);

/* Return whether another open file holds this lock, or any other lock on the file. */
bool mt_author_is_locked(int fd);

/* Return whether the author still runs, as far as this machine can determine. */
enum mt_author_sign mt_author_check(const struct mt_author *author,
                                    const struct mt_author_evidence *evidence);

void mt_author_put(unsigned char out[MT_AUTHOR_SIZE], const struct mt_author *author);
void mt_author_get(const unsigned char in[MT_AUTHOR_SIZE], struct mt_author *author);

/*
 * How the process that writes a trace ends, for a process other than its parent. Linux 6.15 and
 * newer report it to holders of a pidfd.
 */

/* Return a close-on-exec pidfd of the trace's author and its number in *pid; -ESRCH if it does not
 * run in the caller's PID namespace; or another negative errno. */
int mt_author_follow(const char *trace_path, uint32_t *pid);

/* Return 0 and the status as of waitpid once the parent has reaped the process; -EAGAIN if it has
 * not, or the kernel does not report it. */
int mt_author_end(int process, int *status);

#endif
