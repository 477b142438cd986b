/* SPDX-License-Identifier: Apache-2.0 */
#include "locate.h"
#include "architecture.h"
#include "tools/terminal/command.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Relative to the command's folder; the build folder's come first. */
static const char *const shim_places[] = {"../preload", "../" MT_LIBDIR "/memtap", "../lib/memtap",
                                          NULL};
static const char *const simulator_places[] = {
    "../simulator/lib", "../" MT_LIBDIR "/memtap/simulator", "../lib/memtap/simulator", NULL};
static const char *const package_places[] = {"../../python", NULL};
static const char *const page_places[] = {"../page", "../share/memtap", NULL};

/* Find the folder of the running command. */
static int own_folder(char out[PATH_MAX])
{
    ssize_t n = readlink("/proc/self/exe", out, PATH_MAX - 1);
    out[n > 0 ? n : 0] = '\0';
    char *slash = strrchr(out, '/');
    if (!slash)
        return -ENOENT;
    *slash = '\0';
    return 0;
}

/* Find the first place that has the file. `out` is the path of `name` there, or in the last
 * place. */
static int locate(char out[MT_PLACE_SIZE], const char *const *places, const char *file,
                  const char *name)
{
    char folder[PATH_MAX], path[MT_PLACE_SIZE], real[PATH_MAX];
    *out = '\0';
    if (own_folder(folder))
        return -ENOENT;
    for (; *places; places++) {
        snprintf(out, MT_PLACE_SIZE, "%s/%s/%s", folder, *places, name);
        snprintf(path, sizeof path, "%s/%s/%s", folder, *places, file);
        if (access(path, R_OK) || !realpath(out, real))
            continue;
        snprintf(out, MT_PLACE_SIZE, "%s", real);
        return 0;
    }
    return -ENOENT;
}

int mt_locate_shim(char out[MT_PLACE_SIZE])
{
    int rc = locate(out, shim_places, "libmemtap.so", "libmemtap.so");
    if (!rc && mt_match_machine(out) == 1)
        return 0;
    return mt_fail("%s: the recording library is %s; build or install it", out,
                   rc ? "missing" : "built for another machine");
}

/* libcuda.so.1 stands for all the libraries. It may be a link to another folder. */
int mt_locate_simulator(char out[MT_PLACE_SIZE])
{
    return locate(out, simulator_places, "libcuda.so.1", "");
}

int mt_locate_page(char out[MT_PLACE_SIZE])
{
    return locate(out, page_places, "memtap.html", "memtap.html");
}

int mt_locate_package(char out[MT_PLACE_SIZE])
{
    return locate(out, package_places, "memtap/fleet/command.py", "");
}
