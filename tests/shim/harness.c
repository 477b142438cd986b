/* SPDX-License-Identifier: Apache-2.0 */
#include "harness.h"

#include <check.h>
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void read_text(const char *directory, const char *name, char *out, size_t size)
{
    char path[600];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    FILE *file = fopen(path, "r");
    size_t n = file ? fread(out, 1, size - 1, file) : 0;
    out[n] = '\0';
    if (file)
        fclose(file);
    unlink(path);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(a, b);
}

static void list_files(struct outcome *outcome)
{
    DIR *directory = opendir(outcome->directory);
    ck_assert_ptr_nonnull(directory);
    for (struct dirent *entry; (entry = readdir(directory));)
        if (entry->d_name[0] != '.' && outcome->n_files < 16)
            snprintf(outcome->file[outcome->n_files++], sizeof outcome->file[0], "%s",
                     entry->d_name);
    closedir(directory);
    qsort(outcome->file, (size_t)outcome->n_files, sizeof outcome->file[0], by_name);
}

static void exec_child(const struct outcome *outcome, const char *program, const char *const *argv,
                       const char *const *environment)
{
    if (chdir(outcome->directory))
        _exit(100);
    int out = open("stdout", O_WRONLY | O_CREAT, 0600),
        err = open("stderr", O_WRONLY | O_CREAT, 0600);
    if (dup2(out, 1) < 0 || dup2(err, 2) < 0)
        _exit(100);
    close(out);
    close(err);
    /* What a forked child cannot free of its parent's is no leak. */
    setenv("LSAN_OPTIONS", "detect_leaks=0", 1);
    setenv("LD_PRELOAD", getenv("MEMTAP_TEST_SHIM"), 1);
    for (; environment && *environment; environment++)
        putenv((char *)(uintptr_t)*environment);
    execv(program, (char *const *)(uintptr_t)argv);
    _exit(100);
}

static pid_t start(struct outcome *outcome, const char *const *argv, const char *const *environment)
{
    char program[512];
    memset(outcome, 0, sizeof *outcome);
    snprintf(outcome->directory, sizeof outcome->directory, "/tmp/memtap-test-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(outcome->directory));
    snprintf(program, sizeof program, "%s%s%s",
             argv[0][0] == '/' ? "" : getenv("MEMTAP_TEST_BUILD"), argv[0][0] == '/' ? "" : "/",
             argv[0]);
    pid_t child = fork();
    if (child == 0)
        exec_child(outcome, program, argv, environment);
    return child;
}

static void finish(struct outcome *outcome, pid_t child)
{
    ck_assert_int_eq(waitpid(child, &outcome->status, 0), child);
    read_text(outcome->directory, "stderr", outcome->errors, sizeof outcome->errors);
    read_text(outcome->directory, "stdout", outcome->output, sizeof outcome->output);
    list_files(outcome);
}

struct outcome run(const char *const *argv, const char *const *environment)
{
    struct outcome outcome;
    finish(&outcome, start(&outcome, argv, environment));
    return outcome;
}

struct tally read_tally(const struct outcome *outcome)
{
    struct tally tally = {0};
    char path[600];
    snprintf(path, sizeof path, "%s/counts", outcome->directory);
    FILE *file = fopen(path, "rb");
    if (file && fread(tally.of, sizeof tally.of, 1, file) == 1)
        for (unsigned i = 0; i < 64; i++)
            tally.sum += tally.of[i][0] + tally.of[i][1];
    if (file)
        fclose(file);
    return tally;
}

static bool has_ended(pid_t child)
{
    siginfo_t end = {0};
    return waitid(P_PID, (id_t)child, &end, WEXITED | WNOHANG | WNOWAIT) || end.si_pid;
}

struct outcome run_and_kill(const char *const *argv, const char *const *environment,
                            uint64_t after_calls, unsigned after_us)
{
    struct outcome outcome;
    pid_t child = start(&outcome, argv, environment);
    while (after_calls && read_tally(&outcome).sum < after_calls && !has_ended(child))
        usleep(1000);
    usleep(after_us);
    kill(child, SIGKILL);
    finish(&outcome, child);
    return outcome;
}

/* What alloc-threads does: the size tells thread and turn. A free belongs to the thread whose
 * events were those of a malloc before. */
struct turns {
    int64_t last[64];
    unsigned index_of[4096]; /* a trace's thread -> the program's + 1 */
};

static void count_turn(const struct mt_event *event, struct counts *counts, struct turns *turns)
{
    if (event->thread >= sizeof turns->index_of / sizeof *turns->index_of)
        return;
    unsigned *index = &turns->index_of[event->thread];
    if (event->kind == MT_CUDA_MALLOC && event->arg[1] >> 32 < 64) {
        unsigned thread = (unsigned)(event->arg[1] >> 32);
        int64_t turn = (int64_t)(event->arg[1] & 0xffffffff);
        *index = thread + 1;
        counts->is_ordered = counts->is_ordered && turn > turns->last[thread];
        int64_t before = turns->last[thread];
        counts->is_gapless = counts->is_gapless && (before < 0 || turn == before + 1);
        counts->thread[thread].turns = (uint64_t)turn + 1;
        turns->last[thread] = turn;
        counts->thread[thread].mallocs++;
    } else if (event->kind == MT_CUDA_FREE && *index) {
        counts->thread[*index - 1].frees++;
    }
}

static void count_events(const struct mt_batch *batch, struct counts *counts, struct turns *turns)
{
    for (size_t i = 0; i < batch->n_events; i++) {
        const struct mt_event *event = &batch->events[i];
        counts->kind[event->kind]++;
        if (event->kind == MT_LOST)
            counts->lost += event->arg[0];
        count_turn(event, counts, turns);
    }
}

struct counts read_counts(const struct outcome *outcome, const char *file)
{
    struct counts counts = {.is_ordered = 1, .is_gapless = 1};
    struct mt_reader *reader;
    struct mt_batch batch;
    struct mt_trace_error error;
    char path[600];
    static struct turns turns;
    memset(&turns, 0, sizeof turns);
    memset(turns.last, -1, sizeof turns.last);
    snprintf(path, sizeof path, "%s/%s.0", outcome->directory, file);
    int is_segment = !access(path, F_OK);
    snprintf(path, sizeof path, "%s/%s", outcome->directory, file);
    ck_assert_msg(!mt_reader_open(&reader, path, &error), "%s: %s", path, error.text);
    int rc, has_end = 0;
    while ((rc = mt_reader_next(reader, &batch, &error)) > 0) {
        ck_assert_msg(!has_end, "a block after the end");
        for (size_t i = 0; i < batch.n_definitions; i++)
            counts.definitions[batch.definitions[i].kind]++;
        count_events(&batch, &counts, &turns);
        has_end = batch.type == MT_BATCH_END;
        if (has_end && is_segment) /* one that is gone may have told of them */
            ck_assert_uint_ge(batch.end.lost, counts.lost);
        else if (has_end)
            ck_assert_uint_eq(batch.end.lost, counts.lost);
    }
    ck_assert_msg(!error.fault, "%s: %s", path, error.text);
    counts.is_complete = has_end && rc == 0;
    counts.state = mt_reader_state(reader);
    mt_reader_close(reader);
    return counts;
}

void remove_outcome(const struct outcome *outcome)
{
    char path[600];
    for (int i = 0; i < outcome->n_files; i++) {
        snprintf(path, sizeof path, "%s/%s", outcome->directory, outcome->file[i]);
        unlink(path);
    }
    rmdir(outcome->directory);
}
