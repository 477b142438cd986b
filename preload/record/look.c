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

static struct {
    struct mt_held held;
    uint64_t address[PAGES]; /* of the page copied there; 0: none */
    char copy[PAGES][PAGE];
} look;

static _Atomic uint64_t reads, bytes, calls;

int mt_look_begin(void)
{
    if (!mt_hold(&look.held))
        return 0;
    memset(look.address, 0, sizeof look.address);
    return 1;
}

void mt_look_end(bool has_begun)
{
    if (has_begun)
        mt_let_go(&look.held);
}

static void count_call(void)
{
    atomic_fetch_add_explicit(&calls, 1, memory_order_relaxed);
}

static unsigned place_of(uint64_t page)
{
    return (unsigned)(page / PAGE ^ page / PAGE / PAGES) % PAGES;
}

/* Return a copy of a page; NULL: unreadable. */
static const char *copy_of(uint64_t page)
{
    unsigned i = place_of(page);
    if (look.address[i] == page)
        return look.copy[i];
    look.address[i] = 0;
    count_call();
    if (mt_safe_read((const void *)(uintptr_t)page, look.copy[i], PAGE))
        return NULL;
    look.address[i] = page;
    return look.copy[i];
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

/* List the addresses' pages that are not copied yet, each with a place of its own. Return how
 * many. */
static unsigned missing(const uint64_t *address, unsigned n, uint64_t *page)
{
    uint64_t taken = 0;
    unsigned found = 0;
    for (unsigned i = 0; i < n && found < MT_LOOK_AHEAD; i++) {
        uint64_t at = address[i] - address[i] % PAGE, bit = 1ull << place_of(at);
        if (!at || taken & bit || look.address[place_of(at)] == at)
            continue;
        taken |= bit;
        page[found++] = at;
    }
    return found;
}

/* Expect pages. A single page is read when it is needed, and so are pages after an unreadable one.
 */
void mt_look_expect(const uint64_t *address, unsigned n)
{
    struct iovec from[MT_LOOK_AHEAD], to[MT_LOOK_AHEAD];
    uint64_t page[MT_LOOK_AHEAD];
    unsigned found = mt_is_held_here(&look.held) ? missing(address, n, page) : 0;
    if (found < 2)
        return;
    for (unsigned i = 0; i < found; i++) {
        from[i] = (struct iovec){(void *)(uintptr_t)page[i], PAGE};
        to[i] = (struct iovec){look.copy[place_of(page[i])], PAGE};
        look.address[place_of(page[i])] = 0;
    }
    count_call();
    size_t whole = mt_safe_read_many(from, to, found) / PAGE;
    for (size_t i = 0; i < whole; i++)
        look.address[place_of(page[i])] = page[i];
}

int mt_look_read(uint64_t address, void *out, size_t size)
{
    atomic_fetch_add_explicit(&reads, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&bytes, size, memory_order_relaxed);
    if (mt_is_held_here(&look.held) && address >= PAGE && size <= UINT64_MAX - address)
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
    return (struct mt_look_work){atomic_load_explicit(&reads, memory_order_relaxed),
                                 atomic_load_explicit(&bytes, memory_order_relaxed),
                                 atomic_load_explicit(&calls, memory_order_relaxed)};
}

void mt_look_reset(void)
{
    reads = bytes = calls = 0;
    look.held.by = 0;
}
