/* SPDX-License-Identifier: Apache-2.0 */
/* Runs programs under the shim, each in a fresh directory, and reads what they leave. */
#ifndef MT_TESTS_SHIM_HARNESS_H
#define MT_TESTS_SHIM_HARNESS_H

#include "trace-format/reader.h"
#include <check.h>
#include <stdbool.h>
#include <sys/wait.h>

/* A result of run(): files are the directory's, sorted by name. */
struct outcome {
    int status;        /* of waitpid */
    char errors[8192]; /* stderr */
    char output[8192]; /* stdout */
    int n_files;
    char file[16][256]; /* names */
    char directory[256];
};

/* Runs argv[0] (from the test's build folder, or an absolute path) in a new directory with the shim
 * preloaded; environment: "NAME=value" texts, NULL at the end. */
struct outcome run(const char *const *argv, const char *const *environment);

/* As run, but the program is killed by SIGKILL: so long after it was started, or after it, which is
 * alloc-threads then with ALLOC_COUNTS=counts, has counted so many calls. */
struct outcome run_and_kill(const char *const *argv, const char *const *environment,
                            uint64_t after_calls, unsigned after_us);

/* What alloc-threads has counted in ALLOC_COUNTS=counts; zeros: nothing yet. */
struct tally {
    uint64_t of[64][2]; /* mallocs and frees that had returned */
    uint64_t sum;
};

struct tally read_tally(const struct outcome *outcome);

struct counts {
    uint64_t kind[MT_KIND_LIMIT];
    uint64_t lost;
    int is_complete; /* there is an end block, and nothing is wrong before it */
    enum mt_trace_state state;
    struct {
        uint64_t mallocs, frees; /* of alloc-threads */
        uint64_t turns;          /* that it has come to */
    } thread[64];
    int is_ordered; /* each thread's alloc-threads turns count up ... */
    int is_gapless; /* ... by one, from the first that is there */
    uint64_t definitions[MT_DEF_LIMIT];
};

/* Reads a trace of the outcome's directory; fails the test where it is no trace. */
struct counts read_counts(const struct outcome *outcome, const char *file);

void remove_outcome(const struct outcome *outcome);

#define ARGS(...)                                                                                  \
    (const char *const[])                                                                          \
    {                                                                                              \
        __VA_ARGS__, NULL                                                                          \
    }
#define QUIET ARGS("MEMTAP_QUIET=1")

/* Cannot be preloaded into programs without, and holds forks up while libraries load. */
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define IS_SANITIZED 1
#else
#define IS_SANITIZED 0
#endif

static inline bool ended_with(const struct outcome *outcome, int code)
{
    return WIFEXITED(outcome->status) && WEXITSTATUS(outcome->status) == code;
}

/* The trace is complete, and has so many allocations. Ends with the outcome. */
static inline void has_complete_trace(struct outcome *outcome, uint64_t mallocs)
{
    struct counts c = read_counts(outcome, outcome->file[0]);
    ck_assert(c.is_complete);
    ck_assert_uint_eq(c.kind[MT_CUDA_MALLOC], mallocs);
    remove_outcome(outcome);
}

#endif
