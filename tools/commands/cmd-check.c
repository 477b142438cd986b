/* SPDX-License-Identifier: Apache-2.0 */
#include "analyzer/support/new-file.h"
#include "commands.h"
#include "nightly/check/check-formats.h"
#include "nightly/history/read-all.h"
#include "steps.h"
#include "tools/input/check-arguments.h"
#include "tools/input/digests.h"
#include "tools/terminal/command.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { BROKEN = 1 };

static int fail_output(const char *path, int rc)
{
    if (rc == -ENOMEM)
        mt_fail_memory();
    else if (rc)
        mt_fail("%s: the output could not be written: %s", path, mt_output_error(rc));
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

/* Check runs even if events were lost, but then they cannot be good. */
static int hold(const struct mt_check_arguments *arguments, struct mt_digests *runs,
                struct mt_digests *baselines, mt_check_found *found, void *data)
{
    struct mt_check check;
    if (arguments->are_nights) {
        mt_group_by_folder(runs->digest, runs->n);
        mt_group_by_folder(baselines->digest, baselines->n);
    }
    mt_print_differences(runs, baselines);
    struct mt_check_allowed allowed = arguments->allowed;
    allowed.missing = arguments->missing;
    int rc = mt_check_make(&check, &arguments->budget, &allowed, runs->digest, runs->n,
                           baselines->digest, baselines->n);
    if (!rc && check.broken && baselines->n && find_moved(runs, baselines, arguments)) {
        mt_check_clear(&check);
        rc = mt_check_make(&check, &arguments->budget, &allowed, runs->digest, runs->n,
                           baselines->digest, baselines->n);
    }
    if (!rc && found)
        found(data, check.broken, runs);
    int code = rc ? mt_fail_memory() : print(&check, arguments);
    mt_check_clear(&check);
    if (!code && !mt_digests_are_whole(runs, arguments->allowed.ends, "a checked run"))
        code = MT_EXIT_BAD;
    if (code != MT_EXIT_BAD && !arguments->allows_unknown && !mt_digests_are_computed(runs))
        code = MT_EXIT_BAD;
    return code;
}

int mt_check_traces(const struct mt_check_arguments *arguments, mt_check_found *found, void *data)
{
    struct mt_digests runs = {0}, baselines = {0};
    int code = MT_EXIT_BAD;
    if (!mt_digests_read(&baselines, arguments->baselines.path, arguments->baselines.n,
                         arguments->rules) &&
        mt_digests_are_whole(&baselines, arguments->allowed.ends, "a baseline") &&
        !mt_digests_read(&runs, arguments->runs.path, arguments->runs.n, arguments->rules))
        code = hold(arguments, &runs, &baselines, found, data);
    mt_digests_clear(&runs);
    mt_digests_clear(&baselines);
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
