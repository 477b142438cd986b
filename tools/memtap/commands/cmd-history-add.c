/* SPDX-License-Identifier: Apache-2.0 */
#include "commands.h"
#include "compare/history/history.h"
#include "compare/history/trace-copy.h"
#include "steps.h"
#include "tools/memtap/input/history-location.h"
#include "tools/memtap/input/revision.h"
#include "tools/memtap/input/trace-arguments.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_TAGS 32

struct arguments {
    struct mt_history_location place;
    struct mt_revision revision;
    const char *commit, *branch, *keep;
    const char *tag[MOST_TAGS + 1];
    size_t n_tags;
    struct mt_user_rules *rules;
    struct mt_store store;
};

static int note_tag(const struct mt_typed *typed)
{
    struct arguments *arguments = typed->arguments;
    const char *value = typed->value;
    if (!*value || strchr(value, ',') || arguments->n_tags == MOST_TAGS)
        return mt_fail_usage(typed->command,
                             "invalid tag '%s'; expected 1 to %d tags without "
                             "commas",
                             value, MOST_TAGS);
    arguments->tag[arguments->n_tags++] = value;
    return 0;
}

/* clang-format off */
#define PLACE(member) offsetof(struct arguments, member)
const struct mt_option mt_history_add_options[] = {
    {0, "commit", "ID", "the commit that ran (default: from the CI service's\nvariables, else "
                        "from git)", NULL, mt_note_text,
     PLACE(commit)},
    {0, "branch", "NAME", "its branch (default: as for --commit)", NULL, mt_note_text, PLACE(branch)},
    {0, "tag", "NAME", "a label to filter runs by; may be repeated", NULL, note_tag},
    {0, "keep", "FOLDER", "copy the traces to this folder", NULL, mt_note_text, PLACE(keep)},
    MT_RULES_OPTION(arguments, rules),
    MT_DB_OPTIONS(arguments, place),
    {0},
};
/* clang-format on */

/* Copy the trace. Return 0, or MT_EXIT_BAD after a message. */
static int keep_copy(struct arguments *arguments, struct mt_new_trace *trace, const char *path)
{
    int rc = mt_history_copy_trace(path, arguments->keep, trace->checksum, trace->path);
    trace->is_kept = true;
    return rc ? mt_fail("%s: cannot copy to %s: %s", path, arguments->keep, strerror(-rc)) : 0;
}

static int insert(struct arguments *arguments, const struct mt_new_trace *trace, const char *path)
{
    char size[MT_SIZE_TEXT];
    int64_t run;
    bool is_new;
    const struct mt_digest_device *device = mt_digest_main_device(&trace->digest);
    char gone[PATH_MAX] = "";
    if (mt_history_add(&arguments->store, trace, &run, &is_new, gone))
        return mt_fail("%s", arguments->store.error);
    int rc = *gone && strcmp(gone, trace->path)
                 ? mt_history_remove_copy(&arguments->place, gone, arguments->keep)
                 : 0;
    if (rc)
        mt_say("%s: cannot remove: %s", gone, mt_history_remove_error(rc));
    char ended[MT_ENDED_TEXT];
    const struct mt_ended *end = &trace->digest.ended;
    mt_print_text(path);
    if (!is_new)
        printf(": already in run %lld\n", (long long)run);
    else
        printf(": run %lld, %s%s%speak %s\n", (long long)run,
               mt_ended_is_plain(end) ? "" : "ended: ",
               mt_ended_is_plain(end) ? "" : mt_ended_text(ended, end),
               mt_ended_is_plain(end) ? "" : "; ",
               device ? mt_size_text(size, device->allocated) : "none");
    return MT_EXIT_OK;
}

/* Analyze a trace. Refuse an invalid one, whose peak could look like a step in the trend. */
static int analyze(struct arguments *arguments, struct mt_new_trace *trace, const char *path)
{
    struct mt_trace_error error = {0};
    if (mt_digest_read(&trace->digest, path, arguments->rules, &error))
        return mt_fail_trace(path, &error);
    if (!trace->digest.is_sound)
        return mt_fail("%s: %s; not added; memtap recover saves the readable part", path,
                       trace->digest.fault);
    int rc = arguments->keep ? keep_copy(arguments, trace, path) : 0;
    return rc ? rc : insert(arguments, trace, path);
}

static int add(struct arguments *arguments, const char *path)
{
    struct mt_new_trace trace = {.commit = arguments->revision.commit,
                                 .branch = arguments->revision.branch,
                                 .tag = arguments->tag};
    if (!realpath(path, trace.path))
        return mt_fail("%s: %s; give the path of a trace (*.mtap)", path, strerror(errno));
    int rc = mt_checksum_file(trace.checksum, &trace.size, path, -1);
    if (rc)
        return mt_fail("%s: %s; give the path of a trace (*.mtap)", path, strerror(-rc));
    int64_t run = mt_history_find(&arguments->store, trace.checksum);
    if (run) {
        mt_print_text(path);
        printf(": already in run %lld\n", (long long)run);
    } else {
        rc = arguments->store.failed ? mt_fail("%s", arguments->store.error)
                                     : analyze(arguments, &trace, path);
    }
    mt_digest_clear(&trace.digest);
    return rc;
}

static int add_all(struct arguments *arguments, int n, char *const *paths)
{
    int code = MT_EXIT_OK;
    mt_revision_find(&arguments->revision, arguments->commit, arguments->branch);
    if (mt_history_location_open(&arguments->place, &arguments->store, MT_STORE_WRITE))
        code = mt_fail("%s", arguments->store.error);
    for (int i = 0; i < n && !arguments->store.failed; i++)
        if (add(arguments, paths[i]))
            code = MT_EXIT_BAD;
    mt_store_close(&arguments->store);
    return code;
}

int mt_history_add_traces(const struct mt_command *command, const char *db,
                          struct mt_user_rules *rules, char *const *paths, size_t n)
{
    struct arguments arguments = {.place = MT_HISTORY_PLACE, .rules = rules};
    arguments.place.db = db;
    return mt_history_location_find(command, &arguments.place) ? MT_EXIT_BAD
                                                               : add_all(&arguments, (int)n, paths);
}

int mt_run_history_add(const struct mt_command *command, int argc, char **argv)
{
    struct arguments arguments = {.place = MT_HISTORY_PLACE};
    int code = MT_EXIT_BAD, operand = mt_options_read(command, argc, argv, &arguments);
    if (operand == argc)
        mt_fail_usage(command, "no trace given");
    else if (operand > 0 && !mt_history_location_find(command, &arguments.place))
        code = add_all(&arguments, argc - operand, argv + operand);
    mt_user_rules_destroy(arguments.rules);
    return code;
}
