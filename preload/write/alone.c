/* SPDX-License-Identifier: Apache-2.0 */
/* Whether the writer is the last thread of the process. */
#include "device-watch.h"
#include "preload/host/message.h"
#include "preload/host/read-file.h"
#include "preload/record/recorder.h"
#include "writer-parts.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

/* After the first thread's end, the kernel reads no memory of the process by its id. */
static bool is_first_thread_over(void)
{
    char byte = 0, copy;
    struct iovec to = {&copy, 1}, from = {&byte, 1};
    return process_vm_readv(getpid(), &to, 1, &from, 1, 0) < 0 && errno == ESRCH;
}

/* Without /proc, memtap cannot count the threads: the first one's end has to be enough. */
static int ends_without_proc(void)
{
    if (!is_first_thread_over())
        return 0;
    mt_message(
        "the program's first thread has ended, and without /proc memtap cannot see the others; "
        "recording ends here");
    atomic_store(&mt_state, MT_OVER);
    return 1;
}

bool mt_writer_is_alone(void)
{
    char text[1024];
    unsigned n_threads = 0;
    size_t n = mt_read_file("/proc/self/stat", text, sizeof text);
    if (!n)
        return ends_without_proc();
    const char *field = memrchr(text, ')', n);
    if (!field || strncmp(field, ") Z ", 4))
        return false;
    for (int i = 2; field && i < 20; i++)
        field = strchr(field + 1, ' ');
    if (field)
        sscanf(field, "%u", &n_threads);
    return n_threads == 2 + (unsigned)mt_watch_has_thread();
}
