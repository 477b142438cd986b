/* SPDX-License-Identifier: Apache-2.0 */
/* Open and close a trace: its header, its end, its tail, and the previous segment. */
#include "reader-open.h"
#include "author/author.h"
#include "block.h"
#include "decoder.h"
#include "encoder.h"
#include "varint.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* The default number of events in a batch, which stays in the processor's second-level cache while
 * it is used. A multiple of MT_STRETCH. */
#define BATCH_SIZE 1024u

#define MOST_TRIES 10 /* at a file that is being replaced */
#define PAUSE_NS 2000000

int mt_reader_fail(struct mt_trace_error *error, enum mt_trace_fault fault, uint64_t offset,
                   const char *format, ...)
{
    int rc = fault == MT_FAULT_SYSTEM && errno ? -errno : -EINVAL;
    error->fault = fault;
    error->offset = offset;
    va_list args;
    va_start(args, format);
    vsnprintf(error->text, sizeof error->text, format, args);
    va_end(args);
    return rc;
}

int mt_reader_no_memory(struct mt_trace_error *error, uint64_t offset)
{
    errno = ENOMEM;
    return mt_reader_fail(error, MT_FAULT_SYSTEM, offset, "out of memory at byte %llu of the trace",
                          (unsigned long long)offset);
}

/* --- what is missing ------------------------------------------------------------------------- */

/* Return whether the file has a block of that number after an offset. Reads headers only. */
static bool comes_later(const struct mt_reader *reader, uint64_t at, uint32_t number)
{
    struct mt_block_header header;
    while (mt_block_header_at(reader->fd, at, &header, reader->version) > 0) {
        if (header.number == number)
            return true;
        at += mt_block_header_size(reader->version) + header.stored_size;
    }
    return false;
}

/* Write a number with "," between thousands, as reports do. */
static const char *count_text(char out[32], uint64_t count)
{
    char digits[24];
    int n = snprintf(digits, sizeof digits, "%" PRIu64, count), used = 0;
    for (int i = 0; i < n; i++) {
        out[used++] = digits[i];
        if ((n - i) % 3 == 1 && i + 1 < n)
            out[used++] = ',';
    }
    out[used] = '\0';
    return out;
}

static void put_missing(char *out, size_t size, const struct mt_reader *reader, uint32_t last)
{
    const struct mt_chain *chain = &reader->chain;
    char number[32], of[24] = "", events[64] = "";
    uint64_t n = reader->block.events - chain->events;
    if (reader->blocks)
        snprintf(of, sizeof of, " of %" PRIu32, reader->blocks);
    if (reader->block.events > chain->events)
        snprintf(events, sizeof events, " with %s event%s", count_text(number, n),
                 n == 1 ? "" : "s");
    if (last > chain->blocks + 1)
        snprintf(out, size, "blocks %" PRIu32 " to %" PRIu32 "%s are missing%s", chain->blocks + 1,
                 last, of, events);
    else
        snprintf(out, size, "block %" PRIu32 "%s is missing%s", last, of, events);
}

int mt_reader_fail_gap(struct mt_reader *reader, struct mt_trace_error *error)
{
    const uint32_t next = reader->chain.blocks + 1, here = reader->block.number;
    uint64_t after = reader->offset + MT_BLOCK_HEADER_SIZE + reader->block.stored_size;
    char what[160];
    if (here == next)
        snprintf(what, sizeof what,
                 "block %" PRIu32 " does not follow block %" PRIu32
                 " of this trace: one of them is of another trace",
                 next, next - 1);
    else if (comes_later(reader, after, next))
        snprintf(what, sizeof what,
                 here > next ? "block %" PRIu32 " comes before block %" PRIu32
                             : "block %" PRIu32 " is repeated before block %" PRIu32,
                 here, next);
    else if (here < next)
        snprintf(what, sizeof what, "block %" PRIu32 " is repeated instead of block %" PRIu32, here,
                 next);
    else
        put_missing(what, sizeof what, reader, here - 1);
    return mt_reader_fail(error, MT_FAULT_MISSING, reader->offset,
                          "%s (byte %" PRIu64 "); everything before it was read", what,
                          reader->offset);
}

int mt_reader_fail_count(struct mt_reader *reader, struct mt_trace_error *error, uint64_t missing,
                         uint64_t events)
{
    char some[32], all[32];
    return mt_reader_fail(error, MT_FAULT_MISSING, reader->offset,
                          "%s of the trace's %s events are missing; the rest was read",
                          count_text(some, missing), count_text(all, events));
}

int mt_reader_fail_older(struct mt_reader *reader, struct mt_trace_error *error)
{
    char number[32], events[64] = "";
    if (reader->chain.of_older)
        snprintf(events, sizeof events, " with %s events",
                 count_text(number, reader->chain.of_older));
    return mt_reader_fail(error, MT_FAULT_SEGMENT, 0,
                          "the trace's older segment (*" MT_OLDER_SUFFIX ")%s %s; everything after "
                          "it was read",
                          events,
                          reader->older.state == OLDER_OTHER    ? "is of another trace"
                          : reader->older.state == OLDER_CUT    ? "is incomplete and was ignored"
                          : reader->older.state == OLDER_ITSELF ? "is a copy of the trace itself"
                                                                : "is missing");
}

int mt_reader_fail_tail(struct mt_reader *reader, struct mt_trace_error *error)
{
    return mt_reader_fail(error, MT_FAULT_TAIL, reader->offset,
                          "the recording was not closed, and its tail (*" MT_TAIL_SUFFIX
                          ") is %s; the trace was read without it",
                          reader->tail.fit == TAIL_OTHER ? "that of another trace"
                                                         : "older than the trace");
}

/* --- the file -------------------------------------------------------------------------------- */

ssize_t mt_reader_bytes(int fd, void *into, size_t size)
{
    size_t done = 0;
    while (done < size) {
        ssize_t n = read(fd, (char *)into + done, size - done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -1;
        if (n == 0)
            break;
        done += (size_t)n;
    }
    return (ssize_t)done;
}

static int read_file_header(struct mt_reader *reader, struct mt_trace_error *error)
{
    unsigned char header[MT_LIVE_HEADER_SIZE];
    const size_t least = 16; /* of version 1 */
    errno = 0;
    ssize_t n = mt_reader_bytes(reader->fd, header, sizeof header);
    if (n < 0)
        return mt_reader_fail(error, MT_FAULT_SYSTEM, 0, "%s", strerror(errno));
    if (n == 0)
        return mt_reader_fail(
            error, MT_FAULT_EMPTY, 0,
            "the file is empty; the program was stopped before anything was recorded, or "
            "the disk was full");
    if (reader->file_size < (uint64_t)n) /* it was created after fstat */
        reader->file_size = (uint64_t)n;
    size_t magic = (size_t)n < MT_FILE_MAGIC_SIZE ? (size_t)n : MT_FILE_MAGIC_SIZE;
    if (memcmp(header, MT_FILE_MAGIC, magic))
        return mt_reader_fail(
            error, MT_FAULT_FOREIGN, 0,
            "not a memtap trace (byte 0); give a file that memtap wrote (*.mtap)");
    size_t needed = (size_t)n < least || mt_get16(header + 8) < 2 ? least : MT_FILE_HEADER_SIZE;
    if ((size_t)n < needed)
        return mt_reader_fail(error, MT_FAULT_CUT, (uint64_t)n,
                              "the trace is truncated at byte %zd, in its header", n);
    reader->version = mt_get16(header + 8);
    if (reader->version > MT_FORMAT_VERSION)
        return mt_reader_fail(
            error, MT_FAULT_VERSION, 8,
            "the trace has format version %u, but this memtap reads up to %u; use a newer "
            "memtap",
            reader->version, MT_FORMAT_VERSION);
    unsigned size = mt_get16(header + 10);
    if (reader->version >= 2)
        reader->trace_id = mt_get64(header + 16);
    if (reader->version >= 2)
        reader->older.id = mt_get64(header + 24);
    if (reader->version >= 2 && size >= sizeof header && (size_t)n == sizeof header)
        mt_author_get(header + MT_FILE_HEADER_SIZE, &reader->author);
    if (reader->version < 1 || size < needed || size > reader->file_size ||
        lseek(reader->fd, (off_t)size, SEEK_SET) != (off_t)size)
        return mt_reader_fail(error, MT_FAULT_DAMAGED, 8, "the trace's header is damaged (byte 8)");
    reader->offset = reader->header_size = size;
    reader->chain = mt_chain_begin(reader->trace_id, 0, reader->version);
    return 0;
}

static int open_file(struct mt_reader *reader, const char *path, struct mt_trace_error *error)
{
    struct stat status;
    reader->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* do not wait for a FIFO */
    if (reader->fd < 0 || fstat(reader->fd, &status))
        return mt_reader_fail(error, MT_FAULT_SYSTEM, 0, "%s", strerror(errno));
    if (!S_ISREG(status.st_mode)) {
        errno = S_ISDIR(status.st_mode) ? EISDIR : EINVAL;
        return mt_reader_fail(error, MT_FAULT_SYSTEM, 0,
                              "not a regular file; give a trace (*.mtap)");
    }
    reader->file_size = (uint64_t)status.st_size;
    return read_file_header(reader, error);
}

/* Find the end block, the last one. It is not compressed. */
static bool find_end(struct mt_reader *reader)
{
    unsigned char bytes[MT_BLOCK_HEADER_SIZE + 3 * MT_VARINT_SIZE];
    uint64_t room = reader->file_size > reader->offset ? reader->file_size - reader->offset : 0;
    size_t size = room < sizeof bytes ? (size_t)room : sizeof bytes;
    struct mt_block_header header;
    const size_t head_size = mt_block_header_size(reader->version);
    if (pread(reader->fd, bytes, size, (off_t)(reader->file_size - size)) != (ssize_t)size)
        return false;
    for (size_t payload = 3; head_size + payload <= size; payload++) {
        const unsigned char *head = bytes + size - payload - head_size;
        const unsigned char *stored = head + head_size;
        if (!mt_block_header_get(head, &header, reader->version) && header.type == MT_BLOCK_END &&
            header.codec == MT_CODEC_RAW && header.stored_size == payload &&
            mt_block_sound(head, stored, payload, reader->version, &reader->crc)) {
            reader->blocks = header.number;
            return !mt_decode_end(stored, payload, &reader->end);
        }
    }
    return false;
}

const char *const mt_trace_state_names[MT_TRACE_STATES] = {
    [MT_TRACE_CLOSED] = "closed", [MT_TRACE_RUNNING] = "running", [MT_TRACE_KILLED] = "killed",
    [MT_TRACE_OPEN] = "open",     [MT_TRACE_STOPPED] = "stopped", [MT_TRACE_EXECUTED] = "executed",
};

/* Return the state that the tail shows. A process that is about to execute another program counts
 * as running. */
static enum mt_trace_state state_of(const struct mt_tail_content *tail, bool is_read,
                                    enum mt_author_sign sign)
{
    if (is_read && tail->end == MT_TAIL_STOPPED)
        return MT_TRACE_STOPPED;
    if (sign == MT_AUTHOR_LIVES)
        return MT_TRACE_RUNNING;
    if (is_read)
        return tail->end == MT_TAIL_EXECUTED ? MT_TRACE_EXECUTED : MT_TRACE_KILLED;
    return MT_TRACE_OPEN;
}

enum mt_author_sign mt_reader_check_author(const struct mt_reader *reader)
{
    struct stat status;
    const struct mt_tail_content *tail = &reader->tail.content;
    if (fstat(reader->fd, &status))
        return MT_AUTHOR_UNSEEN;
    uint64_t written_ns =
        (uint64_t)status.st_mtim.tv_sec * 1000000000u + (uint64_t)status.st_mtim.tv_nsec;
    struct mt_author_evidence evidence = {
        .is_locked = tail->is_locked || mt_author_is_locked(reader->fd),
        .is_other = tail->end == MT_TAIL_EXECUTED,
        .last_sign_ns = tail->alive_ns > written_ns ? tail->alive_ns : written_ns,
        .device = status.st_dev,
        .inode = status.st_ino};
    return mt_author_check(&reader->author, &evidence);
}

/* Open the trace at the blocks that its tail does not count, to compare them with the tail. */
static void open_rest(struct mt_reader *reader, const char *path)
{
    const uint64_t from = reader->tail.content.trace_size;
    struct mt_trace_error error;
    struct mt_reader *rest;
    if (from >= reader->file_size || mt_reader_open_single(&rest, path, &error))
        return;
    if (rest->trace_id != reader->trace_id || mt_chain_read(&rest->chain, rest->fd, from)) {
        mt_reader_close(rest);
        return;
    }
    rest->offset = from;
    rest->limit = reader->file_size; /* what came since was written after the tail was read */
    rest->is_following = true;
    reader->rest = rest;
}

int mt_reader_read_tail(struct mt_reader *reader, const char *path, struct mt_trace_error *error)
{
    const struct mt_tail_of trace = {path, reader->trace_id, reader->header_size};
    int rc = mt_tail_read(&reader->tail.content, &trace);
    reader->sign = mt_reader_check_author(reader);
    reader->state = state_of(&reader->tail.content, rc > 0, reader->sign);
    if (reader->state != MT_TRACE_RUNNING && rc > 0)
        open_rest(reader, path);
    if (reader->state == MT_TRACE_OPEN && reader->tail.content.is_other)
        reader->tail.fit = TAIL_OTHER;
    reader->tail.next = rc > 0 ? TAIL_DEFINITIONS : TAIL_NONE;
    if (rc > 0 && reader->state != MT_TRACE_RUNNING && mt_tail_lose_slotless(&reader->tail.content))
        return mt_reader_no_memory(error, 0);
    if (rc == -EPROTO)
        return mt_reader_fail(error, MT_FAULT_VERSION, 8,
                              "its tail (*" MT_TAIL_SUFFIX
                              ") has a version unknown to this memtap; "
                              "use a newer memtap");
    return rc < 0 ? mt_reader_no_memory(error, 0) : 0;
}

/* Find how the recording ended, and its tail. */
static int find_state(struct mt_reader *reader, const char *path, struct mt_trace_error *error)
{
    if (!find_end(reader))
        return mt_reader_read_tail(reader, path, error);
    reader->state = MT_TRACE_CLOSED;
    reader->sign = MT_AUTHOR_GONE;
    return 0;
}

int mt_reader_open_single(struct mt_reader **out, const char *path, struct mt_trace_error *error)
{
    *out = NULL;
    memset(error, 0, sizeof *error);
    struct mt_reader *reader = calloc(1, sizeof *reader);
    if (!reader)
        return mt_reader_no_memory(error, 0);
    reader->fd = -1;
    reader->batch_size = BATCH_SIZE;
    mt_crc_init(&reader->crc);
    int rc = open_file(reader, path, error);
    if (!rc) {
        reader->zstd = ZSTD_createDCtx();
        if (!reader->zstd)
            rc = mt_reader_no_memory(error, 0);
    }
    if (rc) {
        mt_reader_close(reader);
        return rc;
    }
    *out = reader;
    return 0;
}

/* Return whether the older segment has all the events that its successor counts. */
static bool is_complete(const struct mt_reader *older, const struct mt_reader *reader)
{
    struct mt_block_header first;
    struct mt_chain chain;
    if (!mt_version_shows_gaps(reader->version) || !mt_version_shows_gaps(older->version) ||
        mt_block_header_at(reader->fd, reader->offset, &first, reader->version) <= 0)
        return true;
    return !mt_chain_read(&chain, older->fd, UINT64_MAX) &&
           chain.events - chain.of_older == first.events;
}

/* Return whether the writer has removed the older segment but not yet renamed the next one to this
 * name. */
static bool was_dropped(const struct mt_reader *reader, const char *file)
{
    char name[PATH_MAX + sizeof MT_NEXT_SUFFIX];
    struct mt_trace_error error;
    struct mt_reader *next;
    snprintf(name, sizeof name, "%s" MT_NEXT_SUFFIX, file);
    if (mt_reader_open_single(&next, name, &error))
        return false;
    bool is_next = next->older.id == reader->trace_id;
    mt_reader_close(next);
    return is_next;
}

/* Open the file next to the trace if it is the trace's older segment. An older segment has none of
 * its own: it is gone. */
static void open_older(struct mt_reader *reader, const char *path)
{
    const size_t suffix = sizeof MT_OLDER_SUFFIX - 1;
    char real[PATH_MAX], name[PATH_MAX + sizeof MT_OLDER_SUFFIX];
    struct mt_trace_error error;
    struct mt_reader *older;
    const char *file = realpath(path, real) ? real : path;
    const size_t n = strlen(file);
    snprintf(name, sizeof name, "%s" MT_OLDER_SUFFIX, file);
    if (!reader->older.id)
        return;
    if (mt_reader_open_single(&older, name, &error)) {
        bool is_older = n > suffix && !strcmp(file + n - suffix, MT_OLDER_SUFFIX);
        reader->older.state = is_older || was_dropped(reader, file) ? OLDER_USED : OLDER_MISSING;
        return;
    }
    bool is_itself = older->trace_id == reader->trace_id;
    reader->older.state = is_itself && was_dropped(reader, file) ? OLDER_USED
                          : is_itself                            ? OLDER_ITSELF
                          : older->trace_id != reader->older.id  ? OLDER_OTHER
                          : !is_complete(older, reader)          ? OLDER_CUT
                                                                 : OLDER_USED;
    if (older->trace_id == reader->older.id && reader->older.state == OLDER_USED)
        reader->older.reader = older;
    else
        mt_reader_close(older);
}

/* Return whether the trace was closed, or replaced by another segment, while its author was being
 * checked. */
static bool has_changed(const struct mt_reader *reader, const char *path)
{
    struct stat ours, there;
    return !fstat(reader->fd, &ours) && !stat(path, &there) &&
           (ours.st_dev != there.st_dev || ours.st_ino != there.st_ino ||
            (uint64_t)ours.st_size != reader->file_size);
}

/* Return whether the files have changed since they were opened. */
static bool is_moving(const struct mt_reader *reader, const char *path)
{
    bool lacks_older = reader->older.state != OLDER_USED;
    if (reader->older.state == OLDER_ITSELF) /* as was_dropped, a moment later; or a copy */
        return true;
    if (reader->state == MT_TRACE_CLOSED)
        return false;
    if (reader->state == MT_TRACE_RUNNING)
        return lacks_older;
    return has_changed(reader, path);
}

/* Open the older segment soon after the trace, since both are replaced together. */
int mt_reader_open(struct mt_reader **out, const char *path, struct mt_trace_error *error)
{
    const struct timespec pause = {.tv_nsec = PAUSE_NS};
    for (int tries = MOST_TRIES;; tries--) {
        int rc = mt_reader_open_single(out, path, error);
        if (!rc) {
            open_older(*out, path);
            rc = find_state(*out, path, error);
        }
        if (rc) {
            mt_reader_close(*out);
            *out = NULL;
            return rc;
        }
        if (!tries || !is_moving(*out, path))
            break;
        mt_reader_close(*out);
        nanosleep(&pause, NULL);
    }
    (*out)->skip_carried = (*out)->older.reader != NULL;
    return 0;
}

void mt_reader_close(struct mt_reader *reader)
{
    if (!reader)
        return;
    if (reader->fd >= 0)
        close(reader->fd);
    mt_reader_close(reader->older.reader);
    mt_reader_close(reader->rest);
    ZSTD_freeDCtx(reader->zstd);
    mt_tail_clear(&reader->tail.content);
    free(reader->stored.bytes);
    for (unsigned i = 0; i < 2; i++) {
        free(reader->raw[i].bytes);
        free(reader->records[i].bytes);
    }
    free(reader);
}
