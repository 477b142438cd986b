/* SPDX-License-Identifier: Apache-2.0 */
#include "scan.h"
#include "preload/host/safe-read.h"
#include "recorder.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/uio.h>

#define PAGE 4096u
#define PIECE 1024u
#define PIECES 256u
#define PLACES 1024u
#define MOST_AGE 3u /* scans without a read of a piece until it is forgotten */
#define MOST_AT_ONCE (MT_SCAN_AHEAD * (PAGE / PIECE) + MT_SCAN_LAST)

static struct {
    struct mt_exclusive part;
    struct mt_scan_pieces *last; /* to copy with the first page; NULL: done */
    unsigned n;                  /* pieces */
    uint64_t address[PIECES];
    bool is_used[PIECES];
    _Atomic uint64_t reads, bytes;   /* of all scans */
    struct iovec from[MOST_AT_ONCE]; /* a thread's stack may be small */
    uint64_t list[MOST_AT_ONCE];
    uint16_t place[PLACES]; /* by address: a piece, from 1; 0: none */
    char copy[PIECES][PIECE];
} scan;

static _Atomic uint64_t reads, bytes, calls;

/* Forget all copies. */
static void forget(void)
{
    memset(scan.place, 0, sizeof scan.place);
    scan.n = 0;
}

bool mt_scan_begin(struct mt_scan_pieces *last)
{
    if (!mt_exclusive_acquire(&scan.part))
        return false;
    scan.last = last;
    forget();
    return true;
}

/* Return a piece's place, or an empty one for it: there are more places than pieces. */
static uint16_t *place_of(uint64_t piece)
{
    unsigned i = (unsigned)(piece / PIECE ^ piece / PIECE / PLACES);
    while (scan.place[i % PLACES] && scan.address[scan.place[i % PLACES] - 1] != piece)
        i++;
    return &scan.place[i % PLACES];
}

static bool was_read(uint64_t piece)
{
    unsigned at = *place_of(piece);
    return at && scan.is_used[at - 1];
}

/* Remember which pieces were read, by this scan and the ones before it: new objects often reuse the
 * addresses of objects freed some scans ago. A piece's age is in its lowest bits. */
static void keep(struct mt_scan_pieces *last)
{
    uint64_t older[MT_SCAN_LAST];
    unsigned n = 0;
    memcpy(older, last->piece, sizeof older);
    for (unsigned i = 0; i < scan.n && n < MT_SCAN_LAST; i++)
        if (scan.is_used[i])
            last->piece[n++] = scan.address[i];
    if (!n)
        return;
    for (unsigned i = 0; i < MT_SCAN_LAST && older[i] && n < MT_SCAN_LAST; i++)
        if (older[i] % PIECE < MOST_AGE && !was_read(older[i] - older[i] % PIECE))
            last->piece[n++] = older[i] + 1;
    memset(last->piece + n, 0, (MT_SCAN_LAST - n) * sizeof *last->piece);
}

void mt_scan_end(bool has_begun, struct mt_scan_pieces *last)
{
    if (!has_begun)
        return;
    keep(last);
    mt_exclusive_release(&scan.part);
}

static void count_call(void)
{
    atomic_fetch_add_explicit(&calls, 1, memory_order_relaxed);
}

/* Copy the n listed pieces, which are not copied yet, in one system call, up to the first
 * unreadable one. */
static void copy_listed(unsigned n)
{
    unsigned places = 0;
    if (scan.n + n > PIECES)
        forget();
    for (unsigned i = 0; i < n; i++) {
        if (i && scan.list[i] == scan.list[i - 1] + PIECE)
            scan.from[places - 1].iov_len += PIECE;
        else
            scan.from[places++] = (struct iovec){(void *)(uintptr_t)scan.list[i], PIECE};
    }
    count_call();
    char *copy = scan.copy[scan.n];
    size_t whole = mt_safe_read_many(scan.from, places, copy, (size_t)n * PIECE) / PIECE;
    if (!whole) /* the system call may be forbidden */
        whole = !mt_safe_read((const void *)(uintptr_t)scan.list[0], copy, PIECE);
    for (size_t i = 0; i < whole; i++) {
        uint16_t *place = place_of(scan.list[i]);
        scan.address[scan.n] = scan.list[i];
        scan.is_used[scan.n] = false;
        *place = (uint16_t)++scan.n;
    }
}

static bool is_listed(unsigned n, uint64_t piece)
{
    while (n && scan.list[n - 1] != piece)
        n--;
    return n;
}

/* Append a piece to a list of n, unless it is copied or among the first `known`. Return the new
 * length. */
static unsigned list(unsigned n, unsigned known, uint64_t piece)
{
    if (piece >= PAGE && !*place_of(piece) && !is_listed(known, piece))
        scan.list[n++] = piece;
    return n;
}

/* List the pieces of an address's page, the address's own first. */
static unsigned list_page(unsigned n, uint64_t address)
{
    uint64_t page = address - address % PAGE;
    n = list(n, n, address - address % PIECE);
    for (unsigned i = 0; i < PAGE / PIECE; i++)
        n = list(n, n, page + i * PIECE);
    return n;
}

/* Copy listed pieces, and the first time those of the last scans too. */
static void copy_with_last(unsigned n)
{
    unsigned first = n;
    for (unsigned i = 0; scan.last && i < MT_SCAN_LAST; i++)
        n = list(n, first, scan.last->piece[i] - scan.last->piece[i] % PIECE);
    scan.last = NULL;
    copy_listed(n);
}

/* Return a copy of a piece, or NULL if it is unreadable. */
static const char *copy_of(uint64_t piece)
{
    if (!*place_of(piece))
        copy_with_last(list_page(0, piece));
    unsigned at = *place_of(piece);
    if (!at)
        return NULL;
    scan.is_used[at - 1] = true;
    return scan.copy[at - 1];
}

static int read_copies(uint64_t address, char *out, size_t size)
{
    while (size) {
        size_t at = address % PIECE, n = PIECE - at < size ? PIECE - at : size;
        const char *copy = copy_of(address - at);
        if (!copy)
            return -EFAULT;
        memcpy(out, copy + at, n);
        address += n;
        out += n;
        size -= n;
    }
    return 0;
}

bool mt_scan_has_begun(void)
{
    return mt_exclusive_is_mine(&scan.part);
}

/* Prefetch. Pages that are alone are read when they are needed, and so are those after an
 * unreadable one. */
void mt_scan_prefetch(const uint64_t *address, unsigned n)
{
    unsigned listed = 0, pages = 0;
    if (!mt_exclusive_is_mine(&scan.part))
        return;
    for (unsigned i = 0; i < n && i < MT_SCAN_AHEAD; i++) {
        uint64_t piece = address[i] - address[i] % PIECE;
        if (piece < PAGE || *place_of(piece) || is_listed(listed, piece))
            continue;
        listed = list_page(listed, piece);
        pages++;
    }
    if (pages > 1)
        copy_with_last(listed);
}

/* Count a read. During a scan only its thread counts. */
static void count_read(size_t size, bool is_alone)
{
    if (is_alone) {
        atomic_store_explicit(&scan.reads,
                              atomic_load_explicit(&scan.reads, memory_order_relaxed) + 1,
                              memory_order_relaxed);
        atomic_store_explicit(&scan.bytes,
                              atomic_load_explicit(&scan.bytes, memory_order_relaxed) + size,
                              memory_order_relaxed);
    } else {
        atomic_fetch_add_explicit(&reads, 1, memory_order_relaxed);
        atomic_fetch_add_explicit(&bytes, size, memory_order_relaxed);
    }
}

int mt_scan_read(uint64_t address, void *out, size_t size)
{
    bool is_alone = mt_exclusive_is_mine(&scan.part);
    count_read(size, is_alone);
    if (is_alone && address >= PAGE && size <= UINT64_MAX - address)
        return read_copies(address, out, size);
    count_call();
    return mt_safe_read((const void *)(uintptr_t)address, out, size);
}

int mt_scan_read_words(const uint64_t *address, uint64_t *out, unsigned n)
{
    atomic_fetch_add_explicit(&reads, n, memory_order_relaxed);
    atomic_fetch_add_explicit(&bytes, n * sizeof *out, memory_order_relaxed);
    count_call();
    return mt_safe_read_words(address, out, n);
}

struct mt_scan_work mt_scan_work(void)
{
    return (struct mt_scan_work){atomic_load_explicit(&reads, memory_order_relaxed) +
                                     atomic_load_explicit(&scan.reads, memory_order_relaxed),
                                 atomic_load_explicit(&bytes, memory_order_relaxed) +
                                     atomic_load_explicit(&scan.bytes, memory_order_relaxed),
                                 atomic_load_explicit(&calls, memory_order_relaxed)};
}

void mt_scan_reset(void)
{
    reads = bytes = calls = scan.reads = scan.bytes = 0;
    scan.part.by = 0;
}
