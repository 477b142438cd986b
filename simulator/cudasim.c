/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cudasim LIBDIR [--gpu NAME] [--memory SIZE] [--gpus N] [--copy-limit SIZE]
 * [--values SIZE] [--world-size N --rank R] -- COMMAND...
 *
 * The smallest launcher: the tests start programs with it, and it shows that the simulator needs
 * nothing else. Exit codes: 2: a wrong command line; 127 and 126 as in a shell; otherwise the
 * command's own.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "launch.h"
#include "say.h"
#include "trace-format/settings/size.h"

static int usage(const char *what)
{
    sim_print("%s", what);
    fputs("usage: cudasim LIBDIR [--gpu NAME] [--memory SIZE] [--gpus N] [--copy-limit SIZE] "
          "[--values SIZE] [--world-size N --rank R] -- COMMAND...\n",
          stderr);
    return 2;
}

static int read_option(struct sim_launch *launch, const char *option, const char *value)
{
    if (!strcmp(option, "--gpu")) {
        launch->gpu = sim_gpu_find(value);
        return launch->gpu ? 0 : -EINVAL;
    }
    if (!strcmp(option, "--memory"))
        return mt_size_parse(value, &launch->memory);
    if (!strcmp(option, "--copy-limit")) {
        static uint64_t limit;
        launch->copy_limit = &limit;
        return mt_size_parse(value, &limit);
    }
    if (!strcmp(option, "--values")) {
        static uint64_t values;
        launch->values = &values;
        return mt_size_parse(value, &values);
    }
    if (!strcmp(option, "--gpus")) {
        launch->gpus = (unsigned)atoi(value);
        return launch->gpus ? 0 : -EINVAL;
    }
    if (!strcmp(option, "--world-size")) {
        launch->world_size = (unsigned)atoi(value);
        return launch->world_size ? 0 : -EINVAL;
    }
    if (!strcmp(option, "--rank")) {
        launch->rank = (unsigned)atoi(value);
        return 0;
    }
    return -EINVAL;
}

int main(int argc, char **argv)
{
    struct sim_launch launch = {0};
    char why[512];
    int i = 2;
    if (argc < 2)
        return usage("no folder of simulated libraries given");
    launch.libdir = argv[1];
    for (; i < argc && strcmp(argv[i], "--"); i += 2)
        if (i + 1 >= argc || read_option(&launch, argv[i], argv[i + 1]))
            return usage(argv[i]);
    if (i + 1 >= argc)
        return usage("no command given");
    if (sim_launch_prepare(&launch, why, sizeof(why)))
        return usage(why);
    execvp(argv[i + 1], argv + i + 1);
    int error = errno;
    sim_print("%s: %s", argv[i + 1], strerror(error));
    return error == ENOENT ? 127 : 126;
}
