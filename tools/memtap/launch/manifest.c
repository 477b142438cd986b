/* SPDX-License-Identifier: Apache-2.0 */
#include "manifest.h"
#include "analyzer/support/grow.h"
#include "tools/memtap/terminal/command.h"

#include <errno.h>
#include <ftw.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *mt_manifest_folder(void)
{
    const char *folder = getenv("TMPDIR");
    return folder && *folder ? folder : "/tmp";
}

int mt_temporary_folder(const char *kind, char out[PATH_MAX])
{
    char path[PATH_MAX];
    if (snprintf(path, sizeof path, "%s/memtap-%s-XXXXXX", mt_manifest_folder(), kind) >=
        (int)sizeof path)
        return mt_fail("TMPDIR: path too long");
    if (!mkdtemp(path))
        return mt_fail("%s: cannot create a temporary folder: %s; set TMPDIR to another folder",
                       mt_manifest_folder(), strerror(errno));
    return realpath(path, out) ? 0 : mt_fail("%s: %s", path, strerror(errno));
}

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *place)
{
    (void)status;
    (void)kind;
    (void)place;
    remove(path);
    return 0;
}

void mt_folder_remove(const char *folder)
{
    nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

int mt_manifest_create(struct mt_manifest *manifest)
{
    int n =
        snprintf(manifest->path, sizeof manifest->path, "%s/memtap-XXXXXX", mt_manifest_folder());
    if (n < 0 || (size_t)n >= sizeof manifest->path)
        return -ENAMETOOLONG;
    int fd = mkstemp(manifest->path);
    if (fd < 0)
        return -errno;
    close(fd);
    return 0;
}

/* Read the next line into *trace (its path) and *cpu_ns (the number before it). */
static bool next(FILE *file, char **text, size_t *size, const char **trace, uint64_t *cpu_ns)
{
    char *path;
    if (getdelim(text, size, '\0', file) <= 0)
        return false;
    *cpu_ns = strtoull(*text, &path, 10);
    *trace = path + (*path == ' ');
    return true;
}

/* First characters of lines that name no trace: a failure, and a process out of sight. */
#define NO_TRACE "!?"

struct entry {
    char *trace;
    uint64_t cpu_ns;
};

struct entries {
    struct entry *entry;
    size_t n, capacity;
};

/* Add a trace's cost to the last entry of that name. */
static void add_cost(struct entries *entries, const char *trace, uint64_t cpu_ns)
{
    for (size_t i = entries->n; i > 0; i--)
        if (!strcmp(entries->entry[i - 1].trace, trace)) {
            entries->entry[i - 1].cpu_ns = cpu_ns;
            return;
        }
}

static int add_trace(struct entries *entries, const char *trace)
{
    char *copy = strdup(trace);
    if (!copy || MT_GROW(entries->entry, entries->capacity, entries->n)) {
        free(copy);
        return -ENOMEM;
    }
    entries->entry[entries->n++] = (struct entry){.trace = copy};
    return 0;
}

/* Read all entries. Without memory, some are left out. */
static void read_all(struct entries *entries, FILE *file)
{
    char *text = NULL;
    const char *trace;
    size_t size = 0;
    uint64_t cpu_ns;
    int rc = 0;
    while (!rc && next(file, &text, &size, &trace, &cpu_ns))
        if (cpu_ns)
            add_cost(entries, trace, cpu_ns);
        else if (!*trace || !strchr(NO_TRACE, *trace))
            rc = add_trace(entries, trace);
    free(text);
}

unsigned mt_manifest_each(const struct mt_manifest *manifest,
                          void (*report)(void *data, const char *trace, uint64_t cpu_ns),
                          void *data)
{
    FILE *file = fopen(manifest->path, "re");
    struct entries entries = {0};
    if (!file)
        return 0;
    read_all(&entries, file);
    fclose(file);
    for (size_t i = 0; i < entries.n; i++) {
        if (*entries.entry[i].trace)
            report(data, entries.entry[i].trace, entries.entry[i].cpu_ns);
        free(entries.entry[i].trace);
    }
    free(entries.entry);
    return (unsigned)entries.n;
}

/* Find the first line of so many fields. */
static bool find(const struct mt_manifest *manifest, int fields, const char *format, void *first,
                 void *second)
{
    FILE *file = fopen(manifest->path, "re");
    char *text = NULL;
    size_t size = 0;
    bool is_found = false;
    while (file && !is_found && getdelim(&text, &size, '\0', file) > 0)
        is_found = sscanf(text, format, first, second) >= fields;
    free(text);
    if (file)
        fclose(file);
    return is_found;
}

int mt_manifest_failure(const struct mt_manifest *manifest, unsigned *result, char function[64])
{
    return find(manifest, 2, "!%u %63s", result, function);
}

bool mt_manifest_out_of_sight(const struct mt_manifest *manifest, char call[16], char what[256])
{
    *what = '\0';
    return find(manifest, 1, "?%15s %255[^\n]", call, what);
}

void mt_manifest_destroy(struct mt_manifest *manifest)
{
    unlink(manifest->path);
}
