/* SPDX-License-Identifier: Apache-2.0 */
#include "analyzer/support/text.h"
#include "server.h"
#include "tools/memtap/launch/page-file.h"
#include "tools/memtap/terminal/command.h"
#include "trace-format/reader.h"
#include "trace-format/tail.h"

#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Most bytes of a file in one response; the page requests the rest. */
#define PIECE_MAX (16u << 20)

struct live {
    const char *trace;
    void (*ready)(const char *url);
};

/* A trace's files, which the page names by index. */
static const char *const suffixes[] = {"", MT_TAIL_SUFFIX, MT_OLDER_SUFFIX};
enum { FILES = sizeof suffixes / sizeof *suffixes };

static void path_of(const struct live *live, unsigned file, char out[PATH_MAX])
{
    snprintf(out, PATH_MAX, "%s%s", live->trace, suffixes[file]);
}

static bool is_running(const struct live *live)
{
    struct mt_reader *reader;
    struct mt_trace_error error;
    if (mt_reader_open(&reader, live->trace, &error))
        return access(live->trace, F_OK) == 0 && error.fault == MT_FAULT_CUT;
    bool running = mt_reader_state(reader) == MT_TRACE_RUNNING;
    mt_reader_close(reader);
    return running;
}

static void take_json(struct mt_answer *answer, json_t *object)
{
    answer->type = "application/json";
    answer->bytes = object ? json_dumps(object, JSON_COMPACT) : NULL;
    answer->size = answer->bytes ? strlen(answer->bytes) : 0;
    json_decref(object);
}

/* Print {"running": true, "files": [{"file", "name", "size", "id"}]}. The id changes when another
 * file takes the name, as in bounded recordings. */
static void print_state(const struct live *live, struct mt_answer *answer)
{
    /* check first, since the files do not grow after the end */
    int running = is_running(live);
    json_t *files = json_array();
    for (unsigned i = 0; i < FILES; i++) {
        char path[PATH_MAX], id[64];
        struct stat status;
        path_of(live, i, path);
        if (stat(path, &status))
            continue;
        snprintf(id, sizeof id, "%llx-%llx", (unsigned long long)status.st_dev,
                 (unsigned long long)status.st_ino);
        json_t *name = json_string(mt_last_part(path)); /* NULL: not UTF-8 */
        json_array_append_new(files,
                              json_pack("{s:i, s:o, s:I, s:s}", "file", (int)i, "name",
                                        name ? name : json_sprintf("trace.mtap%s", suffixes[i]),
                                        "size", (json_int_t)status.st_size, "id", id));
    }
    take_json(answer, json_pack("{s:b, s:o}", "running", running, "files", files));
}

static void give_file(const struct live *live, unsigned file, long long from,
                      struct mt_answer *answer)
{
    char path[PATH_MAX];
    path_of(live, file, path);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat status;
    if (fd < 0)
        return;
    if (!fstat(fd, &status) && S_ISREG(status.st_mode) && from >= 0) {
        long long left = status.st_size > from ? status.st_size - from : 0;
        size_t size = left > PIECE_MAX ? PIECE_MAX : (size_t)left;
        answer->type = "application/octet-stream";
        answer->bytes = malloc(size + 1);
        ssize_t n = answer->bytes ? pread(fd, answer->bytes, size, from) : -1;
        answer->size = n > 0 ? (size_t)n : 0;
    }
    close(fd);
}

static void give_page(struct mt_answer *answer)
{
    answer->type = "text/html; charset=utf-8";
    answer->bytes = mt_live_page_text();
    answer->size = answer->bytes ? strlen(answer->bytes) : 0;
}

/* Answer "", "state", "file?N=FROM" with N as in suffixes. */
static void answer(void *data, const char *path, const char *query, struct mt_answer *out)
{
    const struct live *live = data;
    unsigned file;
    long long from;
    if (!*path)
        give_page(out);
    else if (!strcmp(path, "state"))
        print_state(live, out);
    else if (!strcmp(path, "file") && sscanf(query, "%u=%lld", &file, &from) == 2 && file < FILES)
        give_file(live, file, from, out);
}

static void ready(void *data, const char *url)
{
    const struct live *live = data;
    live->ready(url);
}

/* Return whether there is a trace, or the beginning of one; false after a message. */
static bool is_trace(const char *path)
{
    struct mt_reader *reader;
    struct mt_trace_error error;
    if (!mt_reader_open(&reader, path, &error)) {
        mt_reader_close(reader);
        return true;
    }
    if (error.fault == MT_FAULT_CUT)
        return true;
    mt_fail_trace(path, &error);
    return false;
}

int mt_serve_live_page(const char *trace, void (*announce)(const char *url))
{
    struct live live = {trace, announce};
    if (!is_trace(trace))
        return MT_EXIT_BAD;
    char *page = mt_live_page_text(); /* report a missing page before anything else */
    if (!page)
        return MT_EXIT_BAD;
    free(page);
    int rc = mt_serve(&(struct mt_web_site){.ready = ready, .answer = answer, .data = &live});
    return rc ? mt_fail("cannot listen on localhost: %s", strerror(-rc)) : MT_EXIT_OK;
}
