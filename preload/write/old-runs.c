/* SPDX-License-Identifier: Apache-2.0 */
#include "old-runs.h"
#include "output.h"
#include "preload/host/memory.h"
#include "preload/host/own-file.h"
#include "preload/host/read-file.h"
#include "preload/host/settings.h"
#include "preload/record/clock.h"
#include "trace-format/author/author.h"
#include "trace-format/block.h"
#include "trace-format/encoder.h"
#include "trace-format/tail.h"

#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define MOST_RUNS 2048u /* at a time */
#define LIST_SIZE 65536u
#define MANIFEST_SIZE 65536u

struct run {
    uint64_t ns; /* when it was last written, by CLOCK_REALTIME */
    uint64_t bytes;
    char name[NAME_MAX + 1];
};

static struct work {
    struct run run[MOST_RUNS];
    unsigned n;
    _Alignas(8) char list[LIST_SIZE]; /* of the folder */
    char manifest[MANIFEST_SIZE];     /* traces of the same memtap run */
    size_t manifest_size;
} *work;

/* The files of a run, in the order of their removal. The trace is last: without it, the others
 * cannot be attributed. */
static const struct {
    const char *suffix, *magic;
} files[] = {
    {MT_TAIL_SUFFIX, MT_TAIL_MAGIC}, {MT_OLDER_SUFFIX, MT_FILE_MAGIC}, {"", MT_FILE_MAGIC}};
#define N_FILES (sizeof files / sizeof *files)
_Static_assert(MT_FILE_MAGIC_SIZE == MT_TAIL_MAGIC_SIZE, "remove_run");

struct path {
    char text[PATH_MAX + NAME_MAX + 8];
};

static struct path path_of(const char *folder, const char *name, const char *suffix)
{
    struct path path;
    snprintf(path.text, sizeof path.text, "%s%s%s", folder, name, suffix);
    return path;
}

/* Not opendir, which allocates. */
struct entry {
    uint64_t inode;
    int64_t next;
    unsigned short size;
    unsigned char type;
    char name[];
};

/* Return whether an ended process of this user wrote the file, and it was not replaced. */
static bool is_of_ended(int fd, const struct stat *status, uint32_t pid)
{
    unsigned char header[MT_LIVE_HEADER_SIZE];
    struct mt_author author;
    if (!S_ISREG(status->st_mode) || status->st_uid != geteuid() ||
        pread(fd, header, sizeof header, 0) != (ssize_t)sizeof header ||
        memcmp(header, MT_FILE_MAGIC, MT_FILE_MAGIC_SIZE) != 0)
        return false;
    mt_author_get(header + MT_FILE_HEADER_SIZE, &author);
    struct mt_author_evidence evidence = {
        .is_locked = mt_author_is_locked(fd), .device = status->st_dev, .inode = status->st_ino};
    return author.pid && author.device == status->st_dev && author.inode == status->st_ino &&
           (!pid || author.pid == pid) && mt_author_check(&author, &evidence) == MT_AUTHOR_GONE;
}

static bool is_of_this_run(const char *name)
{
    size_t n = strlen(name) + 1; /* with its zero */
    for (const char *at = work->manifest; at < work->manifest + work->manifest_size;
         at += strlen(at) + 1)
        if (strlen(at) >= n && !strcmp(at + strlen(at) - n + 1, name) && at[strlen(at) - n] == '/')
            return true;
    return false;
}

static void add(const char *folder, const char *name, const char *pattern)
{
    struct stat status;
    uint32_t pid;
    if (work->n == MOST_RUNS || strlen(name) > NAME_MAX || !mt_output_is_like(name, pattern, &pid))
        return;
    int fd = open(path_of(folder, name, "").text, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return;
    if (!fstat(fd, &status) && is_of_ended(fd, &status, pid) && !is_of_this_run(name)) {
        struct run *run = &work->run[work->n++];
        strcpy(run->name, name);
        run->ns = (uint64_t)status.st_mtim.tv_sec * 1000000000u + (uint64_t)status.st_mtim.tv_nsec;
        run->bytes = 0;
        for (size_t i = 0; i < N_FILES; i++)
            if (!lstat(path_of(folder, name, files[i].suffix).text, &status))
                run->bytes += (uint64_t)status.st_blocks * 512u;
    }
    close(fd);
}

static void list(const char *folder, const char *pattern)
{
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    long n;
    while (fd >= 0 && (n = syscall(SYS_getdents64, fd, work->list, sizeof work->list)) > 0)
        for (long at = 0; at < n;) {
            const struct entry *entry = (const struct entry *)(const void *)(work->list + at);
            add(folder, entry->name, pattern);
            at += entry->size;
        }
    if (fd >= 0)
        close(fd);
}

/* Return the total size of a run and of all that ended after it. */
static uint64_t bytes_up_to(const struct run *run)
{
    uint64_t bytes = 0;
    for (unsigned i = 0; i < work->n; i++) {
        const struct run *other = &work->run[i];
        if (other == run || other->ns > run->ns || (other->ns == run->ns && other < run))
            bytes += other->bytes;
    }
    return bytes;
}

static void remove_run(const char *folder, const struct run *run)
{
    for (size_t i = 0; i < N_FILES; i++)
        mt_own_file_remove_leftover(path_of(folder, run->name, files[i].suffix).text,
                                    files[i].magic, MT_FILE_MAGIC_SIZE);
}

static void remove_old(const char *folder, const char *pattern)
{
    work->manifest_size = *mt_settings.manifest ? mt_read_file(mt_settings.manifest, work->manifest,
                                                               sizeof work->manifest)
                                                : 0;
    list(folder, pattern);
    uint64_t now = mt_clock(CLOCK_REALTIME);
    for (unsigned i = 0; i < work->n; i++) {
        const struct run *run = &work->run[i];
        bool is_old = run->ns < now && now - run->ns > mt_settings.old_ns;
        if (is_old || bytes_up_to(run) > mt_settings.old_bytes)
            remove_run(folder, run);
    }
}

void mt_old_runs_remove(const char *trace)
{
    char folder[PATH_MAX] = "./";
    const char *slash = strrchr(trace, '/'), *pattern = strrchr(mt_settings.output, '/');
    if (mt_settings.old_ns == UINT64_MAX && mt_settings.old_bytes == UINT64_MAX)
        return;
    work = mt_map(sizeof *work);
    if (!work)
        return;
    if (slash)
        snprintf(folder, sizeof folder, "%.*s", (int)(slash - trace + 1), trace);
    remove_old(folder, pattern ? pattern + 1 : mt_settings.output);
    mt_unmap(work, sizeof *work);
}
