/* SPDX-License-Identifier: Apache-2.0 */
#include "library.h"

#include <dlfcn.h>
#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The newest first: a newer CUPTI serves older drivers and runtimes, but only of its own major
 * version. */
static const int majors[] = {13, 12};
#define N_MAJORS (sizeof majors / sizeof *majors)

/* Its places relative to a runtime: in its folder, in a toolkit, in wheels. */
static const char *const places[] = {"", "../extras/CUPTI/lib64/", "../../cuda_cupti/lib/"};

static void *open_beside(const char *runtime, int major)
{
    char path[PATH_MAX];
    const char *slash = strrchr(runtime, '/');
    void *found = NULL;
    for (size_t i = 0; slash && !found && i < sizeof places / sizeof *places; i++)
        if ((size_t)snprintf(path, sizeof path, "%.*s%s%s%d", (int)(slash - runtime) + 1, runtime,
                             places[i], "libcupti.so.", major) < sizeof path)
            found = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    return found;
}

/* Other places, in turn: the folder that a variable names, or of Python's packages if one of their
 * libraries is loaded, and a pattern in it. NULL: where the loader looks. */
#define PACKAGES "-packages/"
static const struct {
    const char *folder, *pattern;
} others[] = {
    {"CUDA_HOME", "/extras/CUPTI/lib64/"},
    {"CUDA_HOME", "/targets/*-linux/lib/"},
    {"CUDA_PATH", "/extras/CUPTI/lib64/"},
    {"CUDA_PATH", "/targets/*-linux/lib/"},
    {PACKAGES, "nvidia/cu*/lib/"},
    {PACKAGES, "nvidia/cuda_cupti/lib/"},
    {"VIRTUAL_ENV", "/lib/python3*/site-packages/nvidia/cu*/lib/"},
    {"VIRTUAL_ENV", "/lib/python3*/site-packages/nvidia/cuda_cupti/lib/"},
    {NULL, ""},
    {"", "/usr/local/cuda*/extras/CUPTI/lib64/"},
    {"", "/usr/local/cuda*/targets/*-linux/lib/"},
};

/* Put the folder of Python's packages into data, a path. */
static int find_packages(struct dl_phdr_info *info, size_t size, void *data)
{
    const char *found = strstr(info->dlpi_name, PACKAGES);
    (void)size;
    if (!found || strlen(info->dlpi_name) >= PATH_MAX)
        return 0;
    snprintf(data, PATH_MAX, "%.*s", (int)(found + strlen(PACKAGES) - info->dlpi_name),
             info->dlpi_name);
    return 1;
}

/* Compare paths by their versions: the newest first, 12.10 before 12.2. */
static int compare_paths(const void *a, const void *b)
{
    return strverscmp(*(char *const *)b, *(char *const *)a);
}

static void *open_matching(const char *pattern)
{
    glob_t files;
    void *found = NULL;
    if (glob(pattern, GLOB_NOSORT, NULL, &files))
        return NULL;
    qsort(files.gl_pathv, files.gl_pathc, sizeof *files.gl_pathv, compare_paths);
    for (size_t i = 0; !found && i < files.gl_pathc; i++)
        found = dlopen(files.gl_pathv[i], RTLD_NOW | RTLD_LOCAL);
    globfree(&files);
    return found;
}

/* Return the folder of a place; NULL: it has none here. */
static const char *folder_of(const char *name)
{
    static char packages[PATH_MAX];
    if (!strcmp(name, PACKAGES))
        return dl_iterate_phdr(find_packages, packages) ? packages : NULL;
    const char *folder = *name ? getenv(name) : name;
    return folder && *name && !*folder ? NULL : folder;
}

static void *open_elsewhere(int major)
{
    char path[PATH_MAX];
    void *found = NULL;
    for (size_t i = 0; !found && i < sizeof others / sizeof *others; i++) {
        const char *name = others[i].folder, *folder = name ? folder_of(name) : "";
        if (!folder || (size_t)snprintf(path, sizeof path, "%s%slibcupti.so.%d", folder,
                                        others[i].pattern, major) >= sizeof path)
            continue;
        found = name ? open_matching(path) : dlopen(path, RTLD_NOW | RTLD_LOCAL);
    }
    return found;
}

struct runtime {
    char soname[32], path[PATH_MAX];
};

static int find_runtime(struct dl_phdr_info *info, size_t size, void *data)
{
    struct runtime *runtime = data;
    (void)size;
    if (!strstr(info->dlpi_name, runtime->soname) || strlen(info->dlpi_name) >= PATH_MAX)
        return 0;
    strcpy(runtime->path, info->dlpi_name);
    return 1;
}

/* Return the driver's major CUDA version; 0: unknown. */
static int driver_major(void)
{
    int version = 0;
    unsigned (*version_of)(int *);
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    *(void **)&version_of = driver ? dlsym(driver, "cuDriverGetVersion") : NULL;
    if (version_of && version_of(&version))
        version = 0;
    return version / 1000;
}

/* Open the loaded CUPTI, else the loaded runtime's, else any that the driver can serve. */
static void *open_any(void)
{
    char soname[32];
    void *found = NULL;
    for (size_t i = 0; !found && i < N_MAJORS; i++) {
        snprintf(soname, sizeof soname, "libcupti.so.%d", majors[i]);
        found = dlopen(soname, RTLD_NOW | RTLD_NOLOAD);
    }
    for (size_t i = 0; !found && i < N_MAJORS; i++) {
        struct runtime runtime = {.path = ""};
        snprintf(runtime.soname, sizeof runtime.soname, "/libcudart.so.%d", majors[i]);
        if (dl_iterate_phdr(find_runtime, &runtime))
            found = open_beside(runtime.path, majors[i]);
    }
    int newest = found ? 0 : driver_major();
    for (size_t i = 0; !found && i < N_MAJORS; i++)
        if (!newest || majors[i] <= newest)
            found = open_elsewhere(majors[i]);
    return found;
}

int mt_cupti_find(struct mt_cupti_library *out)
{
    static const struct {
        size_t offset;
        const char *symbol;
    } functions[] = {
        {offsetof(struct mt_cupti_library, subscribe), "cuptiSubscribe"},
        {offsetof(struct mt_cupti_library, unsubscribe), "cuptiUnsubscribe"},
        {offsetof(struct mt_cupti_library, enable), "cuptiEnableCallback"},
        {offsetof(struct mt_cupti_library, device_of), "cuptiGetDeviceId"},
        {offsetof(struct mt_cupti_library, text_of), "cuptiGetResultString"},
    };
    void *library = open_any();
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        void *found = library ? dlsym(library, functions[i].symbol) : NULL;
        if (!found)
            return -ENOENT;
        memcpy((char *)out + functions[i].offset, &found, sizeof found);
    }
    return 0;
}
