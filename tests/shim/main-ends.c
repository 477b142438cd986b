/* SPDX-License-Identifier: Apache-2.0 */
/*
 * main-ends: the main thread ends before another one, with whose end the process is to end.
 * main-ends no-proc: likewise, and there is no /proc.
 * main-ends code: the only thread of the program ends with an exit code, by a system call.
 * main-ends alone: no thread can be made but by the program, which is in a place without numbers.
 */
#include <pthread.h>
#include <sched.h>
#include <stddef.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

unsigned cudaMalloc(void **address, size_t size);

static void allocate(void)
{
    void *address;
    for (size_t i = 0; i < 1000; i++)
        cudaMalloc(&address, i + 1);
}

/* After the main thread's end. */
static void *allocate_later(void *main_thread)
{
    if (!pthread_join(*(pthread_t *)main_thread, NULL))
        allocate();
    return NULL;
}

int main(int argc, char **argv)
{
    const struct rlimit none = {0, 0};
    static pthread_t main_thread;
    pthread_t thread;
    main_thread = pthread_self();
    if (argc > 1 && !strcmp(argv[1], "no-proc") &&
        (unshare(CLONE_NEWUSER | CLONE_NEWNS) || mount("none", "/proc", "tmpfs", 0, NULL)))
        return 77;
    if (argc > 1 && !strcmp(argv[1], "alone")) {
        if (chmod(".", 0777) || setuid(12345) || setrlimit(RLIMIT_NPROC, &none))
            return 77;
        allocate();
        return 0;
    }
    if (argc > 1 && !strcmp(argv[1], "code")) {
        allocate();
        syscall(SYS_exit, 7);
    }
    if (pthread_create(&thread, NULL, allocate_later, &main_thread))
        return 2;
    allocate();
    pthread_exit(NULL);
}
