/* SPDX-License-Identifier: Apache-2.0 */
#include "analyzer/findings/oom.h"
#include "analyzer/report/oom-report.h"
#include "analyzer/support/new-file.h"
#include "analyzer/support/text.h"
#include "analyzer/trace/ended.h"
#include "commands.h"
#include "planner/advice/oom-advice.h"
#include "steps.h"
#include "tools/memtap/launch/child.h"
#include "tools/memtap/launch/ends.h"
#include "tools/memtap/launch/locate.h"
#include "tools/memtap/launch/manifest.h"
#include "tools/memtap/launch/program.h"
#include "tools/memtap/launch/pytorch-check.h"
#include "tools/memtap/launch/setting-options.h"
#include "tools/memtap/launch/simulation.h"
#include "tools/memtap/ranks/find.h"
#include "trace-format/block.h"
#include "trace-format/cuda-errors.h"
#include "trace-format/end-note.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

/* Larger traces are not read only to print their counts. */
#define COUNTED_BYTES (256u << 20)
#define ENDED_WELL "exit code 0"

/* clang-format off */
const struct mt_option mt_run_options[] = {
    MT_OPTION_SETTINGS(MT_SETTING_OPTION)
    MT_SIMULATION_OPTIONS(offsetof(struct mt_run_request, simulation)),
    {0},
};
/* clang-format on */

static int preload(void)
{
    char shim[MT_PLACE_SIZE];
    const char *already = getenv("LD_PRELOAD");
    if (mt_locate_shim(shim))
        return MT_EXIT_BAD;
    if (strpbrk(shim, " \t\n:"))
        return mt_fail("%s: a path with a space or a colon cannot be preloaded; install memtap "
                       "elsewhere",
                       shim);
    size_t size = strlen(shim) + (already ? strlen(already) : 0) + 2;
    char *list = malloc(size);
    if (!list)
        return mt_fail("out of memory");
    snprintf(list, size, "%s%s%s", shim, already && *already ? ":" : "", already ? already : "");
    int rc = setenv("LD_PRELOAD", list, 1);
    free(list);
    return rc ? mt_fail("out of memory") : 0;
}

/* Check a setting: the shim would say so too, but then record with the default for hours. */
static int check_setting(const struct mt_command *command, const struct mt_setting *setting,
                         const char *value)
{
    char wrong[MT_SETTING_WRONG], name[32];
    snprintf(name, sizeof name, "--%s", setting->name);
    return mt_setting_wrong(wrong, setting, name, value) ? mt_fail_usage(command, "%s", wrong) : 0;
}

/* Return the working directory with a slash, and its % doubled, since it begins a pattern. */
static int working_directory(char *out, size_t size)
{
    char folder[PATH_MAX];
    size_t n = 0;
    if (!getcwd(folder, sizeof folder))
        return -errno;
    for (const char *at = folder; *at && n + 4 < size; at++) {
        out[n++] = *at;
        if (*at == '%')
            out[n++] = '%';
    }
    out[n++] = '/';
    out[n] = '\0';
    return 0;
}

/* Make the traces' folder if it is missing and the pattern names it without %: otherwise the
 * program would run for hours in vain. */
static int check_output(const char *output)
{
    char folder[PATH_MAX];
    struct stat status;
    if (!stat(output, &status) && !S_ISREG(status.st_mode))
        return mt_fail("%s: a device or a pipe cannot hold a trace; give a file", output);
    if (mt_is_foreign_file(output))
        return mt_fail("%s: exists and is not a memtap trace; give another name", output);
    const char *slash = strrchr(output, '/');
    snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - output) + 1 : 2,
             slash ? output : "./");
    if (strchr(folder, '%'))
        return 0;
    int rc = mt_make_folders(output);
    if (rc)
        return mt_fail("%s: cannot create the trace's folder: %s", folder, strerror(-rc));
    if (access(folder, W_OK | X_OK))
        return mt_fail("%s: cannot create the trace's folder: %s", folder, strerror(errno));
    return 0;
}

/* Check the limit: with one of 0 neither a trace nor the manifest, which lists traces, can be
 * written. */
static int check_limit(void)
{
    struct rlimit limit;
    if (!getrlimit(RLIMIT_FSIZE, &limit) && !limit.rlim_cur)
        return mt_fail("cannot write a trace: the file size limit is 0 (ulimit -f); raise it");
    return 0;
}

/* Check the output's folder, and make its path absolute, since the program may change its
 * directory. */
static int set_output(const char *given)
{
    char pattern[3 * PATH_MAX] = "", output[PATH_MAX];
    if (!*given)
        return mt_fail("the trace's name is empty");
    if ((size_t)snprintf(output, sizeof output, "%s", given) >= sizeof output ||
        mt_setting_complete(output, sizeof output))
        return mt_fail("%s: file name too long", given);
    int rc = check_output(output);
    if (rc)
        return rc;
    if (*output != '/' && working_directory(pattern, sizeof pattern))
        return mt_fail("the working directory is unknown: %s", strerror(errno));
    size_t n = strlen(pattern);
    if ((size_t)snprintf(pattern + n, sizeof pattern - n, "%s", output) >= sizeof pattern - n)
        return mt_fail("%s: file name too long", output);
    return setenv(mt_setting_table[MT_ID_output].variable, pattern, 1) ? mt_fail("out of memory")
                                                                       : 0;
}

/* Return a setting's value in the environment, else its default. */
static const char *in_environment(const struct mt_setting *setting)
{
    const char *value = getenv(setting->variable);
    return value && *value ? value : setting->otherwise;
}

static bool is_quiet(void)
{
    return !strcmp(in_environment(&mt_setting_table[MT_ID_quiet]), "1");
}

static int set_settings(const struct mt_command *command, const struct mt_run_request *request)
{
    const char *const *value = request->setting;
    int rc = 0;
    for (unsigned i = 0; !rc && i < MT_SETTINGS_COUNT; i++) {
        const struct mt_setting *setting = &mt_setting_table[i];
        if (value[i])
            rc = check_setting(command, setting, value[i]);
        if (!rc && i == MT_ID_output)
            rc = set_output(value[i] ? value[i] : in_environment(setting));
        else if (!rc && value[i] && setenv(setting->variable, value[i], 1))
            rc = mt_fail("out of memory");
    }
    return rc;
}

/* Return whether the trace is known to have ended well without reading all of it, which may take
 * long: most large traces ended well. */
static bool is_known_to_be_well(const char *trace, struct mt_reader *reader)
{
    char how[MT_NOTED_END];
    return mt_reader_end(reader) && !mt_noted_end(trace, how) && !strcmp(how, ENDED_WELL);
}

/* Find the number of events and the end of a trace, if that does not take long. 0, or a negative
 * errno with *error filled. */
static int load_end(const char *trace, struct mt_survey *survey, struct mt_ended *ended,
                    struct mt_trace_error *error)
{
    struct mt_reader *reader;
    int rc = mt_reader_open(&reader, trace, error);
    if (rc)
        return rc;
    mt_survey_begin(survey, trace);
    survey->state = mt_reader_state(reader);
    if (!is_known_to_be_well(trace, reader) && survey->bytes <= COUNTED_BYTES) {
        rc = mt_survey(trace, survey, NULL, error);
    } else if (mt_reader_end(reader)) {
        survey->complete = 1;
        survey->end = *mt_reader_end(reader);
        survey->events = survey->end.events;
        mt_noted_end(trace, survey->ended);
    }
    mt_reader_close(reader);
    *ended = mt_ended_of(survey, error);
    return rc;
}

/* Print what memtap oom says first of a program that ended so. */
static void print_oom(const char *trace, const char *name)
{
    static struct mt_advisor advisor;
    struct mt_question question = {.moment.kind = MT_AT_OOM};
    struct mt_analysis analysis;
    struct mt_oom_story story;
    char what[400], why[300], remedy[600], all[1320], safe[1320];
    if (mt_advisor_watch(&advisor, &question))
        return;
    int rc = mt_analysis_create(&analysis, trace, &question);
    rc = rc ? rc : mt_oom_explain(&story, &analysis);
    if (!rc)
        rc = mt_advise(&advisor, &analysis, &story);
    if (!rc) {
        mt_oom_sentence(&story, &analysis, what, sizeof what);
        mt_oom_cause(&story, &analysis, why, sizeof why);
        mt_oom_remedy(&story, remedy, sizeof remedy);
        snprintf(all, sizeof all, "%s; %s%s%s", what, why, *remedy ? "; do: " : "", remedy);
        mt_safe_text(safe, sizeof safe, all, 0, MT_CUT_END, &(struct mt_style){.utf8 = 1});
        mt_say("%s: %s", name, safe);
    }
    mt_analysis_destroy(&analysis);
    mt_advisor_clear(&advisor);
}

struct reporting {
    struct mt_child_end end;
    struct mt_kept_ends *ends;
    struct mt_every_trace every;
    bool is_quiet, is_night;
};

static void print_trace(struct reporting *reporting, const char *trace, uint64_t cpu_ns)
{
    char events[MT_SIZE_TEXT], bytes[MT_SIZE_TEXT], number[MT_SIZE_TEXT];
    char lost[MT_SIZE_TEXT + 16] = "", cost[64] = "";
    char text[MT_ENDED_TEXT];
    struct mt_survey survey;
    struct mt_ended ended;
    struct mt_trace_error error = {0};
    const char *name = mt_short_path(trace), *quote = strpbrk(name, " '\"$&;()*?") ? "'" : "";
    if (!reporting->is_night)
        mt_every_trace_add(&reporting->every, name);
    if (load_end(trace, &survey, &ended, &error)) {
        mt_say("%s: %s", name, error.text);
        return;
    }
    bool is_plain = mt_ended_is_plain(&ended);
    if (is_plain && !mt_survey_lost(&survey) && reporting->is_night)
        return;
    bool is_counted = survey.complete || survey.bytes <= COUNTED_BYTES;
    bool is_of_memory = ended.how == MT_ENDED_OUT_OF_MEMORY;
    if (cpu_ns)
        snprintf(cost, sizeof cost,
                 cpu_ns < 1000000000 ? ", %.1f ms of CPU time to record"
                                     : ", %.1f s of CPU time to record",
                 (double)cpu_ns / (cpu_ns < 1000000000 ? 1e6 : 1e9));
    if (mt_survey_lost(&survey))
        snprintf(lost, sizeof lost, "%s lost, ", mt_count_text(number, mt_survey_lost(&survey)));
    mt_say("%s: %s%s%s%s%s%s%s; %s: memtap %s %s%s%s", name,
           is_counted ? mt_count_text(events, survey.events) : "",
           !is_counted          ? ""
           : survey.events == 1 ? " event, "
                                : " events, ",
           lost, mt_size_text(bytes, survey.bytes), cost,
           is_plain ? "" : "; ended: ", is_plain ? "" : mt_ended_text(text, &ended),
           is_of_memory ? "why" : "to see it", mt_ended_command(&ended), quote, name, quote);
    if (is_of_memory && survey.bytes <= COUNTED_BYTES)
        print_oom(trace, name);
}

static bool print_failure(const struct mt_manifest *manifest)
{
    char function[64];
    unsigned result;
    const char *name = NULL;
    if (mt_manifest_failure(manifest, &result, function))
        name = mt_cuda_no_device_name(result, function);
    if (name)
        mt_say("no trace was written, because no CUDA allocation succeeded: %s returned %s (%u): "
               "%s; memtap run --simulate h100 runs it without a GPU",
               function, name, result, mt_cuda_no_device_why(result));
    return name != NULL;
}

static bool print_out_of_sight(const struct mt_manifest *manifest)
{
    char call[16], what[256];
    if (!mt_manifest_out_of_sight(manifest, call, what))
        return false;
    if (!strcmp(call, "chroot"))
        mt_say("no trace was found; a process changed its root directory (chroot), so its trace "
               "would be below that directory");
    else
        mt_say("no trace was written; %s was loaded by dlmopen into a namespace of its own, where "
               "memtap does not see CUDA calls",
               what);
    return true;
}

/* Check for a program that would end in its loader, with exit code 127. */
static int check_loader(const char *program)
{
    char path[PATH_MAX];
    if (!mt_find_command(program, path) || !mt_is_of_musl(path))
        return 0;
    return mt_fail("%s: built for musl, so it cannot load memtap's library, which needs glibc; run "
                   "a glibc build of it",
                   program);
}

static void print_none(const struct mt_manifest *manifest, const char *program, bool has_failed)
{
    char path[PATH_MAX], folder[PATH_MAX], why[PATH_MAX + 128] = "";
    if (!strcmp(in_environment(&mt_setting_table[MT_ID_start]), "off")) {
        mt_say("no trace was written: no recording was started (memtap start, memtap.start())");
        return;
    }
    if (print_failure(manifest) || print_out_of_sight(manifest))
        return;
    if (mt_find_command(program, path) && mt_match_machine(path) == 0) {
        mt_say("%s is a program for another architecture, which cannot load memtap's library; no "
               "trace was written",
               program);
        return;
    }
    enum mt_pytorch pytorch = mt_pytorch_of(program, folder);
    bool is_simulated = getenv("CUDASIM_GPU");
    bool is_alone = pytorch == MT_PYTORCH_ALONE && has_failed && !is_simulated;
    const char *next = is_simulated || (mt_has_gpu() && !is_alone) ? ""
                       : mt_has_gpu() ? "; install torch's dependencies, or simulate a card: "
                                        "memtap run --simulate h100"
                                      : "; this machine has no NVIDIA GPU: memtap run --simulate "
                                        "h100 runs the program on a simulated card";
    if (pytorch == MT_PYTORCH_CPU)
        snprintf(why, sizeof why,
                 ": the PyTorch in %s is the CPU build, without CUDA; install its CUDA build",
                 folder);
    else if (is_alone)
        snprintf(why, sizeof why, ": the PyTorch in %s lacks NVIDIA's libraries", folder);
    mt_say("no process used CUDA, so no trace was written%s%s", why, next);
}

/* Write the program's end into its trace: for our own child as we saw it; for another process as
 * the kernel reports it. */
static void finish_trace(void *data, const char *trace, uint64_t cpu_ns)
{
    struct reporting *reporting = data;
    pid_t pid;
    char how[32];
    int rc = !reporting->end.pid
                 ? -ESRCH
                 : mt_note_end(trace, reporting->end.pid, getpid(), reporting->end.how);
    if (rc == -ESRCH && !mt_ends_of(reporting->ends, trace, &pid, how))
        mt_note_end(trace, pid, MT_ANY_PARENT, how);
    if (!reporting->is_quiet)
        print_trace(reporting, trace, cpu_ns);
}

/* Run the program, which is prepared for its first turn. Return the first exit code that is not 0.
 */
static int run_turns(const struct mt_command *command, const struct mt_run_request *request,
                     char *const *program, struct reporting *reporting)
{
    unsigned turns = mt_simulation_is_requested(&request->simulation)
                         ? mt_simulation_turns(&request->simulation)
                         : 1;
    int code = 0;
    for (unsigned turn = 0; turn < turns; turn++) {
        int rc = turn ? mt_simulation_prepare(command, &request->simulation, program, turn) : 0;
        if (rc)
            return rc;
        rc = mt_child_run(program, &reporting->end);
        mt_simulation_say_failed(&request->simulation, rc);
        code = code ? code : rc;
    }
    return code;
}

static int record(const struct mt_command *command, const struct mt_run_request *request,
                  char **program)
{
    struct mt_manifest manifest;
    struct reporting reporting = {.is_quiet = is_quiet(), .is_night = request->is_night};
    int rc = mt_manifest_create(&manifest);
    if (rc)
        return mt_fail("%s: cannot create a temporary file: %s; set TMPDIR to another folder",
                       mt_manifest_folder(), strerror(-rc));
    if (setenv("MEMTAP_ROSTER", manifest.path, 1)) {
        mt_manifest_destroy(&manifest);
        return mt_fail("out of memory");
    }
    reporting.ends = mt_ends_watch(&manifest);
    int code = run_turns(command, request, program, &reporting);
    mt_ends_stop(reporting.ends);
    unsigned traces = mt_manifest_each(&manifest, finish_trace, &reporting);
    mt_ends_destroy(reporting.ends);
    mt_every_trace_print(&reporting.every);
    if (!traces && !reporting.is_quiet && code != MT_EXIT_NOT_FOUND &&
        code != MT_EXIT_NOT_EXECUTABLE)
        print_none(&manifest, program[0], code != 0);
    mt_manifest_destroy(&manifest);
    return code;
}

int mt_run_record(const struct mt_command *command, const struct mt_run_request *typed,
                  char *const *operands)
{
    struct mt_run_request request = *typed;
    struct mt_sent sent = {.folder = ""};
    int rc = set_settings(command, &request);
    if (!rc)
        rc = check_limit();
    char **program = rc ? NULL : mt_program_meant(request.simulation.module, operands, &rc);
    if (!rc)
        rc = check_loader(program[0]);
    if (!rc)
        rc = mt_sent_begin(&sent, &request.simulation);
    if (!rc && mt_ranks_are_to_find(&request.simulation))
        rc = mt_ranks_find(command, &request.simulation, program, is_quiet());
    if (!rc)
        rc = preload();
    if (!rc && mt_simulation_is_requested(&request.simulation))
        rc = mt_simulation_prepare(command, &request.simulation, program, 0);
    if (!rc)
        rc = record(command, &request, program);
    mt_sent_end(&sent, &request.simulation, !rc);
    free(program);
    return rc;
}

int mt_run_run(const struct mt_command *command, int argc, char **argv)
{
    struct mt_run_request request = {0};
    int operand = mt_options_read(command, argc, argv, &request);
    if (operand < 0)
        return MT_EXIT_BAD;
    if (mt_simulation_is_list(&request.simulation)) {
        mt_simulation_list();
        return MT_EXIT_OK;
    }
    if (operand == argc && !request.simulation.module)
        return mt_fail_usage(command, "no command to run given");
    return mt_run_record(command, &request, argv + operand);
}
