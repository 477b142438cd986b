/* SPDX-License-Identifier: Apache-2.0 */
#include "follower.h"
#include "trace-format/reader-open.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct mt_follower {
    char *path;
    struct mt_reader *reader;
    struct mt_reader *before; /* of the previous segment, whose last batch may be in use */
    bool has_ended;           /* the reader has everything that remains */
    bool is_over;             /* and all of it was returned */
};

static uint64_t size_of(const struct mt_reader *reader)
{
    struct stat status;
    return fstat(reader->fd, &status) ? reader->file_size : (uint64_t)status.st_size;
}

/* Begin to follow: the reader then returns only the bytes that count, without the tail. */
static void begin_to_follow(struct mt_reader *reader)
{
    mt_tail_clear(&reader->tail.content);
    reader->tail.next = TAIL_NONE;
    reader->state = MT_TRACE_RUNNING;
    reader->is_following = true;
    reader->limit = 0;
}

int mt_follower_open(struct mt_follower **out, const char *path, struct mt_trace_error *error)
{
    *out = NULL;
    memset(error, 0, sizeof *error);
    struct mt_follower *follower = calloc(1, sizeof *follower);
    if (!follower || !(follower->path = strdup(path))) {
        free(follower);
        return mt_reader_no_memory(error, 0);
    }
    int rc = mt_reader_open(&follower->reader, path, error);
    if (rc) {
        mt_follower_close(follower);
        return rc;
    }
    follower->has_ended = follower->reader->state != MT_TRACE_RUNNING;
    if (!follower->has_ended)
        begin_to_follow(follower->reader);
    *out = follower;
    return 0;
}

/* Return whether another segment has the trace's name now, which makes this one complete. */
static bool is_older_now(const struct mt_follower *follower)
{
    struct stat ours, there;
    return !fstat(follower->reader->fd, &ours) && !stat(follower->path, &there) &&
           (ours.st_dev != there.st_dev || ours.st_ino != there.st_ino);
}

/* Advance to the next segment. Return 1 or a negative errno. */
static int go_to_next_segment(struct mt_follower *follower, struct mt_trace_error *error)
{
    struct mt_reader *next;
    int rc = mt_reader_open_single(&next, follower->path, error);
    if (rc)
        return rc;
    if (next->older.id != follower->reader->trace_id) {
        mt_reader_close(next);
        mt_reader_fail(error, MT_FAULT_SYSTEM, follower->reader->offset,
                       "the recording dropped events before they were read");
        return -ESTALE;
    }
    next->skip_carried = 1;
    next->batch_size = follower->reader->batch_size;
    begin_to_follow(next);
    mt_reader_close(follower->before);
    follower->before = follower->reader;
    follower->reader = next;
    return 1;
}

/* Read the tail, because no process writes the trace any more. Return 1 or a negative errno. */
static int read_tail(struct mt_follower *follower, struct mt_trace_error *error)
{
    struct mt_reader *reader = follower->reader;
    reader->is_following = false;
    reader->file_size = size_of(reader);
    follower->has_ended = true;
    mt_tail_clear(&reader->tail.content);
    int rc = mt_reader_read_tail(reader, follower->path, error);
    if (reader->state == MT_TRACE_RUNNING) /* it is ending right now */
        reader->state = reader->tail.next ? MT_TRACE_KILLED : MT_TRACE_OPEN;
    if (!rc && lseek(reader->fd, (off_t)reader->offset, SEEK_SET) < 0)
        rc = mt_reader_fail(error, MT_FAULT_SYSTEM, reader->offset, "%s", strerror(errno));
    return rc ? rc : 1;
}

/* Check for new data. Return 1 if there may be some, 0 if not, or a negative errno. The signs of
 * life are checked first, so that everything written before the end is found. */
static int find_new(struct mt_follower *follower, struct mt_trace_error *error)
{
    struct mt_reader *reader = follower->reader;
    const struct mt_tail_of trace = {follower->path, reader->trace_id, reader->header_size};
    if (reader->is_over) {
        follower->has_ended = true;
        return 0;
    }
    bool is_older = is_older_now(follower);
    bool has_tail = mt_tail_peek(&reader->tail.content, &trace);
    enum mt_author_sign sign = mt_reader_check_author(reader);
    uint64_t size = size_of(reader), before = reader->limit;
    bool is_stopped = has_tail && reader->tail.content.end == MT_TAIL_STOPPED;
    reader->limit = has_tail && !is_older && reader->tail.content.trace_size < size
                        ? reader->tail.content.trace_size
                        : size;
    if (reader->limit > before)
        return 1;
    if (is_older && !is_stopped)
        return go_to_next_segment(follower, error);
    return sign == MT_AUTHOR_LIVES && !is_stopped ? 0 : read_tail(follower, error);
}

int mt_follower_next(struct mt_follower *follower, struct mt_batch *batch,
                     struct mt_trace_error *error)
{
    for (;;) {
        int rc = mt_reader_next(follower->reader, batch, error);
        if (rc > 0 && batch->type == MT_BATCH_END && !batch->is_older) {
            follower->reader->end = batch->end;
            follower->reader->state = batch->state = MT_TRACE_CLOSED;
        }
        if (rc)
            return rc;
        if (!follower->has_ended)
            rc = find_new(follower, error);
        if (rc <= 0) {
            follower->is_over = follower->has_ended;
            return rc;
        }
    }
}

bool mt_follower_is_over(const struct mt_follower *follower)
{
    return follower->is_over;
}

enum mt_trace_state mt_follower_state(const struct mt_follower *follower)
{
    return follower->reader->state;
}

void mt_follower_close(struct mt_follower *follower)
{
    if (!follower)
        return;
    mt_reader_close(follower->reader);
    mt_reader_close(follower->before);
    free(follower->path);
    free(follower);
}
