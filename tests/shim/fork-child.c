/* SPDX-License-Identifier: Apache-2.0 */
/* fork-child MODE: allocates, forks a child that allocates (cuda) or does not (plain), or one of
 * which no handler is told, and both allocate at once (bare), or one that it then kills (kill), or
 * one that allocates in a handler of the program's as well, which comes before memtap's (handler),
 * closes every descriptor above 2 in between (close), finds a tail of the trace t.mtap (stale),
 * renames that trace (renamed), tells memtap's descriptors where it may have so many (descriptors
 * NUMBER), or ends with code 7 (code).
 */
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

unsigned cudaMalloc(void **address, size_t size);

static int fork_child(int uses_cuda)
{
    void *address;
    int status;
    pid_t child = fork();
    if (child == 0) {
        if (uses_cuda)
            for (size_t i = 0; i < 10; i++)
                cudaMalloc(&address, 2000 + i);
        return 0; /* through main, so that destructors run */
    }
    return waitpid(child, &status, 0) == child ? status : -1;
}

static int fork_bare(void)
{
    void *address;
    int status;
    pid_t child = (pid_t)syscall(SYS_fork);
    for (size_t i = 0; i < 20000; i++)
        cudaMalloc(&address, i);
    if (child == 0)
        _exit(0);
    return waitpid(child, &status, 0) == child ? status : -1;
}

/* Kill the child once it has allocated, as servers end their workers. */
static int kill_child(void)
{
    void *address;
    int ends[2];
    char byte;
    if (pipe(ends))
        return 1;
    pid_t child = fork();
    if (child == 0) {
        cudaMalloc(&address, 2000);
        if (write(ends[1], "", 1) != 1)
            _exit(1);
        for (;;)
            pause();
    }
    return read(ends[0], &byte, 1) != 1 || kill(child, SIGKILL) || waitpid(child, NULL, 0) != child;
}

static void allocate_in_child(void)
{
    void *address;
    cudaMalloc(&address, 512);
}

static FILE *other;

/* Runs within a fork, before memtap's own handler, which was registered later: until that memtap's
 * thread is held between two pieces of work, and does not write to what is another file now. */
static void close_all(void)
{
    for (int fd = 3; fd < 1024; fd++)
        close(fd);
    other = fopen("other", "w"); /* may get the descriptor's number */
}

static int close_and_go_on(void)
{
    void *address;
    pid_t child = fork();
    if (child == 0)
        _exit(0);
    for (size_t i = 0; i < 200000; i++)
        cudaMalloc(&address, i);
    if (other)
        fclose(other);
    return waitpid(child, NULL, 0) != child;
}

static bool is_of_memtap(int fd)
{
    char link[64], path[PATH_MAX] = "";
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    return readlink(link, path, sizeof path - 1) > 0 && strstr(path, "/t.mtap");
}

/* How many there are, the smallest, and how many a program that is executed would inherit. */
static void print_descriptors(void)
{
    int n = 0, lowest = 0, inherited = 0;
    for (int fd = 0; fd < 4096; fd++) {
        if (!is_of_memtap(fd))
            continue;
        lowest = n++ ? lowest : fd;
        inherited += !(fcntl(fd, F_GETFD) & FD_CLOEXEC);
    }
    printf("%d %d %d\n", n, lowest, inherited);
}

static void limit_descriptors(const char *number)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit))
        _exit(99);
    limit.rlim_cur = (rlim_t)atoi(number);
    if (setrlimit(RLIMIT_NOFILE, &limit))
        _exit(99);
}

int main(int argc, char **argv)
{
    void *address;
    const char *mode = argc > 1 ? argv[1] : "";
    if (!strcmp(mode, "close"))
        pthread_atfork(NULL, close_all, NULL);
    if (!strcmp(mode, "handler"))
        pthread_atfork(NULL, NULL, allocate_in_child);
    if (!strcmp(mode, "descriptors"))
        limit_descriptors(argv[2]);
    FILE *tail = strcmp(mode, "stale") ? NULL : fopen("t.mtap.tail", "w");
    if (tail)
        fclose(tail);
    for (size_t i = 0; i < 5; i++)
        cudaMalloc(&address, 1000 + i);
    if (!strcmp(mode, "descriptors")) {
        print_descriptors();
        return 0;
    }
    if (!strcmp(mode, "close"))
        return close_and_go_on();
    if (!strcmp(mode, "renamed"))
        return rename("t.mtap", "other.mtap") ? 1 : 0;
    if (!strcmp(mode, "code")) {
        puts("the program's own output");
        return 7;
    }
    if (!strcmp(mode, "bare"))
        return fork_bare() ? 1 : 0;
    if (!strcmp(mode, "kill"))
        return kill_child();
    return fork_child(!strcmp(mode, "cuda") || !strcmp(mode, "handler")) ? 1 : 0;
}
