/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process that executes another program has no other end. Only the result of the call shows
 * whether it does, so the tail has a note meanwhile. In a child of vfork, or after a fork, nothing
 * is looked up: the real functions are found when the library is loaded.
 */
#include "preload/hooks/hooks.h"
#include "preload/host/own-thread.h"
#include "preload/loader/find-real.h"
#include "preload/record/process-end.h"
#include "preload/record/recorder.h"
#include "preload/record/tail.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Programs whose loader cannot load this library: those for musl fail with exit code 127. A process
 * that executes one must not preload us. All of this may be called in a child of vfork. */

#define PRELOAD "LD_PRELOAD="
#define OURS "libmemtap.so"
#define MOST_PARTS 64

static const char *preloaded(char *const *environment)
{
    for (; environment && *environment; environment++)
        if (!strncmp(*environment, PRELOAD, sizeof PRELOAD - 1))
            return *environment + sizeof PRELOAD - 1;
    return "";
}

static bool has_musl_s_loader(int fd)
{
    Elf64_Ehdr head;
    Elf64_Phdr part;
    char loader[256] = "";
    if (pread(fd, &head, sizeof head, 0) != sizeof head || memcmp(head.e_ident, ELFMAG, SELFMAG) ||
        head.e_ident[EI_CLASS] != ELFCLASS64)
        return false;
    for (unsigned i = 0; i < head.e_phnum && i < MOST_PARTS; i++)
        if (pread(fd, &part, sizeof part, (off_t)(head.e_phoff + i * sizeof part)) == sizeof part &&
            part.p_type == PT_INTERP)
            return pread(fd, loader, sizeof loader - 1, (off_t)part.p_offset) > 0 &&
                   strstr(loader, "/ld-musl-");
    return false;
}

static int open_program(const char *path)
{
    return open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
}

static bool is_for_musl(int fd)
{
    char line[256] = "", *path = line + 2, *end;
    if (pread(fd, line, sizeof line - 1, 0) < 3 || memcmp(line, "#!", 2))
        return has_musl_s_loader(fd);
    path += strspn(path, " \t");
    end = path + strcspn(path, " \t\n");
    *end = '\0';
    int interpreter = open_program(path);
    bool is = interpreter >= 0 && has_musl_s_loader(interpreter);
    if (interpreter >= 0)
        close(interpreter);
    return is;
}

/* Open the first executable of that name in the directories of PATH. */
static int open_in_path(const char *file, const char *folders)
{
    char path[PATH_MAX];
    for (; folders; folders = strchr(folders, ':')) {
        folders += *folders == ':';
        int n = snprintf(path, sizeof path, "%.*s%s%s", (int)strcspn(folders, ":"), folders,
                         strcspn(folders, ":") ? "/" : "", file);
        if (n > 0 && (size_t)n < sizeof path && !access(path, X_OK))
            return open_program(path);
    }
    return -1;
}

/* Return whether the environment preloads us into this program, or into a script's interpreter,
 * which is for musl. file is searched in PATH, as execvp does; fd is that of an open program, or
 * -1. */
static bool cannot_load_us(int fd, const char *file, bool is_searched, char *const *environment)
{
    int saved = errno;
    if (mt_own_threads_are_restricted || !strstr(preloaded(environment), OURS))
        return false;
    int opened = -1;
    if (fd < 0 && is_searched && !strchr(file, '/'))
        opened = open_in_path(file, getenv("PATH"));
    else if (fd < 0)
        opened = open_program(file);
    bool is = is_for_musl(fd < 0 ? opened : fd);
    if (opened >= 0)
        close(opened);
    errno = saved;
    return is;
}

/* Return the number of variables, and in *size the bytes of LD_PRELOAD. */
static size_t count_variables(char *const *environment, size_t *size)
{
    size_t n = 0;
    *size = sizeof PRELOAD + strlen(preloaded(environment));
    while (environment && environment[n])
        n++;
    return n;
}

static bool is_ours(const char *library, size_t size)
{
    return size >= sizeof OURS - 1 &&
           !memcmp(library + size - (sizeof OURS - 1), OURS, sizeof OURS - 1);
}

/* Copy the environment without us: into `out`, which has room for one entry more than there are,
 * and LD_PRELOAD into `text`, with room for its bytes. */
static void environment_without_us(char *const *environment, char **out, char *text)
{
    const char *from = preloaded(environment);
    char *to = text + sizeof PRELOAD - 1;
    memcpy(text, PRELOAD, sizeof PRELOAD - 1);
    while (*from) {
        size_t separators = strspn(from, ": "), size = strcspn(from + separators, ": ");
        if (!is_ours(from + separators, size)) {
            memcpy(to, from, separators + size);
            to += separators + size;
        }
        from += separators + size;
    }
    *to = '\0';
    for (; environment && *environment; environment++)
        if (strncmp(*environment, PRELOAD, sizeof PRELOAD - 1))
            *out++ = *environment;
        else if (to != text + sizeof PRELOAD - 1)
            *out++ = text;
    *out = NULL;
}

static struct {
#define REAL_POINTER(name, symbol, library, result, parameters) result(*name) parameters;
    MT_EXEC_HOOKS(REAL_POINTER)
} real;

__attribute__((constructor)) static void find_all(void)
{
#define FIND(name, symbol, library, result, parameters)                                            \
    *(void **)&real.name = mt_real_dlsym(RTLD_NEXT, symbol);
    MT_EXEC_HOOKS(FIND)
}

/* Call with a note in the tail. A call that returns has failed. */
#define BECOME(program, name, ...)                                                                 \
    do {                                                                                           \
        if (!real.name) /* a constructor of another library ran first */                           \
            find_all();                                                                            \
        bool is_noted =                                                                            \
            mt_recorder_is_of_process() && mt_tail_note_end(MT_TAIL_EXECUTED, program);            \
        int result = real.name(__VA_ARGS__);                                                       \
        if (is_noted)                                                                              \
            mt_tail_forget_end();                                                                  \
        return result;                                                                             \
    } while (0)

/* Do not preload us into a program that cannot load us. The copy is on the caller's stack, because
 * a child of vfork shares its parent's heap. */
#define LEAVE_OUT_US(environment, file, path, is_searched)                                         \
    if (cannot_load_us(file, path, is_searched, environment)) {                                    \
        size_t size_, n_ = count_variables(environment, &size_);                                   \
        char **copy_ = __builtin_alloca((n_ + 1) * sizeof *copy_);                                 \
        environment_without_us(environment, copy_, __builtin_alloca(size_));                       \
        (environment) = copy_;                                                                     \
    }

int mt_hook_execve(const char *path, char *const *arguments, char *const *environment)
{
    LEAVE_OUT_US(environment, -1, path, false)
    BECOME(path, execve, path, arguments, environment);
}

int mt_hook_execv(const char *path, char *const *arguments)
{
    return mt_hook_execve(path, arguments, environ);
}

int mt_hook_execvp(const char *file, char *const *arguments)
{
    return mt_hook_execvpe(file, arguments, environ);
}

int mt_hook_execvpe(const char *file, char *const *arguments, char *const *environment)
{
    LEAVE_OUT_US(environment, -1, file, true)
    BECOME(file, execvpe, file, arguments, environment);
}

int mt_hook_fexecve(int file, char *const *arguments, char *const *environment)
{
    LEAVE_OUT_US(environment, file, "", false)
    BECOME("a file that was open", fexecve, file, arguments, environment);
}

/* Collect the arguments and the null pointer in an array on the caller's stack. The list then
 * continues after that pointer. */
#define COLLECT(arguments, list, first)                                                            \
    va_list list;                                                                                  \
    size_t n_ = 1;                                                                                 \
    va_start(list, first);                                                                         \
    while (va_arg(list, char *))                                                                   \
        n_++;                                                                                      \
    va_end(list);                                                                                  \
    char **arguments = __builtin_alloca((n_ + 1) * sizeof *arguments);                             \
    arguments[0] = (char *)(uintptr_t)first;                                                       \
    va_start(list, first);                                                                         \
    for (size_t i = 1; i <= n_; i++)                                                               \
        arguments[i] = va_arg(list, char *);

int mt_hook_execl(const char *path, const char *first, ...)
{
    COLLECT(arguments, list, first)
    va_end(list);
    return mt_hook_execv(path, arguments);
}

int mt_hook_execlp(const char *file, const char *first, ...)
{
    COLLECT(arguments, list, first)
    va_end(list);
    return mt_hook_execvp(file, arguments);
}

int mt_hook_execle(const char *path, const char *first, ...)
{
    COLLECT(arguments, list, first)
    char *const *environment = va_arg(list, char *const *);
    va_end(list);
    return mt_hook_execve(path, arguments, environment);
}

int mt_hook_daemon(int keeps_directory, int keeps_output)
{
    if (!real.daemon)
        find_all();
    mt_recorder_expect_end_after_fork(1);
    int result = real.daemon(keeps_directory, keeps_output);
    mt_recorder_expect_end_after_fork(0);
    return result;
}

/* End the recording. at_quick_exit cannot be used: its lock may be held in a child that was forked
 * while a library was unloaded. */
void mt_hook_quick_exit(int status)
{
    mt_will_exit(status);
    mt_recorder_finish();
    if (!real.quick_exit)
        find_all();
    real.quick_exit(status);
}
