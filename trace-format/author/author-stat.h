/* SPDX-License-Identifier: Apache-2.0 */
/* What the kernel says of processes, for author.c and author-look.c. */
#ifndef MT_TRACE_AUTHOR_STAT_H
#define MT_TRACE_AUTHOR_STAT_H

#include <stddef.h>
#include <stdint.h>

struct mt_author_stat {
    char state;       /* 'Z': it is dead, or its first thread is */
    uint64_t threads; /* that it has */
    uint64_t started;
};

/* Of a /proc/PID/stat: 0, or -1 where it cannot be read. */
int mt_author_stat(const char *path, struct mt_author_stat *out);

/* Reads up to size - 1 bytes of a file, and ends them with a zero: how many. */
size_t mt_author_read(const char *path, char *text, size_t size);

/* Of this machine; zeros: not known. */
void mt_author_boot(unsigned char boot[16]);

/* Of this process; 0: not known. */
uint64_t mt_author_namespace(void);

#endif
