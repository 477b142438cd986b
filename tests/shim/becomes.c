/* SPDX-License-Identifier: Apache-2.0 */
/* becomes HOW: allocates five times, and then becomes another program by execve, execl, execlp,
 * execle ..., or first tries one that is not there (fails), or has a child of vfork do so (vfork),
 * or lets a daemon go on that allocates as well (daemon), or ends by quick_exit. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

unsigned cudaMalloc(void **address, size_t size);

static void allocate(void)
{
    void *address;
    for (size_t i = 0; i < 5; i++)
        cudaMalloc(&address, 1000 + i);
}

#define TEXT(text)                                                                                 \
    (char[])                                                                                       \
    {                                                                                              \
        text                                                                                       \
    }
static char *const arguments[] = {TEXT("sh"), TEXT("-c"), TEXT("echo $0 $1 $MARK"),
                                  TEXT("it"), TEXT("is"), NULL};
static char *const environment[] = {TEXT("MARK=set"), NULL};

/* What comes back has failed. */
static int become(const char *how)
{
    if (!strcmp(how, "execve"))
        return execve("/bin/sh", arguments, environment);
    if (!strcmp(how, "execv"))
        return execv("/bin/sh", arguments);
    if (!strcmp(how, "execvp"))
        return execvp("sh", arguments);
    if (!strcmp(how, "execvpe"))
        return execvpe("sh", arguments, environment);
    if (!strcmp(how, "fexecve"))
        return fexecve(open("/bin/sh", O_RDONLY | O_CLOEXEC), arguments, environment);
    if (!strcmp(how, "execl"))
        return execl("/bin/sh", "sh", "-c", "echo $0 $1 $MARK", "it", "is", (char *)NULL);
    if (!strcmp(how, "execlp"))
        return execlp("sh", "sh", "-c", "echo $0 $1 $MARK", "it", "is", (char *)NULL);
    if (!strcmp(how, "execle"))
        return execle("/bin/sh", "sh", "-c", "echo $0 $1 $MARK", "it", "is", (char *)NULL,
                      environment);
    return -1;
}

static int run_in_child(void)
{
    int status;
    pid_t child = vfork();
    if (child == 0) {
        execv("/bin/sh", arguments);
        _exit(127);
    }
    return waitpid(child, &status, 0) != child || status;
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";
    setenv("MARK", "set", 1);
    allocate();
    if (!strcmp(how, "fails")) {
        if (execl("/no/such/program", "program", (char *)NULL) != -1)
            return 2;
        allocate();
        return 0;
    }
    if (!strcmp(how, "daemon")) {
        if (daemon(1, 1))
            return 2;
        allocate();
        puts("it goes on");
        return 0;
    }
    if (!strcmp(how, "vfork"))
        return run_in_child();
    if (!strcmp(how, "quick_exit"))
        quick_exit(0);
    become(how);
    return 1;
}
