/* SPDX-License-Identifier: Apache-2.0 */
/* Nsight Systems' SQLite export (nsys export --type sqlite), row by row. */
#ifndef MT_JOIN_NSIGHT_H
#define MT_JOIN_NSIGHT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum mt_nsight_kind {
    MT_NSIGHT_KERNEL,
    MT_NSIGHT_COPY,
    MT_NSIGHT_SET,
    MT_NSIGHT_GRAPH,
    MT_NSIGHT_CALL,  /* of CUDA, on a thread */
    MT_NSIGHT_RANGE, /* pushed and popped by one thread */
    MT_NSIGHT_SPAN,  /* started and ended, wherever */
    MT_NSIGHT_MARK,
};

#define MT_NSIGHT_FIELDS 12u

/* A text is valid until the next row. */
struct mt_nsight_row {
    enum mt_nsight_kind kind;
    int64_t start_ns, end_ns; /* as in the file */
    bool has_end;             /* it ended while nsys watched */
    uint64_t global;          /* process and thread, as Nsight writes them in one number */
    int64_t device, stream;
    const char *name;
    struct {
        const char *name, *text; /* text NULL: a number */
        uint64_t number;
    } field[MT_NSIGHT_FIELDS];
    unsigned fields;
};

static inline uint64_t mt_nsight_process(uint64_t global)
{
    return global >> 24;
}

static inline uint32_t mt_nsight_pid(uint64_t global)
{
    return global >> 24 & 0xffffff;
}

static inline uint32_t mt_nsight_tid(uint64_t global)
{
    return global & 0xffffff;
}

struct mt_nsight;

/* Open a file. Return 0, or a negative errno, with a message in error for -EINVAL. Close it in any
 * case. */
int mt_nsight_open(struct mt_nsight **nsight, const char *path, char *error, size_t size);
void mt_nsight_close(struct mt_nsight *nsight);

/* Return the unix time in ns of the file's time 0, or 0 if the file does not have it. */
uint64_t mt_nsight_start(const struct mt_nsight *nsight);

/* Return the name of a process or a thread, or "". Valid until the next call. */
const char *mt_nsight_process_name(struct mt_nsight *nsight, uint64_t global);
const char *mt_nsight_thread_name(struct mt_nsight *nsight, uint64_t global);

/* Call the function for all rows, kind by kind, ordered by start. A nonzero result ends this and is
 * returned; otherwise as mt_nsight_open. */
typedef int mt_nsight_taker(void *data, const struct mt_nsight_row *row);
int mt_nsight_read(struct mt_nsight *nsight, mt_nsight_taker *take, void *data);

#endif
