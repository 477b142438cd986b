/* SPDX-License-Identifier: Apache-2.0 */
#include "analyzer/support/new-file.h"
#include "commands.h"
#include "compare/check/check-formats.h"
#include "compare/history/read-all.h"
#include "steps.h"
#include "tools/memtap/input/check-arguments.h"
#include "tools/memtap/input/digests.h"
#include "tools/memtap/input/night-steps.h"
#include "tools/memtap/terminal/command.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { BROKEN = 1 };

static int fail_output(const char *path, int rc)
{
    if (rc == -ENOMEM)
        mt_fail_memory();
    else if (rc)
        mt_fail("%s: cannot write: %s", path, mt_output_error(rc));
    return rc;
}

/* Print to a path; "": standard output. */
static int print_to(const struct mt_check *check, mt_check_printer *print, const char *path)
{
    struct mt_new_file file;
    if (!*path)
        return fail_output(path, print(check, stdout));
    int rc = mt_new_file_open(&file, path, 0);
    FILE *out = rc ? NULL : mt_new_file_stream(&file);
    if (!rc)
        rc = mt_new_file_close(&file, out, out ? print(check, out) : -errno);
    return fail_output(path, rc);
}

static int add_to(const struct mt_check *check, mt_check_printer *print, const char *path)
{
    int fd = mt_append_open(path), rc = fd < 0 ? fd : 0;
    FILE *out = rc ? NULL : fdopen(fd, "a");
    if (!rc)
        rc = out ? print(check, out) : -errno;
    if (out && fclose(out) && !rc)
        rc = -errno;
    return fail_output(path, rc);
}

static int print(const struct mt_check *check, const struct mt_check_arguments *arguments)
{
    int rc = 0;
    for (size_t i = 0; i < arguments->n_outputs && !rc; i++)
        rc = print_to(check, arguments->output[i].format->print, arguments->output[i].path);
    if (!rc && arguments->summary)
        rc = add_to(check, mt_check_summary, arguments->summary);
    return rc ? MT_EXIT_BAD : check->broken ? BROKEN : MT_EXIT_OK;
}

/* Read the baselines at their highest moments in a run's phase, to find the cause of a peak that
 * moved to another phase. Return whether there are any. */
static int find_moved(const struct mt_digests *runs, const struct mt_digests *baselines,
                      const struct mt_check_arguments *arguments)
{
    const struct mt_question question = {.rules = arguments->rules};
    int found = 0;
    for (size_t i = 0; i < runs->n; i++) {
        const struct mt_digest_device *device = mt_digest_main_device(&runs->digest[i]);
        if (device && device->iterations)
            found |=
                mt_read_in_phase(baselines->digest, baselines->n, device->phase, &question) > 0;
    }
    return found;
}

/* The inputs of a check. */
struct sides {
    struct mt_digests runs, baselines, pinned, since;
    struct mt_budget exact; /* the default budget of a simulated card */
};

static const struct mt_budget *choose_budget(const struct mt_check_arguments *arguments,
                                             struct sides *sides)
{
    struct mt_budget_error error;
    if (!arguments->are_nights || *arguments->budget.path ||
        !mt_are_simulated(&sides->runs, &sides->baselines) ||
        mt_budget_parse(&sides->exact, "", mt_budget_default_exact, strlen(mt_budget_default_exact),
                        &error))
        return &arguments->budget;
    mt_keep_newest_night(&sides->baselines);
    return &sides->exact;
}

static int make(struct mt_check *check, const struct mt_budget *budget,
                const struct mt_check_arguments *arguments, struct sides *sides)
{
    struct mt_check_allowed allowed = arguments->allowed;
    const struct mt_digests *runs = &sides->runs, *baselines = &sides->baselines;
    allowed.missing = arguments->missing;
    int rc = mt_check_make(check, budget, &allowed, runs->digest, runs->n, baselines->digest,
                           baselines->n);
    if (rc || !check->broken || !baselines->n || !find_moved(runs, baselines, arguments))
        return rc;
    mt_check_clear(check);
    return mt_check_make(check, budget, &allowed, runs->digest, runs->n, baselines->digest,
                         baselines->n);
}

/* Check against the pinned run, from which small steps add up. */
static int make_pinned(struct mt_check *check, struct mt_check *pinned,
                       const struct mt_budget *budget, const struct sides *sides)
{
    const struct mt_check_allowed all = {.ends = ~0u};
    int rc = sides->pinned.n ? mt_check_make(pinned, budget, &all, sides->runs.digest,
                                             sides->runs.n, sides->pinned.digest, sides->pinned.n)
                             : 0;
    return rc || !sides->pinned.n ? rc : mt_check_add_pinned(check, pinned);
}

/* Print the steps of runs that pass, too. */
static void print_steps(const struct mt_check *check, struct sides *sides)
{
    if (!sides->baselines.n)
        return;
    mt_keep_newest_night(&sides->baselines);
    mt_print_steps(&sides->runs, &sides->baselines, &sides->since, check->budget->ignore.value);
    mt_print_commits(check);
}

/* Check runs even if events were lost, but then they cannot pass. */
static int hold(const struct mt_check_arguments *arguments, struct sides *sides,
                mt_check_found *found, void *data)
{
    struct mt_check check = {0}, pinned = {0};
    struct mt_digests *runs = &sides->runs;
    if (arguments->are_nights) {
        mt_group_by_folder(runs->digest, runs->n);
        mt_group_by_folder(sides->baselines.digest, sides->baselines.n);
    }
    mt_print_differences(runs, &sides->baselines);
    const struct mt_budget *budget = choose_budget(arguments, sides);
    int rc = make(&check, budget, arguments, sides);
    if (!rc)
        rc = make_pinned(&check, &pinned, budget, sides);
    if (!rc && found)
        found(data, check.broken, runs);
    int code = rc ? mt_fail_memory() : print(&check, arguments);
    if (!rc && arguments->are_nights)
        print_steps(&check, sides); /* last, since the check's baselines are replaced */
    mt_check_clear(&check);
    mt_check_clear(&pinned);
    if (!code && !mt_digests_are_complete(runs, arguments->allowed.ends, "a checked run"))
        code = MT_EXIT_BAD;
    if (code != MT_EXIT_BAD && !arguments->allows_unknown && !mt_digests_are_computed(runs))
        code = MT_EXIT_BAD;
    return code;
}

static int read_list(struct mt_digests *digests, const struct mt_trace_list *list,
                     const struct mt_check_arguments *arguments)
{
    return mt_digests_read(digests, list->path, list->n, arguments->rules);
}

int mt_check_traces(const struct mt_check_arguments *arguments, mt_check_found *found, void *data)
{
    struct sides sides = {0};
    int code = MT_EXIT_BAD;
    if (!read_list(&sides.baselines, &arguments->baselines, arguments) &&
        mt_digests_are_complete(&sides.baselines, arguments->allowed.ends, "a baseline") &&
        !read_list(&sides.pinned, &arguments->pinned, arguments) &&
        !read_list(&sides.since, &arguments->since, arguments) &&
        !read_list(&sides.runs, &arguments->runs, arguments))
        code = hold(arguments, &sides, found, data);
    mt_digests_clear(&sides.runs);
    mt_digests_clear(&sides.baselines);
    mt_digests_clear(&sides.pinned);
    mt_digests_clear(&sides.since);
    mt_budget_clear(&sides.exact);
    return code;
}

int mt_run_check(const struct mt_command *command, int argc, char **argv)
{
    struct mt_check_arguments arguments;
    int code = mt_read_check_arguments(&arguments, command, argc, argv)
                   ? MT_EXIT_BAD
                   : mt_check_traces(&arguments, NULL, NULL);
    mt_check_arguments_clear(&arguments);
    return code;
}
