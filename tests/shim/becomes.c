/* SPDX-License-Identifier: Apache-2.0 */
/* becomes HOW: allocates five times, and then becomes another program by execve, execl, execlp,
 * execle ..., or first tries one that is not there (fails), or has a child of vfork do so (vfork),
 * or lets a daemon go on that allocates as well (daemon), or ends by quick_exit, or becomes
 * PROGRAM, whose loader is musl's by its name (musl PROGRAM). */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
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

/* Programs that are for musl, and a script of one, in a child and at last; what is preloaded beside
 * us stays. */
static int become_one_for_musl(const char *program)
{
    static char beside[5000], script[5000];
    char *const words[] = {TEXT("for-musl"), NULL};
    char *const set[] = {beside, NULL};
    FILE *file = fopen("script", "w");
    const char *ours = getenv("LD_PRELOAD");
    snprintf(beside, sizeof beside, "LD_PRELOAD=%s:libm.so.6", ours ? ours : "");
    snprintf(script, sizeof script, "#! %s\n", program);
    if (!file || fputs(script, file) < 0 || fclose(file) || chmod("script", 0755) ||
        symlink("/lib64/ld-linux-x86-64.so.2", "ld-musl-x86_64.so.1") || setenv("PATH", "/:.", 1))
        return -1;
    for (int i = 0; i < 3; i++) {
        pid_t child = vfork();
        if (child == 0) {
            i == 0   ? execv(program, words)
            : i == 1 ? execvp("script", words)
                     : execve(program, words, set);
            _exit(127);
        }
        if (child < 0 || waitpid(child, NULL, 0) != child)
            return -1;
    }
    return fexecve(open(program, O_RDONLY | O_CLOEXEC), words, environ);
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
    if (!strcmp(how, "musl") && argc > 2)
        return become_one_for_musl(argv[2]);
    become(how);
    return 1;
}
