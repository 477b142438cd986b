/* SPDX-License-Identifier: Apache-2.0 */
#include "look.h"
#include "preload/host/safe-read.h"
#include "recorder.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/uio.h>

#define PAGE 4096u
#define PAGES 64u
#define PLACES 256u
#define MOST_AT_ONCE (MT_LOOK_AHEAD + MT_LOOK_LAST)

static struct {
    struct mt_held held;
    struct mt_look_pages *last; /* to copy with the first page; NULL: they are */
    unsigned n;                 /* pages */
    uint64_t address[PAGES];
    bool is_used[PAGES];
    _Atomic uint64_t reads, bytes;                     /* of looks */
    struct iovec from[MOST_AT_ONCE], to[MOST_AT_ONCE]; /* a thread's stack may be small */
    uint64_t list[MOST_AT_ONCE];
    uint8_t place[PLACES]; /* by address: a page, from 1 up; 0: none */
    char copy[PAGES][PAGE];
} look;

static _Atomic uint64_t reads, bytes, calls;

/* Forget all copies. */
static void forget(void)
{
    memset(look.place, 0, sizeof look.place);
    look.n = 0;
}

int mt_look_begin(struct mt_look_pages *last)
{
    if (!mt_hold(&look.held))
        return 0;
    look.last = last;
    forget();
    return 1;
}

/* Keep which pages were read, if any were. */
static void keep(struct mt_look_pages *last)
{
    unsigned n = 0;
    for (unsigned i = 0; i < look.n && n < MT_LOOK_LAST; i++)
        if (look.is_used[i])
            last->page[n++] = look.address[i];
    if (n)
        memset(last->page + n, 0, (MT_LOOK_LAST - n) * sizeof *last->page);
}

void mt_look_end(bool has_begun, struct mt_look_pages *last)
{
    if (!has_begun)
        return;
    keep(last);
    mt_let_go(&look.held);
}

static void count_call(void)
{
    atomic_fetch_add_explicit(&calls, 1, memory_order_relaxed);
}

/* Return a page's place, or an empty one for it: there are more places than pages. */
static uint8_t *place_of(uint64_t page)
{
    unsigned i = (unsigned)(page / PAGE ^ page / PAGE / PLACES);
    while (look.place[i % PLACES] && look.address[look.place[i % PLACES] - 1] != page)
        i++;
    return &look.place[i % PLACES];
}

/* Copy the n listed pages, which are not copied yet, in one system call, up to an unreadable one.
 */
static void copy_listed(unsigned n)
{
    if (look.n + n > PAGES)
        forget();
    for (unsigned i = 0; i < n; i++) {
        look.from[i] = (struct iovec){(void *)(uintptr_t)look.list[i], PAGE};
        look.to[i] = (struct iovec){look.copy[look.n + i], PAGE};
    }
    count_call();
    size_t whole = mt_safe_read_many(look.from, look.to, n) / PAGE;
    if (!whole) /* that call may not be allowed */
        whole = !mt_safe_read((const void *)(uintptr_t)look.list[0], look.copy[look.n], PAGE);
    for (size_t i = 0; i < whole; i++) {
        uint8_t *place = place_of(look.list[i]);
        look.address[look.n] = look.list[i];
        look.is_used[look.n] = false;
        *place = (uint8_t)++look.n;
    }
}

static bool is_listed(unsigned n, uint64_t page)
{
    while (n && look.list[n - 1] != page)
        n--;
    return n;
}

/* List, behind n others, the pages of these addresses that are neither copied nor listed yet.
 * Return how many are. */
static unsigned list(unsigned n, const uint64_t *address, unsigned n_addresses)
{
    for (unsigned i = 0; i < n_addresses; i++) {
        uint64_t page = address[i] - address[i] % PAGE;
        if (page && !*place_of(page) && !is_listed(n, page))
            look.list[n++] = page;
    }
    return n;
}

/* Copy listed pages, and with the first ones those of the last look. */
static void copy_with_last(unsigned n)
{
    if (look.last)
        n = list(n, look.last->page, MT_LOOK_LAST);
    look.last = NULL;
    copy_listed(n);
}

/* Return a copy of a page; NULL: unreadable. */
static const char *copy_of(uint64_t page)
{
    if (!*place_of(page))
        copy_with_last(list(0, &page, 1));
    unsigned at = *place_of(page);
    if (!at)
        return NULL;
    look.is_used[at - 1] = true;
    return look.copy[at - 1];
}

static int read_copies(uint64_t address, char *out, size_t size)
{
    while (size) {
        size_t at = address % PAGE, n = PAGE - at < size ? PAGE - at : size;
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

/* Expect pages. A single page is read when it is needed, and so are pages after an unreadable one.
 */
void mt_look_expect(const uint64_t *address, unsigned n)
{
    if (!mt_is_held_here(&look.held))
        return;
    n = list(0, address, n < MT_LOOK_AHEAD ? n : MT_LOOK_AHEAD);
    if (n > 1)
        copy_with_last(n);
}

/* Count a read. Only this thread counts while it has a look. */
static void count_read(size_t size, bool is_alone)
{
    if (is_alone) {
        atomic_store_explicit(&look.reads,
                              atomic_load_explicit(&look.reads, memory_order_relaxed) + 1,
                              memory_order_relaxed);
        atomic_store_explicit(&look.bytes,
                              atomic_load_explicit(&look.bytes, memory_order_relaxed) + size,
                              memory_order_relaxed);
    } else {
        atomic_fetch_add_explicit(&reads, 1, memory_order_relaxed);
        atomic_fetch_add_explicit(&bytes, size, memory_order_relaxed);
    }
}

int mt_look_read(uint64_t address, void *out, size_t size)
{
    bool is_alone = mt_is_held_here(&look.held);
    count_read(size, is_alone);
    if (is_alone && address >= PAGE && size <= UINT64_MAX - address)
        return read_copies(address, out, size);
    count_call();
    return mt_safe_read((const void *)(uintptr_t)address, out, size);
}

int mt_look_read_words(const uint64_t *address, uint64_t *out, unsigned n)
{
    atomic_fetch_add_explicit(&reads, n, memory_order_relaxed);
    atomic_fetch_add_explicit(&bytes, n * sizeof *out, memory_order_relaxed);
    count_call();
    return mt_safe_read_words(address, out, n);
}

struct mt_look_work mt_look_work(void)
{
    return (struct mt_look_work){atomic_load_explicit(&reads, memory_order_relaxed) +
                                     atomic_load_explicit(&look.reads, memory_order_relaxed),
                                 atomic_load_explicit(&bytes, memory_order_relaxed) +
                                     atomic_load_explicit(&look.bytes, memory_order_relaxed),
                                 atomic_load_explicit(&calls, memory_order_relaxed)};
}

void mt_look_reset(void)
{
    reads = bytes = calls = look.reads = look.bytes = 0;
    look.held.by = 0;
}
