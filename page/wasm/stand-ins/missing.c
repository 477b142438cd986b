/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The machine as the analyzer sees it from a page: no process is found, and no library has symbols.
 */
#include "analyzer/support/guard.h"
#include "analyzer/support/room.h"
#include "analyzer/trace/symbols.h"
#include "trace-format/author/author.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static bool is_live; /* the page's server says that the recording goes on */

__attribute__((export_name("live"), visibility("default"))) void mt_web_live(bool is_so)
{
    is_live = is_so;
}

enum mt_author_sign mt_author_check(const struct mt_author *author,
                                    const struct mt_author_evidence *evidence)
{
    (void)author, (void)evidence;
    return is_live ? MT_AUTHOR_LIVES : MT_AUTHOR_UNSEEN;
}

bool mt_author_is_locked(int fd)
{
    (void)fd;
    return false;
}

/* A page writes no files over its inputs. */
void mt_input_note(const char *path)
{
    (void)path;
}

static uint64_t input; /* bytes of files */

/* Count nothing: a page reads each trace once; one that grows is counted again. */
void mt_room_input(const char *path)
{
    static uint64_t last;
    static char of[64];
    struct stat status;
    if (stat(path, &status))
        return;
    if (strncmp(of, path, sizeof of - 1))
        last = 0;
    strncpy(of, path, sizeof of - 1);
    if ((uint64_t)status.st_size > last) {
        input += (uint64_t)status.st_size - last;
        last = (uint64_t)status.st_size;
    }
}

uint64_t mt_room(void)
{
    return mt_memory_for(input) / 2;
}

bool mt_room_is_full(void)
{
    return (uint64_t)__builtin_wasm_memory_size(0) << 16 > mt_room();
}

bool mt_work_is_too_much(uint64_t steps)
{
    static uint64_t done;
    return (done += steps) > mt_work_for(input);
}

void *mt_room_of_thread(void)
{
    return NULL;
}

const char *mt_room_raised_by(void)
{
    return "memtap --most-memory SIZE report";
}

struct mt_symbols *mt_symbols_create(void)
{
    return malloc(1);
}

void mt_symbols_destroy(struct mt_symbols *symbols)
{
    free(symbols);
}

int mt_symbols_find(struct mt_symbols *symbols, struct mt_trace_image module, uint64_t address,
                    struct mt_symbol *out)
{
    (void)symbols, (void)module, (void)address, (void)out;
    return -ENOENT;
}

ssize_t getrandom(void *bytes, size_t size, unsigned flags)
{
    (void)flags;
    return getentropy(bytes, size) ? -1 : (ssize_t)size;
}

/* glibc's qsort_r, which wasi-libc lacks. One thread, and no comparison sorts. */
static int (*compare_with)(const void *, const void *, void *);
static void *compare_data;

static int compare(const void *a, const void *b)
{
    return compare_with(a, b, compare_data);
}

void qsort_r(void *array, size_t n, size_t size, int (*by)(const void *, const void *, void *),
             void *data)
{
    compare_with = by;
    compare_data = data;
    qsort(array, n, size, compare);
}

/* Copy the path: the page's files have one name each. */
char *realpath(const char *path, char *resolved)
{
    return resolved ? strcpy(resolved, path) : strdup(path);
}

/* Fail: WASI has no second descriptor of a file. */
int dup(int fd)
{
    (void)fd;
    errno = ENOTSUP;
    return -1;
}

/* A page's files do not change while they are read: there is nothing to wait for, and the page has
 * no poll_oneoff, by which wasi-libc would wait. */
int nanosleep(const struct timespec *time, struct timespec *rest)
{
    (void)time, (void)rest;
    return 0;
}
