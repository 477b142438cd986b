/* SPDX-License-Identifier: Apache-2.0 */
#include "analyzer/report/report.h"
#include "analyzer/support/new-file.h"
#include "analyzer/support/text.h"
#include "commands.h"
#include "tools/memtap/terminal/values.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

const struct mt_option mt_symbolize_options[] = {
    {'o', "output", "FILE", "write the trace to this file instead of in place", NULL, mt_note_text},
    MT_FORCE_OPTION,
    {0},
};

static void print_result(const struct mt_symbolized *result)
{
    char frames[MT_SIZE_TEXT], named[MT_SIZE_TEXT], before[MT_SIZE_TEXT];
    if (!result->frames) {
        mt_say("the trace has no native frames; record them with memtap run --stacks both");
        return;
    }
    printf("%s native frames: %s named now, %s before\n", mt_count_text(frames, result->frames),
           mt_count_text(named, result->named), mt_count_text(before, result->before));
}

/* Return 1 if certainly no process is writing the trace, else 0; or a negative exit code after a
 * message, since a trace that is being written cannot be replaced. */
static int check_over(const char *trace, bool is_in_place)
{
    struct mt_reader *reader;
    struct mt_trace_error error = {0};
    if (mt_reader_open(&reader, trace, &error))
        return -mt_fail_trace(trace, &error);
    enum mt_trace_state state = mt_reader_state(reader);
    bool is_over = mt_reader_is_over(reader);
    mt_reader_close(reader);
    if (is_in_place && state == MT_TRACE_RUNNING)
        return -mt_fail("%s: the program is still running; wait until it ends, or give -o FILE",
                        trace);
    return is_over;
}

/* Symbolize a trace. At any time either the old or the new file is complete. */
static int symbolize(const char *trace, const char *final, bool is_in_place)
{
    struct mt_new_file file;
    struct mt_symbolized result;
    struct mt_trace_error error = {0};
    int is_safe = check_over(trace, is_in_place);
    if (is_safe < 0)
        return -is_safe;
    int rc =
        mt_new_file_open(&file, final, MT_FILE_PRIVATE | (is_in_place ? MT_FILE_IN_PLACE : 0u));
    if (rc)
        return mt_fail("%s: cannot create: %s", final, mt_output_error(rc));
    FILE *out = mt_new_file_stream(&file);
    rc = out ? mt_symbolize(trace, out, &result, &error) : -errno;
    bool may_run = !rc && is_in_place && !is_safe;
    rc = mt_new_file_close(&file, out, may_run ? -EBUSY : rc);
    if (may_run)
        return mt_fail("%s: the program may still be running; run memtap recover first, or "
                       "give -o FILE",
                       trace);
    if (!rc) {
        print_result(&result);
        return MT_EXIT_OK;
    }
    if (error.fault)
        return mt_fail("%s: %s; no names were written", trace, error.text);
    return mt_fail("%s: cannot write: %s; %s is unchanged", final, mt_output_error(rc), trace);
}

int mt_run_symbolize(const struct mt_command *command, int argc, char **argv)
{
    char real[PATH_MAX];
    const char *output, *trace = mt_read_operand(command, argc, argv, "trace", &output);
    if (!trace)
        return MT_EXIT_BAD;
    if (output)
        return symbolize(trace, output, 0);
    return symbolize(trace, realpath(trace, real) ? real : trace, 1);
}
