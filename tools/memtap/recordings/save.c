/* SPDX-License-Identifier: Apache-2.0 */
#include "analyzer/support/progress.h"
#include "command.h"
#include "tools/memtap/input/traces.h"
#include "tools/memtap/terminal/values.h"
#include "trace-format/reader.h"
#include "trace-format/tail-request.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define MOST_WAIT_NS 10000000000u /* for the first answer */
#define COPY_WAIT_NS 5000000000u  /* the same, if the copy does not depend on it */
#define HOLDERS_WAIT_NS 30000000000u
#define LOOK_NS 50000000u
#define MOST_COPIES 10000u

struct saving {
    const char *output; /* NULL: next to each trace */
    uint64_t iterations;
    bool wants_holders, stops;
    struct mt_trace_list traces;
    struct mt_tail_request *request; /* one per trace; fd -1: done */
};

/* clang-format off */
const struct mt_option mt_save_options[] = {
    {'o', "output", "FILE", "write the copy to this file (default: NAME.saved.mtap,\nnext to "
                            "NAME.mtap)", NULL, mt_note_text,
     offsetof(struct saving, output)},
    {0, "full", "N", "record the next N iterations in full, and wait for them;\nCtrl-C saves "
                     "what is recorded so far", NULL,
     mt_note_number, offsetof(struct saving, iterations), 1, MT_MOST_REQUESTED},
    {0, "holders", NULL, "find what keeps each block alive now, for memtap holders", NULL,
     mt_note_flag, offsetof(struct saving, wants_holders)},
    {0}};
/* clang-format on */

static volatile sig_atomic_t is_interrupted;

static void on_signal(int number)
{
    (void)number;
    is_interrupted = 1;
}

static bool is_running(const char *path, struct mt_trace_error *error)
{
    struct mt_reader *reader;
    bool is_running =
        !mt_reader_open(&reader, path, error) && mt_reader_state(reader) == MT_TRACE_RUNNING;
    mt_reader_close(reader);
    return is_running;
}

/* Return an exit code. A trace without a tail is copied as it is. */
static int request(struct saving *saving, size_t i)
{
    const char *path = saving->traces.path[i];
    struct mt_trace_error error = {0};
    if (!is_running(path, &error))
        return error.fault ? mt_fail_trace(path, &error)
                           : mt_fail("%s: the recording has ended; see memtap report", path);
    int rc = mt_tail_request_make(&saving->request[i], path, (uint32_t)saving->iterations,
                                  saving->wants_holders, saving->stops);
    if (rc == -ENOENT && !saving->iterations && !saving->stops)
        return MT_EXIT_OK;
    if (rc == -ENOENT)
        return mt_fail("%s: no tail to send the request through; this file system cannot keep one",
                       path);
    if (rc == -EBUSY)
        return mt_fail("%s: another memtap save or stop is waiting for it; try again later", path);
    if (rc == -EACCES || rc == -EPERM)
        return mt_fail("%s: belongs to another user; only that user can send the request", path);
    return rc ? mt_fail("%s: cannot send the request: %s", path, strerror(-rc)) : MT_EXIT_OK;
}

/* Return whether to stop waiting for the trace. After a message, set *code. */
static bool is_over(struct saving *saving, size_t i, bool is_late, int *code)
{
    struct mt_trace_error error;
    enum mt_tail_answer answer = mt_tail_request_answer(&saving->request[i]);
    if ((answer == MT_ANSWER_FINISHED && !saving->stops) || is_interrupted ||
        !is_running(saving->traces.path[i], &error))
        return true;
    if (is_late && saving->stops)
        *code = mt_fail("%s: no response: the program is stopped, records without memtap's thread "
                        "(--thread 0), or uses an older memtap",
                        saving->traces.path[i]);
    else if (answer == MT_ANSWER_NONE && is_late && !saving->iterations) {
        fprintf(stderr,
                "memtap: %s: no response: the program is stopped or records without memtap's "
                "thread (--thread 0); the copy has what the trace and its tail contain\n",
                saving->traces.path[i]);
        return true;
    } else if (answer == MT_ANSWER_NONE && is_late)
        *code = mt_fail("%s: no response: the program is stopped, records without memtap's "
                        "thread (--thread 0), or uses an older memtap; memtap recover -o FILE "
                        "copies what is recorded so far",
                        saving->traces.path[i]);
    return *code;
}

static int await(struct saving *saving)
{
    const struct timespec pause = {0, LOOK_NS};
    uint64_t until = mt_now_ns() + (saving->wants_holders                 ? HOLDERS_WAIT_NS
                                    : saving->iterations || saving->stops ? MOST_WAIT_NS
                                                                          : COPY_WAIT_NS);
    int code = MT_EXIT_OK;
    for (size_t left = saving->traces.n; left && !code; nanosleep(&pause, NULL)) {
        left = 0;
        for (size_t i = 0; i < saving->traces.n && !code; i++) {
            if (saving->request[i].fd < 0)
                continue;
            if (is_over(saving, i, mt_now_ns() > until, &code))
                mt_tail_request_close(&saving->request[i]);
            else
                left++;
        }
    }
    return code;
}

static int print_stopped(const struct saving *saving)
{
    int code = MT_EXIT_OK;
    for (size_t i = 0; i < saving->traces.n; i++) {
        struct mt_trace_error error;
        if (is_running(saving->traces.path[i], &error))
            code = mt_fail("%s: interrupted; the recording stops within seconds",
                           saving->traces.path[i]);
        else
            printf("%s is complete\n", saving->traces.path[i]);
    }
    return code;
}

/* Choose a name: train.mtap becomes train.saved.mtap, or train.saved.1.mtap. */
static int choose_name(char out[PATH_MAX], const char *trace)
{
    size_t length = strlen(trace);
    if (length > 5 && !strcmp(trace + length - 5, ".mtap"))
        length -= 5;
    for (unsigned i = 0; i < MOST_COPIES; i++) {
        char number[16] = "";
        if (i)
            snprintf(number, sizeof number, ".%u", i);
        int n = snprintf(out, PATH_MAX, "%.*s.saved%s.mtap", (int)length, trace, number);
        if (n >= PATH_MAX)
            return mt_fail("%s: file name too long", trace);
        if (access(out, F_OK))
            return MT_EXIT_OK;
    }
    return mt_fail("%s: there are already %u copies", trace, MOST_COPIES);
}

static int copy_all(const struct saving *saving)
{
    int code = MT_EXIT_OK;
    for (size_t i = 0; i < saving->traces.n; i++) {
        char name[PATH_MAX];
        int rc = saving->output ? snprintf(name, sizeof name, "%s", saving->output) >= PATH_MAX
                                : choose_name(name, saving->traces.path[i]);
        if (!rc)
            rc = mt_recover_copy(saving->traces.path[i], name);
        code = rc ? MT_EXIT_BAD : code;
    }
    return code;
}

static int save(struct saving *saving)
{
    struct sigaction action = {.sa_handler = on_signal}, before;
    int code = MT_EXIT_OK;
    saving->request = calloc(saving->traces.n, sizeof *saving->request);
    if (!saving->request)
        return mt_fail("out of memory");
    for (size_t i = 0; i < saving->traces.n; i++)
        saving->request[i].fd = -1;
    for (size_t i = 0; i < saving->traces.n && !code; i++)
        code = request(saving, i);
    sigaction(SIGINT, &action, &before);
    if (!code)
        code = await(saving);
    sigaction(SIGINT, &before, NULL);
    for (size_t i = 0; i < saving->traces.n; i++)
        mt_tail_request_close(&saving->request[i]);
    free(saving->request);
    return code ? code : saving->stops ? print_stopped(saving) : copy_all(saving);
}

int mt_stop_recordings(const struct mt_command *command, int argc, char **argv)
{
    struct saving saving = {.stops = true};
    int operand = mt_options_read(command, argc, argv, &saving);
    int code = operand < 0 ? MT_EXIT_BAD
                           : mt_find_live_traces(&saving.traces, argv + operand, argc - operand);
    if (!code)
        code = save(&saving);
    mt_trace_list_clear(&saving.traces);
    return mt_finish_output(code);
}

int mt_run_save(const struct mt_command *command, int argc, char **argv)
{
    struct saving saving = {0};
    int operand = mt_options_read(command, argc, argv, &saving);
    int code = operand < 0 ? MT_EXIT_BAD
                           : mt_find_live_traces(&saving.traces, argv + operand, argc - operand);
    if (!code && saving.output && saving.traces.n > 1)
        code = mt_fail_usage(command, "-o names one file, but %zu traces are being written",
                             saving.traces.n);
    if (!code)
        code = save(&saving);
    mt_trace_list_clear(&saving.traces);
    return mt_finish_output(code);
}
