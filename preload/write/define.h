/* SPDX-License-Identifier: Apache-2.0 */
/* Write definitions: the meanings of events' ids, threads, and facts about the run. */
#ifndef MT_WRITE_DEFINE_H
#define MT_WRITE_DEFINE_H

#include "preload/record/intern.h"
#include "trace-format/tail.h"

#include <stddef.h>
#include <stdint.h>

struct mt_known_thread {
    uint32_t id, os_thread;
    char name[MT_THREAD_NAME_SIZE];
};

/* What the file has. Initialize with zeros. */
struct mt_defined {
    struct mt_intern_position known;
    struct mt_known_thread *threads; /* NULL: they are not needed again */
    size_t n_threads, threads_capacity;
    char left_out[128]; /* as in the trace */
    uint32_t n_loops;   /* lines whose loops were sought */
};

/* Define everything that the events collected so far refer to. */
void mt_writer_define(void);
void mt_writer_define_info(void *unused, const char *text, size_t size);
void mt_writer_define_late_info(void *unused, const char *text, size_t size);

/* Define everything again, for a new segment. */
void mt_writer_define_again(void);

#endif
