/* SPDX-License-Identifier: Apache-2.0 */
#include "command.h"
#include "analyzer/support/new-file.h"
#include "analyzer/support/progress.h"
#include "figures.h"
#include "tools/memtap/input/followed.h"
#include "tools/memtap/input/trace-arguments.h"
#include "tools/memtap/input/traces.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct arguments {
    const char *output; /* NULL: stdout */
    bool follows, has_every;
    double every_s;
    struct mt_user_rules *rules;
    struct mt_trace_list traces;
};

static int note_every(const struct mt_typed *typed)
{
    struct arguments *arguments = typed->arguments;
    arguments->has_every = true;
    return mt_read_time(typed->command, "every", typed->value, 0.1, 86400, &arguments->every_s);
}

/* clang-format off */
#define PLACE(member) offsetof(struct arguments, member)
const struct mt_option mt_metrics_options[] = {
    {'o', "output", "FILE", "write this file atomically, such "
                            "as\n/var/lib/node_exporter/memtap.prom", NULL,
     mt_note_output, PLACE(output)},
    {0, "follow", NULL, "keep the file up to date until the program ends", NULL, mt_note_flag, PLACE(follows)},
    {0, "every", "SECONDS", "with --follow: interval between writes (5)", NULL, note_every},
    MT_FORCE_OPTION,
    MT_RULES_OPTION(arguments, rules),
    {0}};
/* clang-format on */

/* Refuse duplicate traces, whose samples would have the same labels. */
static int check_traces(const struct arguments *arguments)
{
    char *const *path = arguments->traces.path;
    for (size_t i = 0; i < arguments->traces.n; i++)
        for (size_t j = 0; j < i; j++)
            if (!strcmp(path[i], path[j]))
                return mt_fail("%s: given twice; give each trace once", path[i]);
    return 0;
}

static int read_arguments(const struct mt_command *command, int argc, char **argv,
                          struct arguments *arguments)
{
    int code, operand = mt_options_read(command, argc, argv, arguments);
    if (operand < 0)
        return MT_EXIT_BAD;
    if (arguments->follows && !arguments->output)
        return mt_fail_usage(command, "--follow requires a file; name it with -o FILE");
    if (arguments->has_every && !arguments->follows)
        return mt_fail_usage(command, "--every requires --follow");
    if (arguments->follows)
        code = mt_find_live_traces(&arguments->traces, argv + operand, argc - operand);
    else
        code = mt_trace_list_add_operands(&arguments->traces, argv + operand, argc - operand);
    return code ? MT_EXIT_BAD : check_traces(arguments);
}

static int fail_write(const char *path, int rc)
{
    return mt_fail("%s: cannot write: %s", path, mt_output_error(rc));
}

/* Replace the file completely, or leave it unchanged. Return an exit code. */
static int save(const char *path, const struct mt_figures *figures, size_t n)
{
    struct mt_new_file file;
    int rc = mt_new_file_open(&file, path, 0);
    FILE *out = rc ? NULL : mt_new_file_stream(&file);
    if (out)
        mt_openmetrics_write(out, figures, n);
    if (!rc)
        rc = mt_new_file_close(&file, out, 0);
    return rc ? fail_write(path, rc) : MT_EXIT_OK;
}

static int show(const struct arguments *arguments, const struct mt_figures *figures, size_t n)
{
    if (arguments->output)
        return save(arguments->output, figures, n);
    mt_openmetrics_write(stdout, figures, n);
    return MT_EXIT_OK;
}

static void clear(struct mt_figures *figures, size_t n)
{
    for (size_t i = 0; figures && i < n; i++)
        mt_figures_clear(&figures[i]);
    free(figures);
}

/* Read the traces one after the other and print them. Report invalid ones and continue. */
static int show_whole(const struct arguments *arguments)
{
    size_t n = 0;
    int code = MT_EXIT_OK;
    struct mt_figures *figures = calloc(arguments->traces.n, sizeof *figures);
    for (size_t i = 0; figures && i < arguments->traces.n; i++) {
        struct mt_trace_error fault;
        int rc = mt_figures_read(&figures[n], arguments->traces.path[i], arguments->rules, &fault);
        if (rc || fault.fault)
            code = mt_fail_trace(arguments->traces.path[i], &fault);
        if (rc)
            mt_figures_clear(&figures[n]);
        else
            n++;
    }
    if (!figures)
        code = mt_fail("out of memory");
    else if (n)
        code = show(arguments, figures, n) ? MT_EXIT_BAD : code;
    clear(figures, n);
    return code;
}

/* Print the existing traces as they are now. */
static int show_now(const struct arguments *arguments, struct mt_followed *traces)
{
    size_t n = 0;
    int rc = 0;
    struct mt_figures *figures = calloc(arguments->traces.n, sizeof *figures);
    for (size_t i = 0; figures && !rc && i < arguments->traces.n; i++)
        if (traces[i].follow)
            rc = mt_figures_follow(&figures[n++], &traces[i]);
    int code = !figures || rc ? mt_fail("out of memory")
               : n            ? show(arguments, figures, n)
                              : MT_EXIT_OK;
    clear(figures, n);
    return code;
}

static double now_s(void)
{
    return (double)mt_now_ns() / 1e9;
}

/* Print the traces repeatedly until all have ended, then a last time in full. */
static int follow(const struct arguments *arguments)
{
    const struct mt_question question = {.rules = arguments->rules, .folds_spans = true};
    size_t n = arguments->traces.n;
    struct mt_followed *traces = mt_followed_create(arguments->traces.path, n);
    if (!traces)
        return mt_fail("out of memory");
    int code = MT_EXIT_OK;
    double next = 0;
    while (!code && !mt_followed_read(traces, n, &question)) {
        if (now_s() >= next) {
            code = show_now(arguments, traces);
            next = now_s() + arguments->every_s;
        }
        mt_followed_wait(arguments->every_s);
    }
    mt_followed_destroy(traces, n);
    return code ? code : show_whole(arguments);
}

int mt_run_metrics(const struct mt_command *command, int argc, char **argv)
{
    struct arguments arguments = {.every_s = 5};
    int code = read_arguments(command, argc, argv, &arguments);
    if (!code)
        code = arguments.follows ? follow(&arguments) : show_whole(&arguments);
    mt_trace_list_clear(&arguments.traces);
    mt_user_rules_destroy(arguments.rules);
    return mt_finish_output(code);
}
