/* SPDX-License-Identifier: Apache-2.0 */
#include "analyzer/survey.h"
#include "analyzer/text.h"
#include "child.h"
#include "locate.h"
#include "pytorch-check.h"
#include "roster.h"
#include "simulation.h"
#include "simulator/parse-size.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DEFAULT_OUTPUT "memtap-%e-%p.mtap"

/* A trace larger than this is not read through just to count its events. */
#define COUNTED_BYTES (256u << 20)

enum { STACKS = 2, CUPTI, LEVEL }; /* have no short form */

const struct mt_option mt_run_options[] = {
    {'o', "output", "FILE",
     "the trace, by default " DEFAULT_OUTPUT "; %p: process id,\n"
     "%e: program, %h: host, %r: rank, %%: a percent sign"},
    {STACKS, "stacks", "WHICH", "the stacks to record: python (the default), native, both or none",
     "python native both none"},
    {'k', "keep", "SIZE",
     "keep the newest events only, at least of this size (such as 512M),\n"
     "and what was live before them; by default all"},
    {CUPTI, "cupti", "WHEN",
     "have CUPTI tell of CUDA's calls: auto (the default: where they\n"
     "cannot be seen otherwise), on or off",
     "auto on off"},
    {LEVEL, "level", "N", "the level of the trace's compression, 1 (the default) to 19"},
    {'q', "quiet", NULL, "no line at the end"},
    {'v', "verbose", NULL, "at the end, what could be recorded and what not"},
    {'s', "simulate", "NAME", "run on this simulated card; list shows them all", "list " MT_CARDS},
    {'m', "memory", "SIZE", "the simulated card's memory, such as 24G or 512MiB"},
    {'n', "gpus", "N", "how many simulated cards; 1"},
    {0},
};

struct arguments {
    struct mt_simulation simulation;
    const char *output, *stacks, *keep, *cupti,
        *level; /* but output: NULL: as the environment says */
    int quiet, verbose, simulate;
};

static int read_arguments(const struct mt_command *command, int argc, char **argv,
                          struct arguments *arguments, int *operand)
{
    const char *value;
    int letter;
    *arguments = (struct arguments){.output = DEFAULT_OUTPUT};
    while ((letter = mt_options_next(command, argc, argv, &value, operand)) > 0) {
        switch (letter) {
        case 'o':
            arguments->output = value;
            break;
        case 'k':
            arguments->keep = value;
            break;
        case STACKS:
            arguments->stacks = value;
            break;
        case CUPTI:
            arguments->cupti = value;
            break;
        case LEVEL:
            arguments->level = value;
            break;
        case 'q':
            arguments->quiet = 1;
            break;
        case 'v':
            arguments->verbose = 1;
            break;
        case 's':
            arguments->simulate = 1;
            arguments->simulation.gpu = value;
            break;
        case 'm':
            arguments->simulate = 1;
            arguments->simulation.memory = value;
            break;
        case 'n':
            arguments->simulate = 1;
            arguments->simulation.gpus = value;
        }
    }
    return letter;
}

static int preload(void)
{
    char shim[MT_PLACE_SIZE];
    const char *already = getenv("LD_PRELOAD");
    if (mt_locate_shim(shim))
        return mt_fail("%s: the recording library is not there; build or install it", shim);
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

static int set_stacks(const struct mt_command *command, const char *which)
{
    static const char *const choices[] = {"python", "native", "both", "none"};
    for (size_t i = 0; which && i < sizeof choices / sizeof *choices; i++)
        if (!strcmp(which, choices[i]))
            return setenv("MEMTAP_STACKS", which, 1) ? mt_fail("out of memory") : 0;
    return which ? mt_fail_usage(command, "unknown stacks '%s'; use python, native, both or none",
                                 which)
                 : 0;
}

static int set_cupti(const struct mt_command *command, const char *when)
{
    if (!when)
        return 0;
    if (strcmp(when, "auto") && strcmp(when, "on") && strcmp(when, "off"))
        return mt_fail_usage(command, "unknown choice '%s' for --cupti; use auto, on or off", when);
    return setenv("MEMTAP_CUPTI", when, 1) ? mt_fail("out of memory") : 0;
}

static int set_level(const struct mt_command *command, const char *value)
{
    char *end;
    long level = value ? strtol(value, &end, 10) : 1;
    if (value && (*end || level < 1 || level > 19))
        return mt_fail_usage(command, "unknown level '%s'; use 1 to 19", value);
    return value && setenv("MEMTAP_LEVEL", value, 1) ? mt_fail("out of memory") : 0;
}

/* The shim would say so too, and keep all: but then for hours. */
static int set_keep(const struct mt_command *command, const char *value)
{
    uint64_t bytes = 0;
    char text[24];
    if (!value)
        return 0;
    if (strcmp(value, "all") && (sim_parse_size(value, &bytes) || bytes < 1 << 20))
        return mt_fail_usage(command, "unknown size '%s' for --keep; use 1M or more, or all",
                             value);
    snprintf(text, sizeof text, "%" PRIu64, bytes);
    return setenv("MEMTAP_KEEP", bytes ? text : "all", 1) ? mt_fail("out of memory") : 0;
}

/* The working directory with its % doubled, since what follows is a pattern, and a slash. */
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

/* The folder that traces go to, where the pattern says it plainly, must be there: the program
 * would run for hours for nothing. */
static int check_output(const char *output)
{
    char folder[PATH_MAX];
    struct stat status;
    if (!*output)
        return mt_fail("the trace's name is empty; give a file");
    if (!stat(output, &status) && S_ISDIR(status.st_mode))
        return mt_fail("%s: is a directory; give a file in it, such as %s/%s", output, output,
                       DEFAULT_OUTPUT);
    const char *slash = strrchr(output, '/');
    snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - output) + 1 : 2,
             slash ? output : "./");
    if (strchr(folder, '%'))
        return 0;
    if (stat(folder, &status))
        return mt_fail("%s: the trace's folder: %s; make it first", folder, strerror(errno));
    if (access(folder, W_OK | X_OK))
        return mt_fail("%s: the trace's folder: %s", folder, strerror(errno));
    return 0;
}

static int set_output(const char *output)
{
    char pattern[3 * PATH_MAX] = "";
    int rc = check_output(output);
    if (rc)
        return rc;
    if (*output != '/' && working_directory(pattern, sizeof pattern))
        return mt_fail("the working directory is not known: %s", strerror(errno));
    size_t n = strlen(pattern);
    if ((size_t)snprintf(pattern + n, sizeof pattern - n, "%s", output) >= sizeof pattern - n)
        return mt_fail("%s: the name is too long", output);
    return setenv("MEMTAP_OUTPUT", pattern, 1) ? mt_fail("out of memory") : 0;
}

/* Short, where the trace is in the working directory. */
static const char *short_path(const char *trace)
{
    char folder[PATH_MAX];
    if (!getcwd(folder, sizeof folder))
        return trace;
    size_t n = strlen(folder);
    return !strncmp(trace, folder, n) && trace[n] == '/' ? trace + n + 1 : trace;
}

/* What the trace says itself in its end block; else it is read through, unless that takes long. 0,
 * or a negative errno with *error filled. */
static int look(const char *trace, struct mt_survey *survey, struct mt_trace_error *error)
{
    struct mt_reader *reader;
    int rc = mt_reader_open(&reader, trace, error);
    if (rc)
        return rc;
    const struct mt_end *end = mt_reader_end(reader);
    mt_survey_begin(survey, trace);
    survey->state = mt_reader_state(reader);
    if (end)
        survey->events = end->events;
    else if (survey->bytes <= COUNTED_BYTES)
        rc = mt_survey(trace, survey, NULL, error);
    mt_reader_close(reader);
    return rc;
}

static void tell_trace(const char *trace, uint64_t cpu_ns)
{
    static const char *const states[MT_TRACE_STATES] = {
        [MT_TRACE_CLOSED] = "",
        [MT_TRACE_RUNNING] = ", still being written",
        [MT_TRACE_KILLED] = ", the program was killed",
        [MT_TRACE_OPEN] = ", its recording was not closed",
        [MT_TRACE_STOPPED] = ", up to where it could not be written any further",
        [MT_TRACE_EXECUTED] = ", up to where the process became another program",
    };
    char events[MT_SIZE_TEXT], bytes[MT_SIZE_TEXT], cost[64] = "";
    struct mt_survey survey;
    struct mt_trace_error error;
    const char *name = short_path(trace), *quote = strpbrk(name, " '\"$&;()*?") ? "'" : "";
    if (look(trace, &survey, &error)) {
        mt_say("%s: %s", name, error.text);
        return;
    }
    int is_counted = survey.state == MT_TRACE_CLOSED || survey.bytes <= COUNTED_BYTES;
    if (cpu_ns)
        snprintf(cost, sizeof cost,
                 cpu_ns < 1000000000 ? ", %.1f ms of CPU time to write"
                                     : ", %.1f s of CPU time to write",
                 (double)cpu_ns / (cpu_ns < 1000000000 ? 1e6 : 1e9));
    mt_say("%s: %s%s%s%s%s; to see it: memtap report %s%s%s", name,
           is_counted ? mt_count_text(events, survey.events) : "", is_counted ? " events, " : "",
           mt_size_text(bytes, survey.bytes), cost, states[survey.state], quote, name, quote);
}

static void tell_none(const char *program)
{
    char folder[PATH_MAX];
    if (mt_pytorch_without_cuda(program, folder))
        mt_say("no process used CUDA, so no trace was written: the PyTorch in %s is built "
               "without CUDA; install its CUDA build",
               folder);
    else
        mt_say("no process used CUDA, so no trace was written");
}

static void tell_nothing(const char *trace, uint64_t cpu_ns)
{
    (void)trace;
    (void)cpu_ns;
}

static int record(char **program, int quiet)
{
    struct mt_roster roster;
    int rc = mt_roster_create(&roster);
    if (rc)
        return mt_fail("%s: no temporary file can be made in it: %s; set TMPDIR to another folder",
                       mt_roster_folder(), strerror(-rc));
    if (setenv("MEMTAP_ROSTER", roster.path, 1)) {
        mt_roster_destroy(&roster);
        return mt_fail("out of memory");
    }
    int code = mt_child_run(program);
    unsigned traces = mt_roster_each(&roster, quiet ? tell_nothing : tell_trace);
    if (!traces && !quiet && code != MT_EXIT_NOT_FOUND && code != MT_EXIT_NOT_EXECUTABLE)
        tell_none(program[0]);
    mt_roster_destroy(&roster);
    return code;
}

int mt_run_run(const struct mt_command *command, int argc, char **argv)
{
    struct arguments arguments;
    int operand;
    if (read_arguments(command, argc, argv, &arguments, &operand))
        return MT_EXIT_BAD;
    if (mt_simulation_is_list(&arguments.simulation)) {
        mt_simulation_list();
        return MT_EXIT_OK;
    }
    if (operand == argc)
        return mt_fail_usage(command, "no command to run is given");
    int rc = set_stacks(command, arguments.stacks);
    if (!rc)
        rc = set_cupti(command, arguments.cupti);
    if (!rc)
        rc = set_level(command, arguments.level);
    if (!rc)
        rc = set_output(arguments.output);
    if (!rc && arguments.verbose && setenv("MEMTAP_VERBOSE", "1", 1))
        rc = mt_fail("out of memory");
    if (!rc)
        rc = set_keep(command, arguments.keep);
    if (!rc)
        rc = preload();
    if (!rc && arguments.simulate)
        rc = mt_simulation_prepare(command, &arguments.simulation, argv[operand]);
    return rc ? rc : record(argv + operand, arguments.quiet);
}
