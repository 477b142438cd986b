/* SPDX-License-Identifier: Apache-2.0 */
#include "safe-read.h"
#include "no-cancel.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

/* The kernel reads for us: write() says EFAULT where we would crash. A pipe, since not every
 * sandbox lets a process call process_vm_readv. */
int mt_safe_read(const void *address, void *out, size_t size)
{
    MT_NO_CANCEL();
    int saved = errno, end[2], rc = -EFAULT;
    if (!pipe2(end, O_CLOEXEC | O_NONBLOCK)) {
        if (write(end[1], address, size) == (ssize_t)size &&
            read(end[0], out, size) == (ssize_t)size)
            rc = 0;
        close(end[0]);
        close(end[1]);
    }
    errno = saved;
    return rc;
}

int mt_can_read_safely(void)
{
    char probe = 1, copy;
    return !mt_safe_read(&probe, &copy, sizeof probe);
}
