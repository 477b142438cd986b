/* SPDX-License-Identifier: Apache-2.0 */
#include "locate.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The folder of the running command. */
static int own_folder(char out[PATH_MAX])
{
    ssize_t n = readlink("/proc/self/exe", out, PATH_MAX - 1);
    if (n < 0)
        return -errno;
    out[n] = '\0';
    char *slash = strrchr(out, '/');
    if (slash)
        *slash = '\0';
    return 0;
}

/* The first of the places, given from the command's folder, that has the file. */
static int locate(char out[PATH_MAX], const char *const *places, const char *file)
{
    char folder[PATH_MAX], path[2 * PATH_MAX];
    int rc = own_folder(folder);
    for (; !rc && *places; places++) {
        snprintf(path, sizeof path, "%s/%s/%s", folder, *places, file);
        if (realpath(path, out) && !access(out, R_OK))
            return 0;
    }
    snprintf(out, PATH_MAX, "%s", rc ? "/proc/self/exe" : path);
    return -ENOENT;
}

int mt_locate_shim(char out[PATH_MAX])
{
    static const char *const places[] = {"../preload", "../" MT_LIBDIR "/memtap",
                                         "../lib/memtap", NULL};
    return locate(out, places, "libmemtap.so");
}

/* libcuda.so.1 stands for all of them; it may be a link, so the folder's path is the place's. */
int mt_locate_simulator(char out[PATH_MAX])
{
    static const char *const places[] = {"../simulator/lib", "../" MT_LIBDIR "/memtap/simulator",
                                         "../lib/memtap/simulator", NULL};
    char library[PATH_MAX], folder[PATH_MAX], path[2 * PATH_MAX];
    if (own_folder(folder))
        return -ENOENT;
    for (const char *const *place = places; *place; place++) {
        snprintf(path, sizeof path, "%s/%s", folder, *place);
        if (locate(library, (const char *const[]){*place, NULL}, "libcuda.so.1") == 0 &&
            realpath(path, out))
            return 0;
    }
    snprintf(out, PATH_MAX, "%s/../simulator/lib", folder);
    return -ENOENT;
}
