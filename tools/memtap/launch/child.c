/* SPDX-License-Identifier: Apache-2.0 */
#include "child.h"
#include "analyzer/support/room.h"
#include "tools/memtap/terminal/command.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const int forwarded[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2};

#define N_FORWARDED (sizeof forwarded / sizeof *forwarded)

static volatile sig_atomic_t child_pid;
static pid_t group_sender; /* the process that also sends every signal to the child; 0: none */

/* Find who signals the group: timeout(1) signals its command and then its whole process group,
 * including the child, unless it stays in the foreground. */
static pid_t find_group_sender(void)
{
    char path[64], name[64] = "", arguments[4096] = "";
    pid_t parent = getppid();
    snprintf(path, sizeof path, "/proc/%d/cmdline", (int)parent);
    FILE *file = fopen(path, "re");
    size_t n = file ? fread(arguments, 1, sizeof arguments - 1, file) : 0;
    if (file)
        fclose(file);
    snprintf(name, sizeof name, "%s", basename(arguments));
    for (size_t at = 0; at < n; at += strlen(arguments + at) + 1)
        if (!strncmp(arguments + at, "--f", 3) || !strcmp(arguments + at, "-f"))
            return 0;
    return !strcmp(name, "timeout") && getpgid(0) == parent ? parent : 0;
}

/* Forward a process's signal, which is meant for the child. Signals from the kernel (Ctrl-C)
 * already reach the child. */
static void forward(int number, siginfo_t *info, void *context)
{
    int saved = errno;
    (void)context;
    if (info->si_code <= 0 && child_pid && info->si_pid != group_sender)
        kill((pid_t)child_pid, number);
    errno = saved;
}

/* Install a handler. A signal that memtap's parent ignored (nohup) stays ignored, for the child
 * too. */
static void install(void)
{
    group_sender = find_group_sender();
    struct sigaction action = {.sa_sigaction = forward, .sa_flags = SA_SIGINFO | SA_RESTART};
    for (size_t i = 0; i < N_FORWARDED; i++) {
        struct sigaction old;
        sigaddset(&action.sa_mask, forwarded[i]);
        if (!sigaction(forwarded[i], NULL, &old) && old.sa_handler != SIG_IGN)
            sigaction(forwarded[i], &action, NULL);
    }
}

/* Return whether the path is a file that we may read. */
static bool is_file(const char *path)
{
    struct stat status;
    return !stat(path, &status) && S_ISREG(status.st_mode) && !access(path, R_OK) &&
           !(status.st_mode & 0111);
}

static int print_failure(const char *program, int error)
{
    if (error == EACCES && is_file(program))
        mt_say("%s: not executable; run it with its interpreter, or make it executable (chmod +x)",
               program);
    else if (error != ENOENT)
        mt_say("%s: cannot run: %s", program, strerror(error));
    else if (strchr(program, '/') && !access(program, F_OK))
        mt_say("%s: cannot run: the interpreter in its first line does not exist", program);
    else
        mt_say("%s: command not found", program);
    return error == ENOENT ? MT_EXIT_NOT_FOUND : MT_EXIT_NOT_EXECUTABLE;
}

int mt_child_become(char *const argv[])
{
    mt_room_leave();
    execvp(argv[0], argv);
    return print_failure(argv[0], errno);
}

/* Start the program, in the child: on failure write the error to the pipe. A program that starts
 * closes the pipe. */
static void start(char *const argv[], int pipe_end, const sigset_t *mask)
{
    sigprocmask(SIG_SETMASK, mask, NULL);
    mt_room_leave();
    execvp(argv[0], argv);
    int error = errno;
    ssize_t n = write(pipe_end, &error, sizeof error);
    _exit(n == sizeof error ? MT_EXIT_NOT_FOUND : MT_EXIT_NOT_EXECUTABLE);
}

void mt_child_words(int status, char how[32])
{
    bool is_killed = WIFSIGNALED(status);
    snprintf(how, 32, "%s %d", is_killed ? "signal" : "exit code",
             is_killed ? WTERMSIG(status) : WEXITSTATUS(status));
}

static int wait_for(pid_t pid, struct mt_child_end *end)
{
    int status;
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return MT_EXIT_BAD;
    end->pid = pid;
    mt_child_words(status, end->how);
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

int mt_child_run(char *const argv[], struct mt_child_end *end)
{
    int ends[2], error = 0;
    sigset_t all, before;
    *end = (struct mt_child_end){0};
    if (pipe2(ends, O_CLOEXEC))
        return mt_fail("%s: cannot run: %s", argv[0], strerror(errno));
    install();
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &before); /* miss no signal before the pid is known */
    pid_t pid = fork();
    if (pid == 0)
        start(argv, ends[1], &before);
    if (pid < 0)
        error = errno;
    child_pid = pid > 0 ? (sig_atomic_t)pid : 0;
    sigprocmask(SIG_SETMASK, &before, NULL);
    close(ends[1]);
    ssize_t n = pid > 0 ? read(ends[0], &error, sizeof error) : 0;
    close(ends[0]);
    if (pid < 0)
        return mt_fail("%s: cannot run: %s", argv[0], strerror(error));
    int code = wait_for(pid, end);
    child_pid = 0;
    return n == sizeof error ? print_failure(argv[0], error) : code;
}
