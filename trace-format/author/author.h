/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The process that writes a trace: how the trace names it, and whether it still runs. Two things
 * tell. The process holds a lock of the open file. Closing another descriptor of the file does not
 * drop it; the kernel drops it with the process. Other containers see it, and other machines if
 * their file system passes locks on. And the process's number and start time identify it.
 */
#ifndef MT_TRACE_AUTHOR_H
#define MT_TRACE_AUTHOR_H

#include <stdbool.h>
#include <stdint.h>

#define MT_AUTHOR_SIZE 64u /* bytes, as in a trace's header */
#define MT_AUTHOR_LOCKED 1u

struct mt_author {
    uint32_t flags;         /* MT_AUTHOR_LOCKED: it has the lock */
    uint32_t pid;           /* in its namespace; 0: the trace does not name its process */
    uint64_t started;       /* clock ticks after the machine's start, as in /proc */
    uint64_t pid_namespace; /* inode of the namespace */
    uint64_t device, inode; /* of the trace: a copy has another inode */
    unsigned char boot[16]; /* of the machine: its id since its last start */
};

enum mt_author_sign {
    MT_AUTHOR_UNSEEN, /* nothing shows whether it runs */
    MT_AUTHOR_GONE,   /* certain: no process writes the trace any more */
    MT_AUTHOR_LIVES,
};

/* Other signs of life of a trace. */
struct mt_author_evidence {
    bool is_locked;        /* by another open file */
    bool is_other;         /* the process replaced itself by another program, or is about to */
    uint64_t last_sign_ns; /* when it last wrote something, by CLOCK_REALTIME; 0: unknown */
    uint64_t device, inode;
};

/* Return the calling process as the author of the trace behind fd, and take the lock. */
void mt_author_sign(struct mt_author *self, int fd);

/* Take the lock of a file: 1, or 0 if that fails. The lock ends when every descriptor and mapping
 * of this open() is gone, in children too. */
int mt_author_lock(int fd);

/* Return whether another open file has this lock, or any other lock of the file. */
bool mt_author_is_locked(int fd);

/* Return whether the author still runs, as far as this machine can tell. */
enum mt_author_sign mt_author_look(const struct mt_author *author,
                                   const struct mt_author_evidence *evidence);

void mt_author_put(unsigned char out[MT_AUTHOR_SIZE], const struct mt_author *author);
void mt_author_get(const unsigned char in[MT_AUTHOR_SIZE], struct mt_author *author);

/*
 * How the process that writes a trace ends, for a process that is not its parent. From Linux 6.15
 * on, the kernel tells this to holders of a descriptor of the process.
 */

/* Return a descriptor of the trace's author, which is close-on-exec, and its number in *pid; -ESRCH
 * if it does not run in the caller's namespace, or another negative errno. */
int mt_author_follow(const char *trace_path, uint32_t *pid);

/* Return 0 and the status as in waitpid, once the parent has waited for the process; -EAGAIN: not
 * yet, or the kernel does not tell. */
int mt_author_end(int process, int *status);

#endif
