/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The exit code of a program that returns from main or calls exit. Destructors do not get it; a
 * function of on_exit(3) does. It runs before them if it is registered after the loader's own, when
 * main begins. Later, a forked child might find its lock held.
 */
#include "preload/holders/holders.h"
#include "preload/hooks/hooks.h"
#include "preload/record/process-end.h"
#include "preload/torch/real.h"
#include "title.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

typedef int program(int, char **, char **);
typedef int start(program *, int, char **, void (*)(void), void (*)(void), void (*)(void), void *);

static program *its_main;

static void note(int status, void *unused)
{
    (void)unused;
    mt_will_exit(status);
    mt_holders_search_at_exit();
}

/* Call main by a jump: this must compile to one, so that stacks are as without us. */
static int begin(int argc, char **argv, char **environment)
{
    on_exit(note, NULL);
    return its_main(argc, argv, environment);
}

int mt_hook_start_main(int (*main_)(int, char **, char **), int argc, char **argv,
                       void (*init)(void), void (*fini)(void), void (*loader_fini)(void),
                       void *stack_end)
{
    start *real;
    *(void **)&real = mt_real_dlsym(RTLD_NEXT, "__libc_start_main");
    if (!real)
        syscall(SYS_exit_group, 127); /* as the loader does if it is missing */
    its_main = main_;
    mt_title_start(argc > 0 ? argv[0] : NULL);
    return real(begin, argc, argv, init, fini, loader_fini, stack_end);
}
