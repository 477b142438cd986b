/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel's data about processes, for author.c and author-check.c. */
#ifndef MT_TRACE_AUTHOR_STAT_H
#define MT_TRACE_AUTHOR_STAT_H

#include <stddef.h>
#include <stdint.h>

struct mt_author_stat {
    char state;       /* 'Z': it is dead, or its first thread is */
    uint64_t threads; /* of the process */
    uint64_t started;
};

/* Read a /proc/PID/stat file. Return 0, or -1 if it cannot be read. */
int mt_author_stat(const char *path, struct mt_author_stat *out);

/* Read up to size - 1 bytes of a file and terminate them. Return their number. */
size_t mt_author_read(const char *path, char *text, size_t size);

/* Write this machine's boot id, zeros if unknown. */
void mt_author_boot(unsigned char boot[16]);

/* Return this process's PID namespace, 0 if unknown. */
uint64_t mt_author_namespace(void);

#endif
