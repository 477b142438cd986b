/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The process that writes a trace: how it says in the trace who it is, and whether it still lives.
 * Two things tell. It holds a lock of the open file (not of the process: closing another descriptor
 * of the file does not drop that one), which the kernel drops with the process and which other
 * containers and, as far as they pass locks on, other machines see. And it is found by its number
 * and the time it was started.
 */
#ifndef MT_TRACE_AUTHOR_H
#define MT_TRACE_AUTHOR_H

#include <stdint.h>

#define MT_AUTHOR_SIZE 64u /* bytes, as in a trace's header */
#define MT_AUTHOR_LOCKED 1u

struct mt_author {
    uint32_t flags;         /* MT_AUTHOR_LOCKED: it has the lock */
    uint32_t pid;           /* in its namespace; 0: nobody has said who it is */
    uint64_t started;       /* ticks of the clock since the machine was, as /proc has it */
    uint64_t pid_namespace; /* inode of the namespace */
    uint64_t device, inode; /* of the trace: a copy has another inode */
    unsigned char boot[16]; /* the machine, since it was started */
};

enum mt_author_sign {
    MT_AUTHOR_UNSEEN, /* nothing shows that it lives, and nothing that it does not */
    MT_AUTHOR_GONE,   /* certain: nobody writes the trace any more */
    MT_AUTHOR_LIVES,
};

/* What else is seen of a trace. */
struct mt_author_evidence {
    int is_locked;         /* by another open file */
    int is_other;          /* the process has become another program, or is about to */
    uint64_t last_sign_ns; /* when it wrote something last, by CLOCK_REALTIME; 0: not known */
    uint64_t device, inode;
};

/* The calling process, which makes the trace that fd is open for, and takes the lock. */
void mt_author_sign(struct mt_author *self, int fd);

/* Takes the lock of a file; 1, or 0 where that cannot be had. It goes when all that came of this
 * open() is closed and unmapped, in children too. */
int mt_author_lock(int fd);

/* Whether another open file has the lock, or any other of the file. */
int mt_author_is_locked(int fd);

/* Whether the author lives, as seen from here. */
enum mt_author_sign mt_author_look(const struct mt_author *author,
                                   const struct mt_author_evidence *evidence);

void mt_author_put(unsigned char out[MT_AUTHOR_SIZE], const struct mt_author *author);
void mt_author_get(const unsigned char in[MT_AUTHOR_SIZE], struct mt_author *author);

#endif
