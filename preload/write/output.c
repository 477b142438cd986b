/* SPDX-License-Identifier: Apache-2.0 */
#include "output.h"
#include "launcher.h"
#include "preload/host/memory.h"
#include "preload/host/message.h"
#include "preload/host/settings.h"
#include "trace-format/block.h"
#include "trace-format/tail.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MOST_SUFFIXES 10000
#define EXTENSION ".mtap"
#define LONGEST_ADDED 96u /* for a rank and a number before the extension */

/* Return the text for a letter of the pattern, or NULL if the letter is unknown. */
static const char *meaning(char letter, char *scratch, size_t size)
{
    const char *rank;
    switch (letter) {
    case 'p':
        snprintf(scratch, size, "%d", (int)getpid());
        return scratch;
    case 'e':
        return program_invocation_short_name;
    case 'h':
        return gethostname(scratch, size) ? "host" : scratch;
    case 'r':
        rank = mt_launcher_place(MT_RANK);
        return rank ? rank : "0";
    case '%':
        return "%";
    }
    return NULL;
}

#define MOST_OF_NAME 64u /* bytes for a letter */

/* Put a text. A program's name or a rank may be anything, such as a title for ps(1). */
static size_t put_meaning(char *out, const char *text)
{
    size_t n = strnlen(text, MOST_OF_NAME);
    for (size_t i = 0; i < n; i++)
        out[i] = text[i] == '/' ? '-' : text[i];
    return n;
}

/* Put the working directory and a slash. Return their length, or 0 if it is unknown or too long. */
static size_t put_directory(char *out, size_t size)
{
    size_t used = getcwd(out, size / 2) ? strlen(out) : 0;
    if (used && out[used - 1] != '/')
        out[used++] = '/';
    return used;
}

/* Return where the extension begins, or would. Additions to a name come before it, so that
 * directories and globs (*.mtap) find the trace. */
static size_t stem_length(const char *path)
{
    size_t n = strlen(path), extension = strlen(EXTENSION);
    return n > extension && path[n - extension - 1] != '/' &&
                   !strcmp(path + n - extension, EXTENSION)
               ? n - extension
               : n;
}

static bool names_rank(const char *pattern)
{
    for (const char *at = pattern; (at = strchr(at, '%')) && at[1]; at += 2)
        if (at[1] == 'r')
            return true;
    return false;
}

/* Return whether the path is a directory, a device or a pipe. */
static bool is_special(const char *path)
{
    struct stat status;
    return !stat(path, &status) && !S_ISREG(status.st_mode);
}

/* Add the rank to the name: all processes of a job share one pattern. */
static void add_rank(char *path)
{
    const char *rank = mt_launcher_place(MT_RANK), *world = mt_launcher_place(MT_WORLD_SIZE);
    size_t stem = stem_length(path);
    if (!rank || (world && !strcmp(world, "1")) || is_special(path))
        return;
    const char *extension = path[stem] ? EXTENSION : "";
    memcpy(path + stem, "-rank", 5);
    stem += 5;
    stem += put_meaning(path + stem, rank);
    strcpy(path + stem, extension);
}

int mt_output_name(struct mt_output *out, const char *pattern)
{
    const size_t size = sizeof out->path - LONGEST_ADDED;
    out->shown = *pattern == '/' ? 0 : put_directory(out->path, size);
    size_t used = out->shown;
    for (const char *at = pattern; *at; at++) {
        char scratch[256];
        const char *text = *at == '%' ? meaning(at[1], scratch, sizeof scratch) : NULL;
        if (used + MOST_OF_NAME >= size)
            return -ENAMETOOLONG;
        if (text) {
            used += put_meaning(out->path + used, text);
            at++;
        } else {
            out->path[used++] = *at;
        }
    }
    out->path[used] = '\0';
    if (!names_rank(pattern))
        add_rank(out->path);
    return 0;
}

/* Return the number of digits that a text begins with. */
static size_t n_digits(const char *text)
{
    return strspn(text, "0123456789");
}

/* Match a name against a pattern. Return the rest of the name, or NULL. */
static const char *match(const char *name, const char *pattern, size_t n, uint32_t *pid)
{
    char scratch[256], piece[MOST_OF_NAME + 1];
    for (const char *at = pattern; at < pattern + n; at++) {
        const char *text = *at == '%' ? meaning(at[1], scratch, sizeof scratch) : NULL;
        size_t size = 1;
        if (text && at[1] == 'p') {
            size = n_digits(name);
            *pid = (uint32_t)strtoul(name, NULL, 10);
        } else if (text) {
            size = put_meaning(piece, text);
        } else {
            *piece = *at;
        }
        if (!size || (!(text && at[1] == 'p') && strncmp(name, piece, size) != 0))
            return NULL;
        name += size;
        at += text != NULL;
    }
    return name;
}

bool mt_output_is_like(const char *name, const char *pattern, uint32_t *pid)
{
    char rank[MOST_OF_NAME + 16] = "";
    size_t stem = stem_length(pattern);
    *pid = 0;
    name = match(name, pattern, stem, pid);
    if (!names_rank(pattern))
        add_rank(rank);
    if (!name || strncmp(name, rank, strlen(rank)) != 0)
        return false;
    name += strlen(rank);
    if (*name == '.' && n_digits(name + 1)) /* a number that avoids an existing file */
        name += 1 + n_digits(name + 1);
    return !strcmp(name, pattern + stem);
}

#define MOST_NEXT 100

struct other_name {
    char path[PATH_MAX + 8];
};

static struct other_name other_name(const char *path, const char *suffix)
{
    struct other_name name;
    snprintf(name.path, sizeof name.path, "%s%s", path, suffix);
    return name;
}

static bool is_there(const char *path, const char *suffix)
{
    return !faccessat(AT_FDCWD, other_name(path, suffix).path, F_OK, AT_SYMLINK_NOFOLLOW);
}

/* Return the suffix of an existing part of a trace with this name, even if the trace itself was
 * moved away; NULL if there is none. */
static const char *find_part(const char *path)
{
    static const char *const suffixes[] = {"", MT_TAIL_SUFFIX, MT_OLDER_SUFFIX};
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++)
        if (is_there(path, suffixes[i]))
            return suffixes[i];
    return NULL;
}

static int create_at(struct mt_output *out, const char *path)
{
    int rc = mt_own_file_create(&out->file, path, O_WRONLY | O_APPEND);
    if (!rc)
        mt_author_sign(&out->author, out->file.fd);
    return rc;
}

static int create(struct mt_output *out)
{
    return find_part(out->path) ? -EEXIST : create_at(out, out->path);
}

/* The path of this process's trace, valid if the process is `of`: a forked child has its parent's
 * until it has its own. Mapped, not malloc'ed: malloc reserves 64 MiB for the writer's thread.
 * Never unmapped: another thread may be reading it. */
static struct {
    char *_Atomic path;
    _Atomic pid_t of;
} own;

static void note_own(const struct mt_output *out)
{
    atomic_store(&own.of, 0);
    char *path = mt_map(sizeof out->path);
    if (path)
        strcpy(path, out->path);
    atomic_store(&own.path, path);
    atomic_store(&own.of, getpid());
}

int mt_output_open(struct mt_output *out)
{
    out->size = 0;
    if (is_special(out->path)) /* a number would make it another folder's or device's name */
        return -EISDIR;
    const size_t stem = stem_length(out->path);
    const char *extension = out->path[stem] ? EXTENSION : "", *part = find_part(out->path);
    if (mt_is_foreign_file(out->path)) /* /etc/passwd gets no /etc/passwd.1 */
        return -ENOTUNIQ;
    int rc = create(out), tried = 0;
    while (rc == -EEXIST && ++tried < MOST_SUFFIXES) {
        snprintf(out->path + stem, sizeof out->path - stem, ".%d%s", tried, extension);
        rc = create(out);
    }
    if (!rc)
        note_own(out);
    if (!rc && tried)
        mt_message("%.*s%s%s exists; writing %s", (int)(stem - out->shown), mt_output_shown(out),
                   extension, part ? part : "", mt_output_shown(out));
    return rc;
}

size_t mt_output_own(char *path, size_t size)
{
    const char *known = atomic_load(&own.of) == getpid() ? atomic_load(&own.path) : NULL;
    if (!known || strlen(known) >= size)
        return 0;
    strcpy(path, known);
    return strlen(path);
}

int mt_output_append(struct mt_output *out, const void *bytes, size_t size)
{
    errno = 0;
    if (!mt_own_file_is_ours(&out->file)) {
        int rc = errno && errno != EBADF ? -errno : -ESTALE; /* the file system may be unmounted */
        out->file.fd = -1;                                   /* not ours to close */
        return rc;
    }
    if (!mt_own_file_has_size(&out->file, out->size))
        return -EUCLEAN;
    for (size_t done = 0; done < size;) {
        /* In the writer's thread signals are blocked. */
        ssize_t n = (mt_settings.has_thread ? write : mt_write_quietly)(
            out->file.fd, (const char *)bytes + done, size - done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            int rc = -errno;
            if (ftruncate(out->file.fd, (off_t)out->size))
                return rc; /* the reader stops at the truncated block */
            return rc;
        }
        done += (size_t)n;
    }
    out->size += size;
    return 0;
}

static struct other_name next_name(const struct mt_output *next)
{
    char suffix[16] = MT_NEXT_SUFFIX;
    if (next->next)
        snprintf(suffix, sizeof suffix, MT_NEXT_SUFFIX ".%u", next->next);
    return other_name(next->path, suffix);
}

int mt_output_open_next(const struct mt_output *out, struct mt_output *next)
{
    int rc = -EEXIST;
    next->size = 0;
    snprintf(next->path, sizeof next->path, "%s", out->path);
    next->shown = out->shown;
    for (unsigned i = 0; rc == -EEXIST && i < MOST_NEXT; i++) {
        next->next = i;
        mt_own_file_remove_leftover(next_name(next).path, MT_FILE_MAGIC, MT_FILE_MAGIC_SIZE);
        rc = create_at(next, next_name(next).path);
    }
    return rc;
}

void mt_output_discard(struct mt_output *next)
{
    mt_own_file_unlink(&next->file, next_name(next).path);
    mt_own_file_close(&next->file);
}

int mt_output_replace(struct mt_output *out, struct mt_output *next)
{
    struct other_name older = other_name(out->path, MT_OLDER_SUFFIX);
    unlink(older.path); /* ours: none existed when the trace was made */
    if (link(out->path, older.path) && rename(out->path, older.path))
        return -errno;
    if (rename(next_name(next).path, out->path)) {
        int rc = -errno;
        rename(older.path, out->path);
        return rc;
    }
    mt_own_file_close(&out->file);
    *out = *next;
    return 0;
}

void mt_output_cut(struct mt_output *out, uint64_t size)
{
    if (mt_own_file_is_ours(&out->file) && !ftruncate(out->file.fd, (off_t)size))
        out->size = size;
}

void mt_output_remove_older(const struct mt_output *out)
{
    unlink(other_name(out->path, MT_OLDER_SUFFIX).path); /* ours, as above */
}

void mt_output_close(struct mt_output *out)
{
    mt_own_file_close(&out->file);
}
