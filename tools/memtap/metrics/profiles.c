/* SPDX-License-Identifier: Apache-2.0 */
#include "profiles.h"
#include "analyzer/support/new-file.h"
#include "analyzer/support/progress.h"
#include "exchange/export/export.h"
#include "tools/memtap/input/followed.h"
#include "tools/memtap/terminal/command.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define SHAPE "memtap-########T######Z.pb.gz"
#define TIME_TEXT "memtap-%Y%m%dT%H%M%SZ.pb.gz"

/* Return whether a file is one of these profiles, by its name. */
static int is_profile(const struct dirent *entry)
{
    const char *shape = SHAPE, *name = entry->d_name;
    while (*shape && (*shape == '#' ? *name >= '0' && *name <= '9' : *name == *shape)) {
        shape++;
        name++;
    }
    return !*shape && !*name;
}

/* Remove the oldest profiles beyond the number to keep. */
static void remove_old(const struct mt_profiles *profiles)
{
    struct dirent **entries;
    int n = scandir(profiles->folder, &entries, is_profile, alphasort);
    for (int i = 0; i < n; i++) {
        char path[PATH_MAX];
        bool is_old = (uint64_t)(n - i) > profiles->keep;
        if (is_old && snprintf(path, sizeof path, "%s/%s", profiles->folder, entries[i]->d_name) <
                          (int)sizeof path)
            unlink(path);
        free(entries[i]);
    }
    if (n >= 0)
        free(entries);
}

static int write_file(const char *path, const struct mt_replay *const *replays, size_t n,
                      uint64_t realtime_ns)
{
    struct mt_new_file file;
    struct mt_sink *sink = calloc(1, sizeof *sink);
    int rc = sink ? mt_new_file_open(&file, path, MT_FILE_AS_INPUTS) : -ENOMEM;
    if (rc) {
        free(sink);
        return rc;
    }
    sink->fd = file.fd;
    rc = mt_export_pprof_now(replays, n, realtime_ns, sink);
    if (!rc)
        rc = mt_sink_flush(sink);
    if (sink->rc)
        rc = sink->rc;
    free(sink);
    if (!rc)
        return mt_new_file_keep(&file);
    mt_new_file_drop(&file);
    return rc;
}

/* Write the memory live now in the existing traces. Return an exit code. */
static int write_now(const struct mt_profiles *profiles, struct mt_followed *traces)
{
    char name[64], path[PATH_MAX];
    struct timespec now;
    struct tm utc;
    size_t n = 0;
    int rc = 0;
    const struct mt_replay **replays = calloc(profiles->traces->n, sizeof *replays);
    for (size_t i = 0; replays && !rc && i < profiles->traces->n; i++) {
        if (!traces[i].follow)
            continue;
        rc = mt_followed_define(&traces[i]);
        replays[n++] = mt_follow_replay(traces[i].follow);
    }
    clock_gettime(CLOCK_REALTIME, &now);
    strftime(name, sizeof name, TIME_TEXT, gmtime_r(&now.tv_sec, &utc));
    if (!replays)
        rc = -ENOMEM;
    else if (!rc &&
             snprintf(path, sizeof path, "%s/%s", profiles->folder, name) >= (int)sizeof path)
        rc = -ENAMETOOLONG;
    if (!rc && n)
        rc = write_file(path, replays, n,
                        (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec);
    free(replays);
    if (rc)
        return rc == -ENOMEM
                   ? mt_fail_memory()
                   : mt_fail("%s: cannot write: %s", profiles->folder, mt_output_error(rc));
    remove_old(profiles);
    return MT_EXIT_OK;
}

int mt_profiles_write(const struct mt_profiles *profiles)
{
    uint64_t every_ns = (uint64_t)(profiles->every_s * 1e9), next = mt_now_ns() + every_ns;
    size_t n = profiles->traces->n;
    struct mt_followed *traces = mt_followed_create(profiles->traces->path, n);
    if (!traces)
        return mt_fail_memory();
    int code = MT_EXIT_OK;
    while (!code && !mt_followed_read(traces, n, profiles->question)) {
        if (mt_now_ns() >= next) {
            code = write_now(profiles, traces);
            next = mt_now_ns() + every_ns;
        }
        mt_followed_wait(profiles->every_s);
    }
    if (!code)
        code = write_now(profiles, traces);
    mt_followed_destroy(traces, n);
    return code;
}
