/* SPDX-License-Identifier: Apache-2.0 */
#include "safe-read.h"
#include "no-cancel.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/uio.h>
#include <unistd.h>

static _Atomic int no_pid;
static _Atomic int *_Atomic kept_pid = &no_pid;

void mt_safe_read_keep_pid(_Atomic int *word)
{
    atomic_store(word, getpid());
    atomic_store(&kept_pid, word);
}

static int own_pid(void)
{
    int pid = atomic_load_explicit(atomic_load_explicit(&kept_pid, memory_order_relaxed),
                                   memory_order_relaxed);
    return pid ? pid : getpid();
}

/* Copy through a pipe: the kernel returns EFAULT where we would crash. */
static int copy_by_pipe(const void *from, void *to, size_t size)
{
    int end[2], rc = -EFAULT;
    if (pipe2(end, O_CLOEXEC | O_NONBLOCK))
        return rc;
    if (write(end[1], from, size) == (ssize_t)size && read(end[0], to, size) == (ssize_t)size)
        rc = 0;
    close(end[0]);
    close(end[1]);
    return rc;
}

/* Let the kernel read: with process_vm_readv, or through a pipe, because not every sandbox allows
 * that call. */
int mt_safe_read(const void *address, void *out, size_t size)
{
    MT_NO_CANCEL();
    struct iovec to = {out, size}, from = {(void *)(uintptr_t)address, size};
    int saved = errno;
    ssize_t n = process_vm_readv(own_pid(), &to, 1, &from, 1, 0);
    int rc = n == (ssize_t)size ? 0 : -EFAULT;
    if (n < 0 && errno != EFAULT)
        rc = copy_by_pipe(address, out, size);
    errno = saved;
    return rc;
}

/* Copy from several addresses into one buffer, with our memory as the remote side: the kernel then
 * reads each address like a system call's arguments and pins only the pages that it writes to. The
 * other way round, process_vm_readv pins a page for each address, which takes ten times as long. */
size_t mt_safe_read_many(const struct iovec *from, unsigned n, void *out, size_t size)
{
    MT_NO_CANCEL();
    struct iovec to = {out, size};
    int saved = errno;
    ssize_t copied = process_vm_writev(own_pid(), from, n, &to, 1, 0);
    errno = saved;
    return copied > 0 ? (size_t)copied : 0;
}

#define PAGE 4096u
#define PAGES_AT_ONCE 16u /* per system call: the thread's stack may be small */

/* Count the readable pages among at most PAGES_AT_ONCE. */
static size_t readable_pages(uintptr_t address, size_t most)
{
    char bytes[PAGES_AT_ONCE];
    struct iovec to = {bytes, most}, from[PAGES_AT_ONCE];
    for (size_t i = 0; i < most; i++)
        from[i] = (struct iovec){(void *)(address + i * PAGE), 1};
    ssize_t n = process_vm_readv(own_pid(), &to, 1, from, most, 0);
    if (n >= 0 || errno == EFAULT)
        return n > 0 ? (size_t)n : 0;
    size_t found = 0;
    while (found < most && !copy_by_pipe((const void *)(address + found * PAGE), bytes, 1))
        found++;
    return found;
}

size_t mt_readable_pages(uintptr_t address, size_t most)
{
    MT_NO_CANCEL();
    int saved = errno;
    size_t found = 0, n = PAGES_AT_ONCE;
    while (found < most && n == PAGES_AT_ONCE) {
        size_t wanted = most - found < PAGES_AT_ONCE ? most - found : PAGES_AT_ONCE;
        n = readable_pages(address + found * PAGE, wanted);
        found += n;
    }
    errno = saved;
    return found;
}

int mt_safe_read_words(const uint64_t *address, uint64_t *out, unsigned n)
{
    for (; n > MT_SAFE_WORDS; n -= MT_SAFE_WORDS, address += MT_SAFE_WORDS, out += MT_SAFE_WORDS) {
        int failed = mt_safe_read_words(address, out, MT_SAFE_WORDS);
        if (failed)
            return failed;
    }
    struct iovec from[MT_SAFE_WORDS];
    int rc = 0;
    if (!n)
        return 0;
    for (unsigned i = 0; i < n; i++)
        from[i] = (struct iovec){(void *)(uintptr_t)address[i], sizeof *out};
    if (mt_safe_read_many(from, n, out, n * sizeof *out) != n * sizeof *out)
        for (unsigned i = 0; i < n && !rc; i++)
            rc = mt_safe_read((const void *)(uintptr_t)address[i], &out[i], sizeof *out);
    return rc;
}

int mt_safe_write(void *address, const void *bytes, size_t size)
{
    MT_NO_CANCEL();
    struct iovec from = {(void *)(uintptr_t)bytes, size}, to = {address, size};
    int saved = errno;
    ssize_t n = process_vm_writev(own_pid(), &from, 1, &to, 1, 0);
    int rc = n == (ssize_t)size ? 0 : -EFAULT;
    if (n < 0 && errno != EFAULT)
        rc = copy_by_pipe(bytes, address, size);
    errno = saved;
    return rc;
}

bool mt_can_read_safely(void)
{
    char probe = 1, copy;
    return !mt_safe_read(&probe, &copy, sizeof probe);
}
