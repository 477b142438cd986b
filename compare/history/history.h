/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The history of a program's runs: each run's digest with its commit. Functions that return an int
 * return 0, or -1 with the reason in store->error.
 */
#ifndef MT_HISTORY_H
#define MT_HISTORY_H

#include "analyzer/support/text.h"
#include "analyzer/trace/ended.h"
#include "compare/digest/digest.h"
#include "store.h"
#include "trace-copy.h"

#include <limits.h>
#include <stdbool.h>

/* The texts of a run: T(enumerator, name, column). */
/* clang-format off */
#define MT_RUN_TEXTS(T)                                                                            \
    T(PROGRAM, "program", "program")                                                               \
    T(COMMAND, "command", "command")                                                               \
    T(HOST, "host", "host")                                                                        \
    T(COMMIT, "commit", "commit_id")                                                               \
    T(BRANCH, "branch", "branch")                                                                  \
    T(DEVICE, "device", "device")                                                                  \
    T(ALLOCATOR, "allocator", "allocator")                                                         \
    T(TORCH, "torch", "torch")                                                                     \
    T(CUDA, "cuda", "cuda")                                                                        \
    T(PYTHON, "python", "python")                                                                  \
    T(MEMTAP, "memtap", "memtap")
/* clang-format on */

enum mt_run_text {
#define MT_RUN_ENUM(id, name, column) MT_RUN_##id,
    MT_RUN_TEXTS(MT_RUN_ENUM)
#undef MT_RUN_ENUM
        MT_RUN_TEXT_COUNT
};
extern const char *const mt_run_text_names[MT_RUN_TEXT_COUNT];

/* The series of runs: peak, reserved memory, and the categories. */
enum {
    MT_SERIES_PEAK,
    MT_SERIES_RESERVED,
    MT_SERIES_CATEGORY,
    MT_SERIES_ROOM = 2 + MT_CATEGORY_ROOM
};

/* Return the current number of series. Reading runs adds their custom categories. */
unsigned mt_series_count(void);

struct mt_series_name {
    const char *name, *label;
};
struct mt_series_name mt_series(unsigned series);

/* Each figure is the highest of all ranks and devices. */
struct mt_run {
    int64_t id;
    uint64_t started_unix_ns, length_ns, events, lost;
    char *text[MT_RUN_TEXT_COUNT]; /* "": unknown */
    char *tags;                    /* "nightly, release" */
    long world_size;               /* -1: not known */
    size_t n_traces;
    /* How it ended, as mt_ended_name and mt_ended_text: of its first trace that ran out of memory,
     * or else its first incomplete one. "": unknown, added by an older memtap. */
    char *ended, *ended_text;
    bool complete;   /* all of its recordings were closed */
    bool has_memory; /* else no memory was allocated */
    uint64_t bytes[MT_SERIES_ROOM];
    uint64_t most_in_phase[MT_PHASE_COUNT];
    uint64_t growth; /* per iteration */
};

struct mt_runs {
    struct mt_run *run; /* in the order of their starts */
    size_t n;
};

/* A filter of runs; NULL and 0: any. */
struct mt_run_filter {
    const char *branch, *tag;
    const char *program; /* its path, or the last part of it */
    uint64_t since_unix_ns;
    uint64_t last; /* only this many of the newest; 0: all */
    int64_t id;
    mt_allowed_ends allowed; /* trend */
};

int mt_history_runs(struct mt_store *store, const struct mt_run_filter *filter,
                    struct mt_runs *runs);
void mt_run_clear(struct mt_run *run);
void mt_runs_clear(struct mt_runs *runs);

/* Return whether a run can be compared: it is complete or has an allowed end, and lost no events.
 */
bool mt_run_is_good(const struct mt_run *run, mt_allowed_ends allowed);

/* Return the program's name, without folders. */
const char *mt_run_program(const struct mt_run *run);

/* Return the label of a series or category, or the name itself if it is neither. */
const char *mt_series_label(const char *name);

/* Return the certainty of a series' category in a run, the lowest of all ranks. */
enum mt_certainty mt_series_certainty(struct mt_store *store, const struct mt_run *run,
                                      unsigned series);

/* Write a date and time, local time: "2026-11-20 03:12". Returns out. */
#define MT_DATE_TEXT 32
const char *mt_date_text(char out[MT_DATE_TEXT], uint64_t unix_ns);

struct mt_new_trace {
    struct mt_digest digest;
    char path[PATH_MAX]; /* absolute */
    char checksum[MT_CHECKSUM_TEXT];
    uint64_t size;
    bool is_kept; /* path is a copy owned by the history */
    const char *commit, *branch;
    const char *const *tag; /* terminated by NULL */
};

/* Return the run of a trace with this checksum; 0: none. */
int64_t mt_history_find(struct mt_store *store, const char *checksum);

/*
 * Add a trace as a run, or to the run of its job: one of the same program, commit and world size
 * that began at about the same time and lacks this rank. Replace a trace of the same process that
 * was added while it was running, or before it was recovered. The change is atomic. *run gets the
 * run; *is_new is false if the trace already existed; gone (NULL, or initially empty) gets the path
 * of the replaced trace's copy, which the caller removes.
 */
int mt_history_add(struct mt_store *store, const struct mt_new_trace *trace, int64_t *run,
                   bool *is_new, char gone[PATH_MAX]);

/* Forget runs, then call kept for each file that was kept for them. */
typedef void mt_kept_file(void *user, const char *path);
int mt_history_forget(struct mt_store *store, const struct mt_runs *runs, mt_kept_file *kept,
                      void *user);

/* Print list and show. The JSON functions (schemas memtap.runs/1 and memtap.run/1) return 0,
 * -ENOMEM or -EIO. */
void mt_runs_text(const struct mt_runs *runs, FILE *out, const struct mt_style *style);
int mt_runs_json(const struct mt_runs *runs, FILE *out);
int mt_run_text(struct mt_store *store, const struct mt_run *run, FILE *out,
                const struct mt_style *style);
int mt_run_json(struct mt_store *store, const struct mt_run *run, FILE *out);

#endif
