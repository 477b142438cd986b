/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inspects only files, since starting the interpreter would cost seconds. Relative to the bin
 * folder of a Python or a virtual environment, packages are in ../lib/python3.x/site-packages
 * (Debian's own: dist-packages).
 */
#include "pytorch-check.h"

#include <fcntl.h>
#include <glob.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool mt_find_command(const char *command, char out[PATH_MAX])
{
    const char *path = getenv("PATH");
    if (strchr(command, '/'))
        return snprintf(out, PATH_MAX, "%s", command) < PATH_MAX && !access(out, X_OK);
    while (path && *path) {
        size_t n = strcspn(path, ":");
        if (snprintf(out, PATH_MAX, "%.*s/%s", n ? (int)n : 1, n ? path : ".", command) <
                PATH_MAX &&
            !access(out, X_OK))
            return true;
        path += n + (path[n] == ':');
    }
    return false;
}

/* Follow "#!INTERPRETER" once, if present, also "#!/usr/bin/env INTERPRETER". */
static void follow_script(char path[PATH_MAX])
{
    char line[PATH_MAX] = "", *rest;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    ssize_t n = read(fd, line, sizeof line - 1);
    close(fd);
    if (n <= 3 || strncmp(line, "#!/", 3))
        return;
    line[strcspn(line, "\r\n")] = '\0';
    const char *program = strtok_r(line + 2, " \t", &rest);
    const char *argument = strtok_r(NULL, " \t", &rest);
    if (argument && !strcmp(basename(program), "env"))
        mt_find_command(argument, path);
    else
        snprintf(path, PATH_MAX, "%s", program);
}

static bool is_python(const char *path)
{
    return strchr(path, '/') && !strncmp(basename(path), "python", 6);
}

/* Return whether exactly one path matches, and store it. */
static bool find_one(const char *folder, const char *below, char out[PATH_MAX])
{
    char pattern[2 * PATH_MAX];
    glob_t found;
    snprintf(pattern, sizeof pattern, "%s/%s", folder, below);
    if (glob(pattern, 0, NULL, &found))
        return false;
    bool is_one = found.gl_pathc == 1 && realpath(found.gl_pathv[0], out);
    globfree(&found);
    return is_one;
}

static bool has(const char *folder, const char *pattern)
{
    char path[2 * PATH_MAX];
    glob_t found;
    snprintf(path, sizeof path, "%s/%s", folder, pattern);
    if (glob(path, 0, NULL, &found))
        return false;
    globfree(&found);
    return true;
}

/* Return whether NVIDIA's libraries exist: in nvidia/ for a wheel, among the other libraries in a
 * container or a Conda environment. */
static bool has_nvidia_libraries(const char *torch, const char *prefix)
{
    return has(torch, "../nvidia") || has(torch, "lib/libcudnn*.so*") ||
           has(prefix, "lib/libcudnn*.so*") || has(prefix, "lib/*-linux-gnu/libcudnn*.so*");
}

enum mt_pytorch mt_pytorch_of(const char *command, char folder[PATH_MAX])
{
    char prefix[PATH_MAX];
    if (!mt_find_command(command, prefix))
        return MT_PYTORCH_UNKNOWN;
    if (!is_python(prefix))
        follow_script(prefix);
    if (!is_python(prefix))
        return MT_PYTORCH_UNKNOWN;
    *strrchr(prefix, '/') = '\0';
    /* Debian's own Python has what pip installs for all users in /usr/local. */
    if (!find_one(prefix, "../lib/python3*/[sd]*-packages/torch", folder) &&
        !find_one(prefix, "../local/lib/python3*/dist-packages/torch", folder))
        return MT_PYTORCH_UNKNOWN;
    strcat(prefix, "/..");
    if (!has(folder, "lib/libtorch_cpu.so"))
        return MT_PYTORCH_UNKNOWN;
    if (!has(folder, "lib/libtorch_cuda.so"))
        return MT_PYTORCH_CPU;
    return has_nvidia_libraries(folder, prefix) ? MT_PYTORCH_CUDA : MT_PYTORCH_ALONE;
}

bool mt_has_gpu(void)
{
    /* NVIDIA's driver; Windows' for Linux; Jetson's. */
    static const char *const files[] = {"/dev/nvidiactl", "/dev/dxg", "/dev/nvmap"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        if (!access(files[i], F_OK))
            return true;
    return false;
}
