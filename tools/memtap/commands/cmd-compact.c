/* SPDX-License-Identifier: Apache-2.0 */
#include "analyzer/compact/compact.h"
#include "analyzer/support/new-file.h"
#include "analyzer/support/text.h"
#include "commands.h"
#include "tools/memtap/terminal/values.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const struct mt_option mt_compact_options[] = {
    {'o', "output", "FILE",
     "write the copy to this file (default: NAME.compact.mtap,\n"
     "next to NAME.mtap)",
     NULL, mt_note_text},
    MT_REDACT_OPTION,
    {0},
};

/* Choose a name: train.mtap becomes train.compact.mtap. */
static int choose_name(char out[PATH_MAX], const char *trace, const char *given)
{
    size_t length = strlen(trace);
    if (length > 5 && !strcmp(trace + length - 5, ".mtap"))
        length -= 5;
    int n = given ? snprintf(out, PATH_MAX, "%s", given)
                  : snprintf(out, PATH_MAX, "%.*s.compact.mtap", (int)length, trace);
    return n < PATH_MAX ? 0 : mt_fail("%s: file name too long", trace);
}

static void print_result(const char *output, const struct mt_keep_plan *plan)
{
    char kept[MT_SIZE_TEXT], events[MT_SIZE_TEXT], size[MT_SIZE_TEXT], before[MT_SIZE_TEXT];
    char ended[MT_ENDED_TEXT];
    struct stat status;
    uint64_t bytes = stat(output, &status) ? 0 : (uint64_t)status.st_size;
    if (mt_ended_is_reported(&plan->ended)) {
        mt_print_text(output);
        printf(": ended: %s\n", mt_ended_text(ended, &plan->ended));
    }
    mt_print_text(output);
    printf(": %s of %s events, %s of %s (%.1f %%)\n", mt_count_text(kept, plan->kept.n),
           mt_count_text(events, plan->events), mt_size_text(size, bytes),
           mt_size_text(before, plan->bytes),
           plan->bytes ? 100 * (double)bytes / (double)plan->bytes : 0);
}

/* Write a copy; never overwrite a file: it may be the only copy of another trace. */
static int write_copy(const char *trace, const char *output, const struct mt_keep_plan *plan)
{
    struct mt_trace_error error = {0};
    struct mt_new_file file;
    int rc = mt_new_file_open(&file, output, MT_FILE_PRIVATE | MT_FILE_ONLY_NEW);
    if (rc)
        return mt_fail("%s: cannot create: %s", output, mt_output_error(rc));
    FILE *out = mt_new_file_stream(&file);
    rc = mt_new_file_close(&file, out, out ? mt_compact(trace, plan, out, &error) : -errno);
    if (!rc) {
        print_result(output, plan);
        return MT_EXIT_OK;
    }
    return error.fault ? mt_fail_trace(trace, &error)
                       : mt_fail("%s: cannot write: %s", output, mt_output_error(rc));
}

static int compact(const char *trace, const char *output)
{
    struct mt_keep_plan plan;
    struct mt_trace_error error = {0};
    char name[PATH_MAX];
    int code = choose_name(name, trace, output);
    if (code)
        return code;
    int rc = mt_keep_plan_make(&plan, trace, &error);
    if (rc == -EINVAL && error.fault)
        code = error.fault == MT_FAULT_ROOM
                   ? mt_fail("%s: %s", trace, error.text)
                   : mt_fail("%s: %s; memtap recover saves the readable part", trace, error.text);
    else if (rc)
        code = mt_fail_trace(trace, &error);
    else if (plan.is_compact)
        code = mt_fail("%s: already compact", trace);
    else
        code = write_copy(trace, name, &plan);
    mt_keep_plan_clear(&plan);
    return code;
}

int mt_run_compact(const struct mt_command *command, int argc, char **argv)
{
    const char *output, *trace = mt_read_operand(command, argc, argv, "trace", &output);
    return trace ? compact(trace, output) : MT_EXIT_BAD;
}
