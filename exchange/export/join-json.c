/* SPDX-License-Identifier: Apache-2.0 */
/* Chrome's trace JSON, as torch.profiler writes it, object by object: the file may be larger than
 * memory. */
#include "analyzer/support/grow.h"
#include "analyzer/support/room.h"
#include "perfetto-join.h"

#include <errno.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdlib.h>
#include <zlib.h>

#define MOST_OBJECT (64u << 20) /* bytes of one event's text */

/* Reads a file's characters, and says where in the JSON it is. */
struct scan {
    gzFile file;
    unsigned depth;
    bool in_text, is_escaped, in_events;
    char key[32]; /* the last text at depth 1 */
    size_t key_size;
    char *object; /* the event that is being read */
    size_t size, capacity;
    unsigned object_depth; /* 0: none is */
    uint64_t base_ns;      /* baseTimeNanoseconds */
    char number[32];
    size_t number_size;
};

static void note_text(struct scan *scan, int c)
{
    if (scan->is_escaped)
        scan->is_escaped = false;
    else if (c == '\\')
        scan->is_escaped = true;
    else if (c == '"')
        scan->in_text = false;
    if (scan->in_text && scan->depth == 1 && scan->key_size + 1 < sizeof scan->key)
        scan->key[scan->key_size++] = (char)c;
    scan->key[scan->key_size] = '\0';
}

static void note_number(struct scan *scan, int c)
{
    bool is_part =
        (c >= '0' && c <= '9') || c == '.' || c == '-' || c == '+' || c == 'e' || c == 'E';
    if (is_part && scan->number_size + 1 < sizeof scan->number) {
        scan->number[scan->number_size++] = (char)c;
        return;
    }
    scan->number[scan->number_size] = '\0';
    if (scan->number_size && !strcmp(scan->key, "baseTimeNanoseconds"))
        scan->base_ns = strtoull(scan->number, NULL, 10);
    scan->number_size = 0;
}

/* Note a character outside of texts. */
static void note_plain(struct scan *scan, int c)
{
    if (scan->depth == 1)
        note_number(scan, c);
    if (c == '"') {
        scan->in_text = true;
        if (scan->depth == 1) {
            scan->key_size = 0;
            *scan->key = '\0';
        }
    } else if (c == '{' || c == '[') {
        /* {"traceEvents": [ or, in older files, the list alone */
        if (c == '[' && (!scan->depth || (scan->depth == 1 && !strcmp(scan->key, "traceEvents"))))
            scan->in_events = true;
        else if (c == '{' && scan->in_events && !scan->object_depth) {
            scan->object_depth = scan->depth + 1;
            scan->size = 0;
        }
        scan->depth++;
    } else if ((c == '}' || c == ']') && scan->depth) {
        scan->depth--;
        if (c == ']' && scan->in_events && !scan->object_depth)
            scan->in_events = false;
    }
}

/* Find the next event: 1, 0 at the end, or a negative errno. */
static int next_object(struct scan *scan)
{
    int c;
    while ((c = gzgetc(scan->file)) >= 0) {
        bool was_text = scan->in_text;
        if (was_text)
            note_text(scan, c);
        else
            note_plain(scan, c);
        if (!scan->object_depth)
            continue;
        if (scan->size >= MOST_OBJECT || mt_grow(&scan->object, &scan->capacity, scan->size + 1, 1))
            return -ENOMEM;
        scan->object[scan->size++] = (char)c;
        if (!was_text && c == '}' && scan->depth + 1 == scan->object_depth) {
            scan->object_depth = 0;
            return 1;
        }
    }
    int code;
    gzerror(scan->file, &code);
    return (code != Z_OK && code != Z_STREAM_END) || scan->depth ? -EINVAL : 0;
}

static int scan_file(const char *path, uint64_t *base_ns, mt_join_taker *take, void *data)
{
    mt_room_input(path);
    struct scan scan = {.file = gzopen(path, "rbe"), .base_ns = *base_ns};
    if (!scan.file)
        return errno ? -errno : -ENOMEM;
    gzbuffer(scan.file, 1u << 17);
    int rc;
    while ((rc = next_object(&scan)) > 0) {
        json_t *event = json_loadb(scan.object, scan.size, JSON_ALLOW_NUL, NULL);
        rc = event ? take(data, event, scan.base_ns) : -EINVAL;
        json_decref(event);
        if (rc)
            break;
    }
    *base_ns = scan.base_ns;
    free(scan.object);
    gzclose(scan.file);
    return rc;
}

int mt_join_json(const char *path, mt_join_taker *learn, mt_join_taker *take, void *data)
{
    uint64_t base_ns = 0;
    int rc = scan_file(path, &base_ns, learn, data);
    return rc ? rc : scan_file(path, &base_ns, take, data);
}
