/* SPDX-License-Identifier: Apache-2.0 */
#include "commands.h"
#include "planner/advice/answer.h"
#include "planner/advice/plan-report.h"
#include "planner/requests/recorded-conf.h"
#include "planner/rest/cut.h"
#include "tools/memtap/input/trace-arguments.h"
#include "tools/memtap/launch/simulation.h"
#include "tools/memtap/terminal/command.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MOST_CONFS 64u
#define MOST_CHANGES 64u

/* What the printer needs besides; arguments comes first. */
struct plan_arguments {
    struct mt_trace_arguments trace;
    const struct mt_command *command;
    struct mt_gathering *gathering;
    struct mt_watcher watcher;
    const char *conf[MOST_CONFS];
    size_t n_confs;
    const char *change[MOST_CHANGES];
    size_t n_changes;
    struct mt_recording *recording; /* NULL: nobody asks for changes */
    struct mt_simulation card;
    struct mt_plan_card requested_card;
};

static int note_conf(const struct mt_typed *typed)
{
    struct plan_arguments *arguments = typed->arguments;
    return mt_append_text(typed, arguments->conf, &arguments->n_confs, MOST_CONFS, "settings");
}

static int note_change(const struct mt_typed *typed)
{
    struct plan_arguments *arguments = typed->arguments;
    return mt_append_text(typed, arguments->change, &arguments->n_changes, MOST_CHANGES, "changes");
}

/* clang-format off */
const struct mt_option mt_plan_options[] = {
    MT_FORMAT_OPTION(plan_arguments, trace.format, "text (the default) or json", "text json"),
    {0, "conf", "SETTING",
     "try this setting instead of memtap's list, such as\nmax_split_size_mb:64; may be given again", NULL, note_conf},
    {0, "change", "CHANGE",
     "model this change of the program instead of memtap's list,\nsuch as zero3:8; may be given again", NULL, note_change},
    {'g', "gpu", "NAME", "for another card: h200 ...; list prints all of them", "list " MT_CARDS, mt_note_text,
     offsetof(struct plan_arguments, card.gpu)},
    {'m', "memory", "SIZE", "for a card of this memory, such as 24G or 512MiB", NULL, mt_note_text,
     offsetof(struct plan_arguments, card.memory)},
    MT_DEVICE_OPTION(plan_arguments, trace.question, "show only CUDA device N"),
    MT_COLOR_OPTION,
    {0},
};
/* clang-format on */

static const char *info(const struct mt_analysis *analysis, const char *key)
{
    return mt_info(analysis->replay.definitions, key);
}

static int make_plans(const struct mt_analysis *analysis, const struct plan_arguments *arguments,
                      const struct mt_requests *requests, size_t n, struct mt_plan *plans)
{
    struct mt_alloc_conf_error error = {""};
    size_t wrong = 0;
    struct mt_plan_question question = {.torch = info(analysis, "torch"),
                                        .conf = mt_recorded_conf(analysis->replay.definitions),
                                        .wanted = arguments->conf,
                                        .n_wanted = arguments->n_confs,
                                        .card = arguments->requested_card};
    for (size_t i = 0; i < n; i++) {
        int rc = mt_plan_make(&plans[i], &requests[i], &question, &wrong, &error);
        if (rc == -EINVAL && *error.text)
            return mt_fail("--conf %s: %s", arguments->conf[wrong], error.text);
        if (rc)
            return rc == -EINVAL
                       ? mt_fail("%s: its requests do not fit together; run memtap report",
                                 arguments->trace.path)
                       : rc;
    }
    return 0;
}

static const struct mt_unneeded *unneeded_of(const struct mt_analysis *analysis, int device)
{
    static const struct mt_unneeded nothing;
    for (size_t i = 0; i < analysis->n_devices; i++)
        if (analysis->devices[i].device == device)
            return &analysis->devices[i].unneeded;
    return &nothing;
}

/* Set what was requested, or sensible defaults. 0, -ENOMEM, or an exit code after a message. */
static int model_changes(const struct mt_analysis *analysis, const struct plan_arguments *arguments,
                         const struct mt_plan *plan, struct mt_cut_run *cut,
                         struct mt_modelled_changes *changes)
{
    size_t at = 0;
    int rc = mt_answer_model(changes, cut, arguments->recording, &analysis->replay, plan->requests,
                             unneeded_of(analysis, plan->requests->device), arguments->change,
                             arguments->n_changes, &at);
    if (rc == -EINVAL) {
        char wrong[1024] = "";
        FILE *out = fmemopen(wrong, sizeof wrong, "w");
        if (out) {
            mt_change_wrong(out, arguments->change[at]);
            fclose(out);
        }
        return mt_fail_usage(arguments->command, "%s", wrong);
    }
    return rc;
}

/* What the command prints. */
struct shown {
    const struct mt_plan *plans;
    size_t n;
    struct mt_cut_run cut; /* what would have followed, where the trace ends as memory ran out */
    struct mt_modelled_changes changes;
    struct mt_plan_answer answer; /* of the device with the highest peak */
};

static int answer(const struct plan_arguments *arguments, struct shown *shown)
{
    const struct mt_plan *plan = mt_plan_main(shown->plans, shown->n);
    struct mt_recording *recording = arguments->recording;
    return mt_answer_make(&shown->answer, plan, shown->cut.rest.known ? &shown->cut : NULL,
                          recording, recording ? &shown->changes : NULL);
}

/* Return the exit code; on the other devices only settings were tried. */
static int exit_code(const struct shown *shown)
{
    const struct mt_plan *plan = mt_plan_main(shown->plans, shown->n);
    bool fits = mt_answer_is_found(&shown->answer);
    for (size_t i = 0; i < shown->n; i++)
        fits &= &shown->plans[i] == plan || mt_plan_fits(&shown->plans[i], 1);
    return fits ? MT_EXIT_OK : 1;
}

static int show(const struct mt_analysis *analysis, const struct plan_arguments *arguments,
                const struct shown *shown)
{
    struct mt_style style = mt_terminal_style();
    if (arguments->trace.format == MT_FORMAT_JSON) {
        int rc = mt_plan_json(shown->plans, shown->n, analysis, mt_modelled_json(&shown->changes),
                              mt_answer_json(&shown->answer), stdout);
        if (rc == -ENOMEM)
            return rc;
    } else {
        mt_plan_head_text(analysis, stdout, &style);
        if (arguments->n_changes)
            mt_modelled_text(stdout, &shown->changes, &style);
        mt_answer_text(&shown->answer, shown->n > 1, stdout, &style);
        mt_plan_text(shown->plans, shown->n, analysis, stdout, &style);
        if (shown->changes.n && !arguments->n_changes)
            mt_modelled_text(stdout, &shown->changes, &style);
    }
    struct mt_ended ended = mt_analysis_ended(analysis);
    return mt_finish_output(mt_fail_open(arguments->trace.path, &ended, exit_code(shown)));
}

/* Select only the requested device. */
static size_t choose(const struct mt_trace_arguments *arguments,
                     const struct mt_requests **requests, size_t n)
{
    if (!arguments->question.one_device)
        return n;
    for (size_t i = 0; i < n; i++)
        if ((*requests)[i].device == arguments->question.device) {
            *requests += i;
            return 1;
        }
    return 0;
}

static int print(const struct mt_analysis *analysis, const struct mt_trace_arguments *trace)
{
    const struct plan_arguments *arguments = (const struct plan_arguments *)(const void *)trace;
    size_t n;
    if (mt_compact_of(analysis->replay.definitions))
        return mt_fail("%s: a compact copy lacks requests; give memtap plan the original trace",
                       trace->path);
    if (info(analysis, "env.PYTORCH_NO_CUDA_MEMORY_CACHING"))
        return mt_fail("%s: the run disabled PyTorch's cache (PYTORCH_NO_CUDA_MEMORY_CACHING); "
                       "record it without that variable",
                       trace->path);
    const struct mt_requests *requests = mt_gathering_finish(arguments->gathering, &n);
    if (!n)
        return mt_fail(
            "%s: PyTorch's allocator was not used; memtap plan replays only its requests",
            trace->path);
    n = choose(trace, &requests, n);
    if (!n)
        return mt_fail("%s: PyTorch allocated nothing on device %d", trace->path,
                       trace->question.device);
    struct mt_plan *plans = calloc(n, sizeof *plans);
    if (!plans)
        return -ENOMEM;
    int rc = make_plans(analysis, arguments, requests, n, plans);
    struct shown shown = {.plans = plans, .n = n};
    if (!rc && arguments->recording)
        rc = model_changes(analysis, arguments, mt_plan_main(plans, n), &shown.cut, &shown.changes);
    if (!rc)
        rc = answer(arguments, &shown);
    if (!rc)
        rc = show(analysis, arguments, &shown);
    mt_modelled_clear(&shown.changes);
    mt_answer_clear(&shown.answer);
    mt_cut_clear(&shown.cut);
    for (size_t i = 0; i < n; i++)
        mt_plan_clear(&plans[i]);
    free(plans);
    return rc;
}

/* Note requests for the settings, and what happened for the changes. */
static int note(void *data, const struct mt_replay *replay, const struct mt_event *event)
{
    struct plan_arguments *arguments = data;
    int rc = mt_gather(arguments->gathering, replay, event);
    if (rc || !arguments->recording)
        return rc;
    return arguments->recording->watcher.saw(arguments->recording, replay, event);
}

static int run(const struct mt_command *command, struct plan_arguments *arguments)
{
    struct mt_recording recording = {0};
    arguments->gathering = mt_gathering_create();
    if (!arguments->gathering)
        return mt_fail_memory();
    if (arguments->n_changes || !arguments->n_confs) {
        arguments->recording = &recording;
        mt_recording_watch(&recording, &arguments->trace.question);
    }
    arguments->watcher = (struct mt_watcher){note, arguments};
    arguments->trace.question.watcher = &arguments->watcher;
    (void)command;
    int code = mt_on_trace(&arguments->trace, print);
    mt_gathering_destroy(arguments->gathering);
    mt_recording_clear(&recording);
    return code;
}

int mt_run_plan(const struct mt_command *command, int argc, char **argv)
{
    struct plan_arguments arguments = {.command = command};
    int operand = mt_options_read(command, argc, argv, &arguments);
    if (operand < 0)
        return MT_EXIT_BAD;
    if (mt_simulation_is_list(&arguments.card)) {
        mt_simulation_list();
        return MT_EXIT_OK;
    }
    int rc = mt_simulation_card(command, &arguments.card, &arguments.requested_card.name,
                                &arguments.requested_card.total);
    if (!rc)
        rc = mt_find_traces(command, argv + operand, argc - operand, MT_TRACE_OUT_OF_MEMORY,
                            &arguments.trace)
                 ? MT_EXIT_BAD
                 : 0;
    if (!rc)
        rc = run(command, &arguments);
    else
        mt_trace_arguments_clear(&arguments.trace);
    return rc;
}
