/* SPDX-License-Identifier: Apache-2.0 */
#include "commands.h"
#include "nightly/history/history.h"
#include "nightly/history/trace-copy.h"
#include "steps.h"
#include "tools/input/history-location.h"
#include "tools/input/revision.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_TAGS 32

enum { COMMIT = 256, BRANCH, TAG, KEEP, RULES };

const struct mt_option mt_history_add_options[] = {
    {COMMIT, "commit", "ID", "the commit that ran (default: what a CI service sets,\nelse git's)"},
    {BRANCH, "branch", "NAME", "its branch (default: as for --commit)"},
    {TAG, "tag", "NAME", "a word to find the runs by; may be repeated"},
    {KEEP, "keep", "FOLDER", "copy the traces to this folder"},
    {RULES, "rules", "FILE", "apply your own rules first: memtap-rules(5)"},
    MT_DB_OPTIONS,
    {0},
};

struct arguments {
    struct mt_history_location place;
    struct mt_revision revision;
    const char *commit, *branch, *keep;
    const char *tag[MOST_TAGS + 1];
    size_t n_tags;
    struct mt_user_rules *rules;
    struct mt_store store;
};

static int read_rules(const char *path, struct arguments *arguments)
{
    struct mt_rules_error error;
    mt_user_rules_destroy(arguments->rules);
    int rc = mt_user_rules_read(&arguments->rules, path, &error);
    if (rc)
        mt_fail_rules(path, rc, &error);
    return rc;
}

static int read_option(const struct mt_command *command, int letter, const char *value,
                       struct arguments *arguments)
{
    switch (letter) {
    case COMMIT:
        arguments->commit = value;
        return 0;
    case BRANCH:
        arguments->branch = value;
        return 0;
    case KEEP:
        arguments->keep = value;
        return 0;
    case RULES:
        return read_rules(value, arguments);
    case TAG:
        if (!*value || strchr(value, ',') || arguments->n_tags == MOST_TAGS) {
            mt_fail_usage(command, "bad tag '%s'; give 1 to %d tags, without commas", value,
                          MOST_TAGS);
            return -1;
        }
        arguments->tag[arguments->n_tags++] = value;
        return 0;
    default:
        return mt_history_location_option(command, letter, value, &arguments->place);
    }
}

/* 0, or MT_EXIT_BAD after a message. */
static int keep_copy(struct arguments *arguments, struct mt_new_trace *trace, const char *path)
{
    int rc = mt_history_copy_trace(path, arguments->keep, trace->checksum, trace->path);
    trace->is_kept = true;
    return rc ? mt_fail("%s: cannot be copied to %s: %s", path, arguments->keep, strerror(-rc)) : 0;
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
    if (*gone && strcmp(gone, trace->path) && mt_history_remove_trace(gone))
        mt_say("%s: cannot be removed: %s", gone, strerror(errno));
    char ended[MT_ENDED_TEXT];
    const struct mt_ended *end = &trace->digest.ended;
    mt_print_text(path);
    if (!is_new)
        printf(": already there, in run %lld\n", (long long)run);
    else
        printf(": run %lld, %s%s%speak %s\n", (long long)run,
               mt_ended_is_plain(end) ? "" : "ended: ",
               mt_ended_is_plain(end) ? "" : mt_ended_text(ended, end),
               mt_ended_is_plain(end) ? "" : "; ",
               device ? mt_size_text(size, device->allocated) : "none");
    return MT_EXIT_OK;
}

/* An invalid trace may have any peak: trend would take it for a step. */
static int analyze(struct arguments *arguments, struct mt_new_trace *trace, const char *path)
{
    struct mt_trace_error error = {0};
    if (mt_digest_read(&trace->digest, path, arguments->rules, &error))
        return mt_fail_trace(path, &error);
    if (!trace->digest.is_sound)
        return mt_fail("%s: %s; not added: memtap recover makes a readable trace of what is there",
                       path, trace->digest.fault);
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
        printf(": already there, in run %lld\n", (long long)run);
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
    const char *value;
    int operand, letter, code = MT_EXIT_BAD;
    while ((letter = mt_options_next(command, argc, argv, &value, &operand)) > 0)
        if (read_option(command, letter, value, &arguments))
            break;
    if (!letter && operand == argc)
        mt_fail_usage(command, "no trace given");
    else if (!letter && !mt_history_location_find(command, &arguments.place))
        code = add_all(&arguments, argc - operand, argv + operand);
    mt_user_rules_destroy(arguments.rules);
    return code;
}
