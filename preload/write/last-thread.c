/* SPDX-License-Identifier: Apache-2.0 */
/* Whether the writer is the last thread of the process, and how the process then ends. */
#include "last-thread.h"
#include "device-watch.h"
#include "preload/host/message.h"
#include "preload/host/read-file.h"
#include "preload/record/process-end.h"
#include "preload/record/recorder.h"
#include "writer-state.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

/* Return whether the first thread has ended: the kernel then cannot read the process's memory by
 * its id. */
static bool is_first_thread_over(void)
{
    char byte = 0, copy;
    struct iovec to = {&copy, 1}, from = {&byte, 1};
    return process_vm_readv(getpid(), &to, 1, &from, 1, 0) < 0 && errno == ESRCH;
}

/* Return whether the process ends. Without /proc the threads cannot be counted, so the end of the
 * first one has to be enough. */
static bool ends_without_proc(void)
{
    if (!is_first_thread_over())
        return false;
    mt_message(
        "the program's first thread has ended, and the others cannot be counted without /proc; "
        "recording stopped");
    atomic_store(&mt_state, MT_OVER);
    return true;
}

/* Note the first thread's exit code, the last number of /proc/self/stat, in the form of wait(2).
 * The C library sets 0, so the writer's thread may end like any other. */
static void note_code(const char *stat, size_t size)
{
    const char *last = memrchr(stat, ' ', size);
    mt_writer.first_code = last ? atoi(last) >> 8 & 0xff : 0;
    if (mt_writer.first_code)
        mt_will_exit(mt_writer.first_code);
}

void *mt_writer_leave(void *result)
{
    if (mt_writer.first_code)
        syscall(SYS_exit_group, mt_writer.first_code);
    return result;
}

bool mt_writer_is_last_thread(void)
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
    if (n_threads != 2 + (unsigned)mt_watch_has_thread())
        return false;
    note_code(text, n);
    return true;
}
