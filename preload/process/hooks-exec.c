/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process that becomes another program has no other end. Only the call shows whether it does, so
 * the tail holds a note meanwhile. In a child of vfork, or after a fork, look up nothing: the real
 * functions are found when the library is loaded.
 */
#include "other-loader.h"
#include "preload/hooks/hooks.h"
#include "preload/loader/find-real.h"
#include "preload/record/process-end.h"
#include "preload/record/recorder.h"
#include "preload/record/tail.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <unistd.h>

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
        if (!real.name) /* another library's constructor was faster */                             \
            find_all();                                                                            \
        bool is_noted = mt_is_recorded() && mt_tail_note_end(MT_TAIL_EXECUTED, program);           \
        int result = real.name(__VA_ARGS__);                                                       \
        if (is_noted)                                                                              \
            mt_tail_forget_end();                                                                  \
        return result;                                                                             \
    } while (0)

/* Do not preload us into a program that cannot load us. The copy is on the caller's stack, because
 * a child of vfork has its parent's heap. */
#define LEAVE_OUT_US(environment, file, path, is_searched)                                         \
    if (mt_cannot_load_us(file, path, is_searched, environment)) {                                 \
        size_t size_, n_ = mt_count_variables(environment, &size_);                                \
        char **copy_ = __builtin_alloca((n_ + 1) * sizeof *copy_);                                 \
        mt_environment_without_us(environment, copy_, __builtin_alloca(size_));                    \
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

/* Collect the arguments from the first on, and a null pointer, in an array on the caller's stack.
 * The list then stands behind that pointer. */
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
    mt_expect_end_after_fork(1);
    int result = real.daemon(keeps_directory, keeps_output);
    mt_expect_end_after_fork(0);
    return result;
}

/* Not by at_quick_exit: its lock may be taken in a child forked while a library is unloaded. */
void mt_hook_quick_exit(int status)
{
    mt_will_exit(status);
    mt_finish();
    if (!real.quick_exit)
        find_all();
    real.quick_exit(status);
}
