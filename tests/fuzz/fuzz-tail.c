/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tail of a killed program's trace: rings and a journal with what the input's records say, and
 * numbers of their heads changed. What the reader gives of it is sound in form. The files are in
 * memory where there is such a folder, mapped, and the same ones for all inputs.
 */
#include "made-trace.h"
#include "target.h"
#include "trace-format/encoder.h"
#include "trace-format/tail-reader.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define ID 4711u
#define JOURNAL_MOST 16384u /* bytes that one input puts */
#define WORDS_MOST 8192u

static char folder[] = "/dev/shm/memtap-fuzz-XXXXXX", other[] = "/tmp/memtap-fuzz-XXXXXX";
static char trace[64], tail[80];
static unsigned char *bytes_of_tail;
static uint64_t before;

static void remove_files(void)
{
    unlink(tail);
    rmdir(folder);
    rmdir(other);
}

static void begin(void)
{
    const char *in = mkdtemp(folder);
    in = in ? in : mkdtemp(other);
    snprintf(trace, sizeof trace, "%s/t.mtap", in ? in : "");
    snprintf(tail, sizeof tail, "%s" MT_TAIL_SUFFIX, trace);
    int fd = in ? open(tail, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600) : -1;
    off_t size = (off_t)mt_tail_ring_at(2);
    if (fd < 0 || ftruncate(fd, size))
        abort();
    atexit(remove_files);
    bytes_of_tail = mmap(NULL, (size_t)size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (bytes_of_tail == MAP_FAILED)
        abort();
}

static struct mt_ring *ring(unsigned slot)
{
    return (struct mt_ring *)(bytes_of_tail + mt_tail_ring_at(slot));
}

static void make_heads(void)
{
    struct mt_tail_header *header = (struct mt_tail_header *)bytes_of_tail;
    memset(header, 0, MT_TAIL_PAGE);
    memcpy(header->magic, MT_TAIL_MAGIC, MT_TAIL_MAGIC_SIZE);
    header->version = MT_TAIL_VERSION;
    header->pid = 4711;
    header->start_monotonic_ns = 1000;
    header->slots = 2;
    header->mark[0] = (struct mt_tail_mark){MT_FILE_HEADER_SIZE, ID, before, 0, 0};
    header->journal_put = before;
    for (unsigned i = 0; i < 2; i++) {
        memset(ring(i), 0, offsetof(struct mt_ring, word));
        ring(i)->thread = i + 1;
        ring(i)->put = ring(i)->safe[0] = ring(i)->safe[1] = before;
    }
}

static void put_event(const struct mt_event *event)
{
    struct mt_ring *to = ring(event->thread & 1);
    uint64_t at = to->put;
    if (at - before > WORDS_MOST)
        return;
    to->word[at++ % MT_RING_WORDS] = mt_ring_head(event->kind, event->device, event->stack);
    to->word[at++ % MT_RING_WORDS] = event->time_ns;
    for (unsigned i = 0; i < mt_kind_fields[event->kind]; i++)
        to->word[at++ % MT_RING_WORDS] = event->arg[i];
    to->put = at;
}

static void put_definition(const struct mt_definition *definition)
{
    static unsigned char text[MT_DEFINITION_SIZE];
    struct mt_tail_header *header = (struct mt_tail_header *)bytes_of_tail;
    size_t size = mt_encode_definition(text, definition);
    if (header->journal_put - before + size > JOURNAL_MOST)
        return;
    for (size_t i = 0; i < size; i++)
        bytes_of_tail[MT_TAIL_JOURNAL + (header->journal_put + i) % MT_JOURNAL_SIZE] = text[i];
    header->journal_put += size;
}

/* A number of the header's or of a ring's head, or a word of a ring, or a byte of the journal. */
static void change(const uint8_t *choice)
{
    uint64_t number = mt_made_number(choice[2] | (unsigned)choice[3] << 8);
    unsigned at = choice[1] % 64 * 8;
    unsigned char *page = choice[0] & 1 ? (unsigned char *)ring(choice[0] >> 1 & 1) : bytes_of_tail;
    if (choice[0] & 4)
        page = (unsigned char *)&ring(0)->word[before % MT_RING_WORDS / 64 * 64];
    else if (choice[0] & 8)
        page = bytes_of_tail + MT_TAIL_JOURNAL + before % MT_JOURNAL_SIZE / 4096 * 4096;
    memcpy(page + at, &number, choice[0] & 16 ? 8 : 4);
}

/* A ring's words may have been changed, and its times with them. */
static void check(const struct mt_tail_content *content, bool is_changed)
{
    for (size_t i = 0; i < content->n_events; i++)
        if (!content->events[i].kind || content->events[i].kind >= MT_KIND_LIMIT ||
            (i && !is_changed && content->events[i].time_ns < content->events[i - 1].time_ns))
            abort();
    for (size_t i = 0; i < content->n_definitions; i++) {
        const struct mt_definition *definition = &content->definitions[i];
        volatile char last =
            definition->text_size ? definition->text[definition->text_size - 1] : 0;
        (void)last;
        if (definition->kind < MT_DEF_STRING || definition->kind >= MT_DEF_LIMIT)
            abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static struct mt_made_trace made;
    struct mt_tail_content content;
    const struct mt_tail_of of = {trace, ID, MT_FILE_HEADER_SIZE};
    if (!bytes_of_tail)
        begin();
    if (mt_made_trace_read(&made, bytes, size))
        return 0;
    before = made.choices[0] < 128 ? 0 : (uint64_t)made.choices[0] << (made.choices[1] & 31);
    make_heads();
    for (size_t i = 0; i < made.n_batches; i++) {
        for (size_t j = 0; j < made.batch[i].n_events; j++)
            put_event(&made.batch[i].events[j]);
        for (size_t j = 0; j < made.batch[i].n_definitions; j++)
            put_definition(&made.batch[i].definitions[j]);
    }
    for (size_t n = made.choices[2] % 4; n; n--)
        if (size >= MT_MADE_HEADER + 4 * n)
            change(bytes + size - 4 * n);
    if (mt_tail_read(&content, &of) > 0)
        check(&content, made.choices[2] % 4 != 0);
    mt_tail_clear(&content);
    return 0;
}
