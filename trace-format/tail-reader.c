/* SPDX-License-Identifier: Apache-2.0 */
#include "tail-reader.h"
#include "author/author.h"
#include "decoder.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define MOST_TRIES 50 /* at a tail that changes meanwhile */
#define LATE_TRIES 5  /* while an event is late */

/* A ring's first page, without the writer's own part. */
#define RING_HEAD offsetof(struct mt_ring, word)

struct source {
    int fd;
    const struct mt_tail_of *trace;
    struct mt_tail_header header;
    struct mt_tail_mark mark;
    unsigned index;    /* of the valid mark and `safe` */
    uint64_t *words;   /* of the current ring */
    uint64_t began_ns; /* when reading the rings began */
    uint64_t cut_ns;   /* the first event that a ring got meanwhile */
};

/* How far a ring had got before any ring was read. */
struct noted {
    uint64_t put;
    uint32_t thread;
};

static int fill(const struct source *source, void *out, size_t size, uint64_t from)
{
    return pread(source->fd, out, size, (off_t)from) == (ssize_t)size ? 0 : -EIO;
}

/* Read the bytes from..to ever put into a circular buffer of `size` bytes at offset `file`: each at
 * its own place in out, or consecutively if is_straight. */
static int fill_circle(const struct source *source, void *out, uint64_t from, uint64_t to,
                       uint64_t circle, uint64_t file, bool is_straight)
{
    uint64_t at = from % circle, n = to - from, first = n < circle - at ? n : circle - at;
    unsigned char *bytes = out;
    if (fill(source, bytes + (is_straight ? 0 : at), first, file + at))
        return -EIO;
    return n > first ? fill(source, bytes + (is_straight ? first : 0), n - first, file) : 0;
}

static int grow(void *array, size_t *capacity, size_t need, size_t size)
{
    void **at = array;
    if (need <= *capacity)
        return 0;
    size_t more = *capacity * 2 > need ? *capacity * 2 : need + 64;
    void *bytes = realloc(*at, more * size);
    if (!bytes)
        return -ENOMEM;
    *at = bytes;
    *capacity = more;
    return 0;
}

static void damaged(struct mt_tail_content *content, uint64_t offset, const char *what)
{
    struct mt_trace_error *error = &content->error;
    if (error->fault)
        return;
    error->fault = MT_FAULT_DAMAGED;
    error->offset = offset;
    snprintf(error->text, sizeof error->text,
             "the trace's tail (*" MT_TAIL_SUFFIX ") is damaged at byte %" PRIu64
             " (%s); the trace itself is intact",
             offset, what);
}

static int add_definition(struct mt_tail_content *content, const struct mt_definition *definition)
{
    if (grow(&content->definitions, &content->definitions_capacity, content->n_definitions + 1,
             sizeof *content->definitions))
        return -ENOMEM;
    content->definitions[content->n_definitions++] = *definition;
    return 0;
}

static int add_event(struct mt_tail_content *content, const struct mt_event *event)
{
    if (grow(&content->events, &content->events_capacity, content->n_events + 1,
             sizeof *content->events))
        return -ENOMEM;
    content->events[content->n_events++] = *event;
    return 0;
}

/* Add the info records of a trace's beginning that the writer had not written yet. */
static int add_infos(struct mt_tail_content *content, const struct source *source)
{
    const struct mt_tail_header *header = &source->header;
    const struct {
        const char *key;
        uint64_t value;
    } infos[] = {{"pid", header->pid},
                 {"start_monotonic_ns", header->start_monotonic_ns},
                 {"start_realtime_ns", header->start_realtime_ns}};
    for (size_t i = 0; i < 3; i++) {
        int n = snprintf(content->info[i], sizeof content->info[i], "%s=%" PRIu64, infos[i].key,
                         infos[i].value);
        struct mt_definition definition = {
            .kind = MT_DEF_INFO, .text = content->info[i], .text_size = (size_t)n};
        if (add_definition(content, &definition))
            return -ENOMEM;
    }
    return 0;
}

/* Add how it ended, if the process noted it. */
static int add_end(struct mt_tail_content *content, const struct source *source)
{
    static const char *const keys[MT_TAIL_ENDS] = {
        [MT_TAIL_STOPPED] = "stopped", [MT_TAIL_EXECUTED] = "executed", [MT_TAIL_ENDED] = "ended"};
    const struct mt_tail_header *header = &source->header;
    uint32_t end = header->end;
    content->end = end < MT_TAIL_ENDS ? (enum mt_tail_end)end : MT_TAIL_GOES_ON;
    if (!keys[content->end])
        return 0;
    int n = snprintf(content->why, sizeof content->why, "%s=%.*s", keys[content->end],
                     (int)sizeof header->why, header->why);
    return add_definition(
        content,
        &(struct mt_definition){.kind = MT_DEF_INFO, .text = content->why, .text_size = (size_t)n});
}

static int read_journal(struct mt_tail_content *content, const struct source *source)
{
    uint64_t from = source->mark.journal, size = source->header.journal_put - from;
    if (size > MT_JOURNAL_SIZE) {
        damaged(content, offsetof(struct mt_tail_header, journal_put), "the journal's extent");
        return 0;
    }
    content->journal = malloc(size ? size : 1);
    if (!content->journal)
        return -ENOMEM;
    if (fill_circle(source, content->journal, from, from + size, MT_JOURNAL_SIZE, MT_TAIL_JOURNAL,
                    1)) {
        damaged(content, MT_TAIL_JOURNAL, "it is truncated");
        return 0;
    }
    const unsigned char *next = content->journal, *end = next + size;
    while (next < end) {
        struct mt_definition definition;
        uint64_t offset = (from + (uint64_t)(next - content->journal)) % MT_JOURNAL_SIZE;
        if (mt_decode_definition(&next, end, &definition)) {
            damaged(content, MT_TAIL_JOURNAL + offset, "invalid definition");
            return 0;
        }
        if (add_definition(content, &definition))
            return -ENOMEM;
    }
    return 0;
}

static uint64_t trace_time(const struct source *source, uint64_t time_ns)
{
    return time_ns > source->header.start_monotonic_ns ? time_ns - source->header.start_monotonic_ns
                                                       : 0;
}

/* Read the events of a ring's words from..to. */
static int read_words(struct mt_tail_content *content, const struct source *source, uint64_t from,
                      uint64_t to, uint32_t thread, uint64_t offset)
{
    for (uint64_t at = from; at < to;) {
        struct mt_event event;
        uint64_t head = source->words[at % MT_RING_WORDS];
        unsigned kind = (uint16_t)head;
        if (kind >= MT_KIND_LIMIT || !mt_kinds[kind].name || to - at < mt_ring_event_words(kind)) {
            damaged(content, offset + at % MT_RING_WORDS * 8, "invalid event");
            return 0;
        }
        at += mt_ring_read(source->words, at, to, head, &event);
        event.thread = thread;
        event.time_ns = trace_time(source, event.time_ns);
        if (event.device < MT_NO_DEVICE) {
            damaged(content, offset + at % MT_RING_WORDS * 8, "invalid device");
            return 0;
        }
        if (add_event(content, &event))
            return -ENOMEM;
    }
    return 0;
}

/* Add a loss after the last event so far. */
static int add_loss(struct mt_tail_content *content, uint32_t thread, uint64_t events)
{
    struct mt_event event = {
        .thread = thread, .kind = MT_LOST, .device = MT_NO_DEVICE, .LOST = {events}};
    if (content->n_events)
        event.time_ns = content->events[content->n_events - 1].time_ns;
    return events ? add_event(content, &event) : 0;
}

int mt_tail_lose_slotless(struct mt_tail_content *content)
{
    return add_loss(content, 0, content->slotless);
}

/* Return how far to read a ring. Set the cut before the first event that it got after it was noted:
 * rings are read one after the other, so an event that one got meanwhile may have caused one in
 * another. */
static uint64_t find_cut(struct source *source, const struct mt_ring *head, uint64_t from,
                         uint64_t to, const struct noted *noted)
{
    bool is_noted = noted->thread == head->thread && noted->put - from <= to - from;
    uint64_t until = is_noted ? noted->put : from;
    if (to - until >= 2) {
        uint64_t time_ns = trace_time(source, source->words[(until + 1) % MT_RING_WORDS]);
        source->cut_ns = time_ns < source->cut_ns ? time_ns : source->cut_ns;
    }
    return until;
}

/* Read a ring. head: the ring without its words. */
static int read_ring(struct mt_tail_content *content, struct source *source, uint32_t slot,
                     const struct mt_ring *head, const struct noted *noted)
{
    uint64_t offset = mt_tail_ring_at(slot), from = head->safe[source->index], to = head->put;
    if (to - from > MT_RING_WORDS) {
        damaged(content, offset, "the extent of a ring");
        return 0;
    }
    if (from != to && fill_circle(source, source->words, from * 8, to * 8, sizeof head->word,
                                  offset + RING_HEAD, 0)) {
        damaged(content, offset, "it is truncated");
        return 0;
    }
    to = find_cut(source, head, from, to, noted);
    if (read_words(content, source, from, to, head->thread, offset + RING_HEAD))
        return -ENOMEM;
    if (head->thread <= source->mark.threads)
        return 0;
    memcpy(content->names[slot], head->name, MT_THREAD_NAME_SIZE);
    struct mt_definition definition = {.kind = MT_DEF_THREAD,
                                       .id = head->thread,
                                       .os_thread = head->os_thread,
                                       .text = content->names[slot],
                                       .text_size = strnlen(head->name, MT_THREAD_NAME_SIZE)};
    return add_definition(content, &definition);
}

/* Merge neighbouring runs of events, each in time order, until one is left. */
static int merge_runs(struct mt_tail_content *content, size_t *ends, size_t n)
{
    struct mt_event *from = content->events;
    struct mt_event *to = malloc((content->n_events + 1) * sizeof *to);
    if (!to)
        return -ENOMEM;
    for (; n > 1; n = (n + 1) / 2) {
        for (size_t run = 0; run < n; run += 2) {
            size_t a = run ? ends[run - 1] : 0, a_end = ends[run], b = a_end, at = a;
            size_t b_end = run + 1 < n ? ends[run + 1] : a_end;
            while (at < b_end)
                to[at++] = a < a_end && (b == b_end || from[a].time_ns <= from[b].time_ns)
                               ? from[a++]
                               : from[b++];
            ends[run / 2] = b_end;
        }
        struct mt_event *other = from;
        from = to;
        to = other;
    }
    content->events = from;
    content->events_capacity = content->n_events;
    free(to);
    return 0;
}

static void note_rings(const struct source *source, struct noted *noted, uint32_t slots,
                       struct mt_ring *head)
{
    for (uint32_t slot = 0; slot < slots; slot++)
        if (!fill(source, head, RING_HEAD, mt_tail_ring_at(slot)))
            noted[slot] = (struct noted){head->put, head->thread};
}

/* Return how many rings the file has by now. */
static uint32_t count_rings(struct mt_tail_content *content, const struct source *source)
{
    uint32_t slots;
    struct stat status;
    if (fill(source, &slots, sizeof slots, offsetof(struct mt_tail_header, slots)))
        slots = source->header.slots;
    uint64_t size = !fstat(source->fd, &status) ? (uint64_t)status.st_size : 0;
    uint64_t room = size > MT_TAIL_RINGS ? (size - MT_TAIL_RINGS) / sizeof(struct mt_ring) : 0;
    if (room > MT_TAIL_SLOTS)
        room = MT_TAIL_SLOTS; /* the file may be sparse, of any size */
    if (slots <= room)
        return slots;
    damaged(content, offsetof(struct mt_tail_header, slots), "truncated, or the number of rings");
    return (uint32_t)room;
}

/* Drop the events at and after the moment of the cut, once they are in order. */
static void cut(struct mt_tail_content *content, const struct source *source)
{
    while (content->n_events && content->events[content->n_events - 1].time_ns >= source->cut_ns)
        content->n_events--;
}

static int read_rings(struct mt_tail_content *content, struct source *source)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    source->began_ns =
        trace_time(source, (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec);
    struct mt_ring *head = aligned_alloc(_Alignof(struct mt_ring), sizeof *head);
    struct noted *noted = calloc(MT_TAIL_SLOTS, sizeof *noted);
    if (head && noted)
        note_rings(source, noted, count_rings(content, source), head);
    const uint32_t slots = count_rings(content, source); /* a new one may have been used */
    size_t *ends = calloc((size_t)slots + 1, sizeof *ends), n = 0;
    content->names = calloc((size_t)slots + 1, sizeof *content->names);
    source->words = head ? head->word : NULL;
    source->cut_ns = UINT64_MAX;
    int rc = head && ends && noted && content->names ? 0 : -ENOMEM;
    for (uint32_t slot = 0; !rc && slot < slots; slot++) {
        size_t before = content->n_events;
        if (fill(source, head, RING_HEAD, mt_tail_ring_at(slot))) {
            damaged(content, mt_tail_ring_at(slot), "it is truncated");
            break;
        }
        if (!head->thread)
            continue;
        uint32_t same = 0;
        while (same < slot && noted[same].thread != head->thread)
            same++;
        if (same < slot) {
            damaged(content, mt_tail_ring_at(slot), "duplicate ring of a thread");
            break;
        }
        rc = read_ring(content, source, slot, head, &noted[slot]);
        if (!rc)
            rc = add_loss(content, head->thread, head->lost);
        if (content->n_events > before)
            ends[n++] = content->n_events;
    }
    if (!rc && n > 1)
        rc = merge_runs(content, ends, n);
    cut(content, source);
    free(head);
    free(noted);
    free(ends);
    return rc;
}

static int read_header(struct source *source)
{
    if (fill(source, &source->header, sizeof source->header, 0) ||
        memcmp(source->header.magic, MT_TAIL_MAGIC, MT_TAIL_MAGIC_SIZE))
        return -EINVAL;
    source->index = source->header.turn % 2;
    if (source->header.mark[source->index].trace_id != source->trace->id)
        source->index = !source->index;
    source->mark = source->header.mark[source->index];
    return source->mark.trace_id == source->trace->id ? 0 : -EINVAL;
}

static void empty(struct mt_tail_content *content)
{
    bool is_locked = content->is_locked;
    mt_tail_clear(content);
    content->is_locked = is_locked;
}

/* Read the rings before the journal, which then has everything that their events refer to. Return
 * 1; 0 if ring space was freed meanwhile; or -ENOMEM. */
static int try_to_read(struct mt_tail_content *content, struct source *source)
{
    struct source after = *source;
    empty(content);
    if (read_header(source))
        return 0;
    content->trace_size = source->mark.trace_size;
    content->alive_ns = source->header.alive_ns;
    uint64_t put = source->header.slotless_put, safe = source->header.slotless_safe[source->index];
    content->slotless = put > safe ? put - safe : 0;
    if ((source->mark.trace_size <= source->trace->header_size && add_infos(content, source)) ||
        add_end(content, source) || read_rings(content, source))
        return -ENOMEM;
    if (read_header(&after))
        return 0;
    source->header.journal_put = after.header.journal_put;
    if (read_journal(content, source))
        return -ENOMEM;
    return !read_header(&after) && after.header.turn == source->header.turn;
}

/* Return whether the tail has a newer version. Then nothing else in it may be read. */
static bool is_newer(int fd)
{
    struct mt_tail_header header;
    const ssize_t size = offsetof(struct mt_tail_header, pid);
    return pread(fd, &header, (size_t)size, 0) == size &&
           !memcmp(header.magic, MT_TAIL_MAGIC, MT_TAIL_MAGIC_SIZE) &&
           header.version > MT_TAIL_VERSION;
}

int mt_tail_file(const char *trace_path, int access)
{
    char real[PATH_MAX], path[PATH_MAX + sizeof MT_TAIL_SUFFIX];
    snprintf(path, sizeof path, "%s" MT_TAIL_SUFFIX,
             realpath(trace_path, real) ? real : trace_path);
    return open(path, access | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
}

/* Return whether an event from before the reading came meanwhile, because its thread was
 * interrupted between reading the clock and putting the event: the cut then dropped what other
 * threads had recorded since. The next try has it. With the clock of another machine or container
 * this may be true each time. */
static bool has_late_event(const struct source *source)
{
    return source->cut_ns < source->began_ns;
}

int mt_tail_read(struct mt_tail_content *content, const struct mt_tail_of *trace)
{
    struct source source = {.fd = mt_tail_file(trace->path, O_RDONLY), .trace = trace};
    struct stat status;
    int rc = 0;
    memset(content, 0, sizeof *content);
    if (source.fd < 0)
        return 0;
    bool is_file = !fstat(source.fd, &status) && S_ISREG(status.st_mode);
    if (is_file && is_newer(source.fd))
        rc = -EPROTO;
    else if (is_file && !read_header(&source)) {
        content->is_locked = mt_author_is_locked(source.fd);
        for (int i = 0; rc == 0 && i < MOST_TRIES; i++) {
            rc = try_to_read(content, &source);
            if (rc == 1 && i < LATE_TRIES && has_late_event(&source))
                rc = 0;
        }
    } else if (is_file) { /* another trace's, not one that was just begun */
        content->is_other = !memcmp(source.header.magic, MT_TAIL_MAGIC, MT_TAIL_MAGIC_SIZE) &&
                            source.header.mark[source.header.turn % 2].trace_id;
    }
    close(source.fd);
    return rc;
}

/* Read a consistent header. A mark is overwritten two turns later at the earliest. */
static int read_steady_header(struct source *source)
{
    struct source after = *source;
    for (int i = 0; i < MOST_TRIES; i++)
        if (!read_header(source) && !read_header(&after) &&
            after.header.turn == source->header.turn)
            return 0;
    return -EINVAL;
}

int mt_tail_peek(struct mt_tail_content *content, const struct mt_tail_of *trace)
{
    struct source source = {.fd = mt_tail_file(trace->path, O_RDONLY), .trace = trace};
    struct stat status;
    memset(content, 0, sizeof *content);
    if (source.fd < 0)
        return 0;
    bool is_there =
        !fstat(source.fd, &status) && S_ISREG(status.st_mode) && !read_steady_header(&source);
    if (is_there) {
        uint32_t end = source.header.end;
        content->trace_size = source.mark.trace_size;
        content->alive_ns = source.header.alive_ns;
        content->end = end < MT_TAIL_ENDS ? (enum mt_tail_end)end : MT_TAIL_GOES_ON;
        content->is_locked = mt_author_is_locked(source.fd);
    }
    close(source.fd);
    return is_there;
}

void mt_tail_clear(struct mt_tail_content *content)
{
    free(content->definitions);
    free(content->events);
    free(content->journal);
    free(content->names);
    memset(content, 0, sizeof *content);
}
