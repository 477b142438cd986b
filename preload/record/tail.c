/* SPDX-License-Identifier: Apache-2.0 */
#include "tail.h"
#include "guard.h"
#include "preload/host/memory.h"
#include "preload/host/no-cancel.h"
#include "preload/host/own-file.h"
#include "recorder.h"
#include "trace-format/author/author.h"
#include "trace-format/encoder.h"
#include "trace-format/tail-request.h"
#include "wake.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/fs.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#define JOURNAL_WAIT_NS 200000000
#define JOURNAL_PAUSE_US 100

/* Rings in the file: 512 MiB of disk space. If more threads run at once, their rings are in memory.
 */
#define MOST_SLOTS 256u

/* File systems that keep reserved space: no copy on write, no network server. */
static const struct {
    unsigned long type; /* statfs */
    const char *name;
    bool is_layer; /* a layer over another one, which must be ext4 */
} good_file_systems[] = {{0xef53, "ext", 0},
                         {0x58465342, "xfs", 0},
                         {0x01021994, "tmpfs", 0},
                         {0x794c7630, "overlay", 1}};

static struct {
    struct mt_own_file file;
    char path[PATH_MAX + sizeof MT_TAIL_SUFFIX];
    char status[256];
    struct mt_tail_header *header; /* NULL: no tail */
    _Atomic bool is_left;          /* another process has written to it: it is memory now */
    _Atomic bool has_slotless;     /* some ring is not in the file */
    unsigned char *journal;
    /* A copy of what the file says: another process may write to the file. */
    _Atomic uint64_t journal_put;
    _Atomic uint32_t turn;
    uint32_t slots;
    struct mt_tail_mark mark[2];
    uint64_t start_ns;
    uint32_t requested;            /* the newest request accepted */
    _Atomic uint64_t journal_read; /* bytes already in the trace */
    int journal_overflowed;        /* the writer has read nothing since */
    unsigned char definition[MT_DEFINITION_SIZE];
    uint32_t *free_slots; /* slots without a thread, as a stack */
    uint32_t n_free;
} tail = {.file = {.fd = -1}, .status = "no: the recording did not start"};

__attribute__((format(printf, 1, 2))) static void explain(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(tail.status, sizeof tail.status, format, args);
    va_end(args);
}

/* Return whether a file is on ext4. Containers are mostly on such layers. The flag comes from the
 * lower file system; of those that are used below a layer, only ext4 has it. */
static bool is_on_ext4(void)
{
    int flags = 0;
    return !ioctl(tail.file.fd, FS_IOC_GETFLAGS, &flags) && flags & FS_EXTENT_FL;
}

static bool is_good_file_system(void)
{
    struct statfs status;
    if (fstatfs(tail.file.fd, &status))
        return false;
    for (size_t i = 0; i < sizeof good_file_systems / sizeof *good_file_systems; i++)
        if ((unsigned long)status.f_type == good_file_systems[i].type)
            return !good_file_systems[i].is_layer || is_on_ext4();
    return false;
}

/* Reserve disk space for the file's bytes from..to. Check the limit first: exceeding it raises a
 * signal. */
static int reserve(uint64_t from, uint64_t to)
{
    struct rlimit limit;
    if (!getrlimit(RLIMIT_FSIZE, &limit) && to > limit.rlim_cur)
        return -EFBIG;
    if (!mt_own_file_is_ours(&tail.file))
        return -ESTALE;
    int rc;
    do
        rc = fallocate(tail.file.fd, 0, (off_t)from, (off_t)(to - from)) ? -errno : 0;
    while (rc == -EINTR);
    return rc;
}

static void *map_file(void *at, uint64_t from, size_t size)
{
    void *memory = mmap(at, size, PROT_READ | PROT_WRITE, MAP_SHARED | (at ? MAP_FIXED : 0),
                        tail.file.fd, (off_t)from);
    return memory == MAP_FAILED ? NULL : memory;
}

static int make(void)
{
    long page = sysconf(_SC_PAGESIZE);
    if (page != MT_TAIL_PAGE) {
        explain("no: pages of %ld bytes", page);
        return -EINVAL;
    }
    int rc = mt_own_file_create(&tail.file, tail.path, O_RDWR);
    if (!rc && !is_good_file_system()) {
        explain("no: not on this file system");
        return -ENOTSUP;
    }
    if (!rc)
        rc = reserve(0, MT_TAIL_RINGS);
    tail.free_slots = rc ? NULL : mt_map(MT_TAIL_SLOTS * sizeof *tail.free_slots);
    unsigned char *begin = tail.free_slots ? map_file(NULL, 0, MT_TAIL_RINGS) : NULL;
    if (!rc && !begin)
        rc = -ENOMEM;
    if (rc) {
        explain("no: %s", strerror(-rc));
        return rc;
    }
    madvise(begin, MT_TAIL_RINGS, MADV_RANDOM); /* see map_ring */
    mt_guard_set(0, begin, MT_TAIL_RINGS);
    tail.journal = begin + MT_TAIL_JOURNAL;
    tail.header = (struct mt_tail_header *)begin;
    return 0;
}

void mt_tail_open(const char *trace_path, uint64_t start_ns)
{
    snprintf(tail.path, sizeof tail.path, "%s" MT_TAIL_SUFFIX, trace_path);
    if (make()) {
        mt_own_file_unlink(&tail.file, tail.path);
        mt_own_file_close(&tail.file);
        return;
    }
    struct mt_tail_header *header = tail.header;
    header->version = MT_TAIL_VERSION;
    header->pid = (uint32_t)getpid();
    header->start_monotonic_ns = tail.start_ns = start_ns;
    header->start_realtime_ns = mt_clock(CLOCK_REALTIME) - (mt_now() - start_ns);
    memcpy(header->magic, MT_TAIL_MAGIC, MT_TAIL_MAGIC_SIZE);
    mt_author_lock(tail.file.fd); /* while it is mapped: descriptors may be closed */
    mt_tail_set_alive();
    explain("yes");
}

bool mt_tail_exists(void)
{
    return tail.header && !atomic_load_explicit(&tail.is_left, memory_order_acquire);
}

bool mt_tail_has_all(void)
{
    return mt_tail_exists() && !atomic_load_explicit(&tail.has_slotless, memory_order_relaxed);
}

/* Return whether the file has what we wrote there. */
static bool is_as_written(void)
{
    const struct mt_tail_header *header = tail.header;
    uint64_t journal = tail.journal_put, in_file = header->journal_put; /* it may grow in between */
    return !memcmp(header->magic, MT_TAIL_MAGIC, MT_TAIL_MAGIC_SIZE) &&
           header->version == MT_TAIL_VERSION && header->pid == (uint32_t)getpid() &&
           header->start_monotonic_ns == tail.start_ns && header->turn == tail.turn &&
           in_file >= journal && in_file - journal <= MT_JOURNAL_SIZE &&
           !memcmp(header->mark, tail.mark, sizeof tail.mark);
}

/* Return whether the file still has that many rings. */
static bool is_intact(uint32_t slots)
{
    struct stat status;
    bool is_there = mt_own_file_is_ours(&tail.file) && !fstat(tail.file.fd, &status);
    if (is_there && (uint64_t)status.st_size < mt_tail_ring_at(slots))
        mt_guard_lose();
    return is_there && !mt_guard_has_lost();
}

bool mt_tail_is_ours(void)
{
    if (mt_tail_exists())
        is_intact(tail.slots); /* else a read raises SIGBUS */
    return !mt_tail_exists() || mt_guard_has_lost() || is_as_written();
}

bool mt_tail_ring_is_ours(struct mt_own_ring *ring, int slot, uint32_t thread)
{
    uint64_t before = mt_ring_put(ring), in_file = atomic_load(&ring->shared.put);
    return slot < 0 || mt_guard_has_lost() ||
           (!ring->is_damaged && in_file >= before && in_file - before <= MT_RING_WORDS &&
            ring->shared.thread == thread);
}

/* Replace pages of the file by memory with the same content. */
static int detach(unsigned number, void *pages, size_t size)
{
    void *copy = mt_map(size);
    if (!copy)
        return -ENOMEM;
    memcpy(copy, pages, size);
    if (mremap(copy, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, pages) == MAP_FAILED) {
        mt_unmap(copy, size);
        return -ENOMEM;
    }
    mt_guard_set(number, NULL, 0);
    return 0;
}

int mt_tail_leave(void)
{
    atomic_store_explicit(&tail.is_left, true, memory_order_release);
    explain("partly: another program wrote to the tail");
    mt_own_file_close(&tail.file);
    return detach(0, tail.header, MT_TAIL_RINGS);
}

int mt_tail_leave_ring(struct mt_own_ring *ring, int *slot)
{
    if (*slot < 0)
        return 0;
    int rc = detach((unsigned)*slot + 1, &ring->shared, sizeof ring->shared);
    *slot = -1;
    return rc;
}

int mt_tail_release_ring(struct mt_own_ring *ring, int *slot)
{
    struct mt_ring *shared = &ring->shared;
    if (*slot < 0)
        return 0;
    if (mmap(shared, sizeof *shared, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) == MAP_FAILED)
        return -ENOMEM;
    mt_guard_set((unsigned)*slot + 1, NULL, 0);
    *slot = -1;
    return 0;
}

const char *mt_tail_status(void)
{
    return tail.status;
}

static int new_slot(void)
{
    uint32_t slot = tail.slots;
    if (slot == MOST_SLOTS) {
        explain(
            "partly: more than %u threads at once; a kill may lose the last 0.2 s of the others",
            MOST_SLOTS);
        return -1;
    }
    /* Growing a truncated file would give the other rings zeros instead of a fault. */
    int rc = is_intact(slot) ? reserve(mt_tail_ring_at(slot), mt_tail_ring_at(slot + 1)) : -EIO;
    if (rc) {
        explain("partly: %s", rc == -ESTALE ? "the program closed memtap's file" : strerror(-rc));
        return -1;
    }
    return (int)slot;
}

/* Map a ring. If that fails, the old memory may be unmapped. */
static int map_ring(struct mt_own_ring *ring, uint64_t slot)
{
    struct mt_ring *shared = &ring->shared;
    if (map_file(shared, mt_tail_ring_at(slot), sizeof *shared)) {
        /* Otherwise the kernel clears much around each touched page, and most threads touch few. */
        madvise(shared, sizeof *shared, MADV_RANDOM);
        mt_guard_set((unsigned)slot + 1, shared, sizeof *shared);
        return 0;
    }
    explain("partly: %s", strerror(errno));
    return -ENOMEM;
}

void mt_tail_clear_ring(struct mt_own_ring *ring)
{
    struct mt_ring *shared = &ring->shared;
    shared->put = shared->lost = shared->safe[0] = shared->safe[1] = 0;
}

int mt_tail_attach_ring(struct mt_own_ring *ring, int *slot)
{
    *slot = -1;
    if (!mt_tail_exists())
        return 0;
    ring->is_slotless = true;
    int found = !mt_own_file_is_ours(&tail.file) ? -1
                : tail.n_free                    ? (int)tail.free_slots[tail.n_free - 1]
                                                 : new_slot();
    if (found < 0) {
        if (!atomic_exchange(&tail.has_slotless, true))
            mt_writer_wake(); /* its current sleep is too long */
        return 0;
    }
    if (map_ring(ring, (uint64_t)found))
        return -ENOMEM;
    if (tail.n_free)
        tail.n_free--;
    else
        atomic_store_explicit(&tail.header->slots, tail.slots = (uint32_t)found + 1,
                              memory_order_release);
    mt_tail_clear_ring(ring);
    ring->is_slotless = false;
    *slot = found;
    return 0;
}

void mt_tail_count_slotless(uint64_t events)
{
    if (tail.header)
        atomic_fetch_add_explicit(&tail.header->slotless_put, events, memory_order_relaxed);
}

void mt_tail_note_slotless(unsigned index, uint64_t events)
{
    if (tail.header)
        atomic_store_explicit(&tail.header->slotless_safe[index], events, memory_order_relaxed);
}

void mt_tail_detach_ring(struct mt_own_ring *ring, int slot)
{
    if (slot < 0)
        return;
    atomic_store_explicit(&ring->shared.thread, 0, memory_order_release);
    mt_guard_set((unsigned)slot + 1, NULL, 0);
    tail.free_slots[tail.n_free++] = (uint32_t)slot;
}

static uint64_t journal_room(void)
{
    return MT_JOURNAL_SIZE - (mt_tail_journal() - atomic_load(&tail.journal_read));
}

/* Make room, if need be by a short wait. Return whether there is some. */
static bool make_journal_room(size_t size)
{
    MT_NO_CANCEL();
    uint64_t until = mt_now() + JOURNAL_WAIT_NS;
    while (journal_room() < size && !tail.journal_overflowed && mt_is_recording() &&
           mt_now() < until) {
        mt_writer_wake();
        mt_clock_pause(JOURNAL_PAUSE_US);
    }
    tail.journal_overflowed = journal_room() < size;
    return !tail.journal_overflowed;
}

void mt_tail_define(const struct mt_definition *definition)
{
    unsigned char *bytes = tail.definition;
    if (!mt_tail_exists())
        return;
    size_t size = mt_encode_definition(bytes, definition);
    if (!make_journal_room(size))
        return;
    uint64_t at = mt_tail_journal();
    size_t first = MT_JOURNAL_SIZE - at % MT_JOURNAL_SIZE;
    if (first > size)
        first = size;
    memcpy(tail.journal + at % MT_JOURNAL_SIZE, bytes, first);
    memcpy(tail.journal, bytes + first, size - first);
    atomic_store_explicit(&tail.header->journal_put, at + size, memory_order_release);
    atomic_store_explicit(&tail.journal_put, at + size, memory_order_release);
}

uint64_t mt_tail_journal(void)
{
    return atomic_load_explicit(&tail.journal_put, memory_order_acquire);
}

unsigned mt_tail_mark(const struct mt_tail_mark *mark)
{
    if (!tail.header)
        return 0;
    unsigned next = (tail.turn + 1) % 2;
    tail.header->mark[next] = tail.mark[next] = *mark;
    return next;
}

void mt_tail_turn(const struct mt_tail_mark *mark)
{
    if (!tail.header)
        return;
    uint32_t turn = tail.turn++;
    atomic_store(&tail.header->turn, tail.turn);
    tail.header->mark[turn % 2] = tail.mark[turn % 2] = *mark;
    atomic_store(&tail.journal_read, mark->journal);
}

bool mt_tail_note_end(enum mt_tail_end end, const char *why)
{
    struct mt_tail_header *header = tail.header;
    uint32_t nothing = MT_TAIL_GOES_ON;
    if (!header || mt_guard_has_lost() ||
        !atomic_compare_exchange_strong(&header->end, &nothing, end))
        return false;
    for (size_t i = 0; i < sizeof header->why; i++) {
        header->why[i] = *why;
        why += *why != 0;
    }
    return true;
}

void mt_tail_forget_end(void)
{
    atomic_store(&tail.header->end, MT_TAIL_GOES_ON);
}

/* Write a sign of life. The guard may replace the page by memory in another thread, which TSan
 * takes for a write. */
__attribute__((no_sanitize("thread"))) void mt_tail_set_alive(void)
{
    if (tail.header)
        atomic_store(&tail.header->alive_ns, mt_clock(CLOCK_REALTIME));
}

/* Accept a request. Other processes write these words. The guard may replace the page, as above. */
__attribute__((no_sanitize("thread"))) bool
mt_tail_accept_request(uint32_t *iterations, bool *wants_holders, bool *wants_stop)
{
    uint32_t requested = mt_tail_exists() ? atomic_load(&tail.header->requested) : tail.requested;
    if (requested == tail.requested)
        return false;
    uint32_t n = atomic_load(&tail.header->requested_iterations);
    tail.requested = requested;
    *wants_holders = atomic_load(&tail.header->requested_holders) == requested;
    *wants_stop = atomic_load(&tail.header->requested_stop) == requested;
    *iterations = n < MT_MOST_REQUESTED ? n : MT_MOST_REQUESTED;
    return true;
}

__attribute__((no_sanitize("thread"))) void mt_tail_answer(bool is_finished)
{
    if (!mt_tail_exists())
        return;
    if (is_finished)
        atomic_store(&tail.header->finished, tail.requested);
    atomic_store(&tail.header->answered, tail.requested);
}

void mt_tail_remove(void)
{
    if (mt_tail_exists())
        mt_own_file_unlink(&tail.file, tail.path);
    mt_own_file_close(&tail.file);
}

void mt_tail_reset(void)
{
    if (tail.header) {
        mt_unmap(tail.header, MT_TAIL_RINGS);
        mt_unmap(tail.free_slots, MT_TAIL_SLOTS * sizeof *tail.free_slots);
    }
    mt_guard_reset();
    mt_own_file_close(&tail.file);
    memset(&tail, 0, sizeof tail);
    tail.file.fd = -1;
}
