/* SPDX-License-Identifier: Apache-2.0 */
#include "launch.h"
#include "rendezvous.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Generated from the entry-point lists: the SONAMEs as strings, each followed by a comma. */
static const char *const libraries[] = {
    "libcudasim.so", /* the state behind them; preloaded for core/process/exit.c */
#include "sonames.inc"
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* --- how a router loads its experts ---------------------------------------------------------- */

enum { SIM_MAX_EXPERTS = 999 };

static const double steepest = 10;

/* Return the text after why was written: NULL. */
#define FAIL(...) (snprintf(why, why_size, __VA_ARGS__), NULL)

static char *read_zipf(const char *text, char *why, size_t why_size)
{
    char *end;
    double power = strtod(text + strlen("zipf:"), &end);

    if (end == text + strlen("zipf:") || *end || !(power >= 0 && power <= steepest))
        return FAIL("--skew %s: the power is not a number from 0 to %g, such as zipf:1", text,
                    steepest);
    return strdup(text);
}

static char *read_loads(FILE *file, const char *path, char *why, size_t why_size)
{
    enum { WORD = 32 };
    char *loads = calloc(SIM_MAX_EXPERTS, WORD), word[WORD], *end;
    double all = 0;
    size_t used = 0;
    int count = 0;

    while (loads && fscanf(file, "%31s", word) == 1) {
        double load = strtod(word, &end);

        if (*end || !(load >= 0 && load < HUGE_VAL) || count == SIM_MAX_EXPERTS) {
            free(loads);
            return count == SIM_MAX_EXPERTS
                       ? FAIL("--skew %s: more than %d experts", path, SIM_MAX_EXPERTS)
                       : FAIL("--skew %s: load %d is '%s'; give one number of at least 0 per "
                              "expert, separated by whitespace",
                              path, count + 1, word);
        }
        all += load;
        used += (size_t)snprintf(loads + used, WORD, "%s%s", count++ ? "," : "", word);
    }
    if (!loads || all > 0)
        return loads;
    free(loads);
    return ferror(file) ? FAIL("--skew %s: %s", path, strerror(errno))
                        : FAIL("--skew %s: no load above 0; give a number for each expert", path);
}

/*
 * Read `even`, `zipf:S` (the load of expert i is (i + 1) to the power of -S) or the name of a file
 * with one load for each expert. Return the value for CUDASIM_SKEW, comma-separated loads, which
 * the caller frees; or NULL with the reason in why.
 */
static char *read_skew(const char *text, char *why, size_t why_size)
{
    FILE *file;
    if (!strcmp(text, "even"))
        return strdup(text);
    if (!strncmp(text, "zipf:", strlen("zipf:")))
        return read_zipf(text, why, why_size);
    file = fopen(text, "re");
    if (!file)
        return FAIL("--skew %s: %s; give even, zipf:S or a file with a load for each expert", text,
                    strerror(errno));
    char *loads = read_loads(file, text, why, why_size);
    fclose(file);
    return loads;
}
/* --- what is simulated ------------------------------------------------------------------------ */

/* The smallest segment of PyTorch's allocator is one page of the driver: 2 MiB. */
static const uint64_t one_page = UINT64_C(2) << 20;

__attribute__((format(printf, 4, 5))) static int fail(int error, char *why, size_t why_size,
                                                      const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(why, why_size, format, args);
    va_end(args);
    return error;
}

const struct sim_gpu *sim_launch_default_gpu(void)
{
    return sim_gpu_default();
}

uint64_t sim_launch_least_memory(const struct sim_gpu *gpu)
{
    return gpu->context + one_page;
}

const char *sim_launch_library(size_t index)
{
    return index < COUNT(libraries) ? libraries[index] : NULL;
}

/* Return whether the list has `item` (LD_PRELOAD separates by colons and spaces). */
static bool list_has(const char *list, const char *item)
{
    size_t length = strlen(item);
    for (const char *p = list; (p = strstr(p, item)); p += length) {
        int begins = p == list || strchr(": ", p[-1]);
        if (begins && strchr(": ", p[length]))
            return true;
    }
    return false;
}

/* Check that all stand-ins are there before anything is changed. */
static int check_libraries(const char *libdir, char *why, size_t why_size)
{
    char path[PATH_MAX];
    if (strpbrk(libdir, ": "))
        return fail(-ENOTSUP, why, why_size,
                    "%s has a space or a colon in its path, which LD_PRELOAD cannot contain",
                    libdir);
    for (size_t i = 0; i < COUNT(libraries); i++) {
        if (snprintf(path, sizeof(path), "%s/%s", libdir, libraries[i]) >= (int)sizeof(path))
            return fail(-ENOENT, why, why_size, "the path of %s is too long", libraries[i]);
        if (access(path, R_OK))
            return fail(-ENOENT, why, why_size, "%s: %s", path, strerror(errno));
    }
    return 0;
}

static int check_device(const struct sim_gpu *gpu, const struct sim_launch *launch, char *why,
                        size_t why_size)
{
    uint64_t least = sim_launch_least_memory(gpu);
    if (launch->memory && launch->memory < least)
        return fail(-EINVAL, why, why_size,
                    "%" PRIu64 " bytes are less than the %" PRIu64
                    " MiB that a context on %s needs",
                    launch->memory, (least >> 20), gpu->name);
    if (launch->gpus > SIM_MAX_GPUS)
        return fail(-EINVAL, why, why_size, "%u GPUs are more than the %d that can be simulated",
                    launch->gpus, SIM_MAX_GPUS);
    if (launch->world_size && launch->rank >= launch->world_size)
        return fail(-EINVAL, why, why_size, "rank %u is out of range: %u ranks are 0 to %u",
                    launch->rank, launch->world_size, launch->world_size - 1);
    return 0;
}

/* Return LD_PRELOAD's present value with the stand-ins behind it. The caller frees it. */
static char *preload_list(const char *libdir)
{
    const char *old = getenv("LD_PRELOAD");
    size_t room = (old ? strlen(old) : 0) + COUNT(libraries) * (strlen(libdir) + NAME_MAX) + 2;
    char *list = malloc(room);
    if (!list)
        return NULL;
    size_t used = (size_t)snprintf(list, room, "%s", old ? old : "");
    for (size_t i = 0; i < COUNT(libraries); i++) {
        char path[PATH_MAX];
        snprintf(path, sizeof(path), "%s/%s", libdir, libraries[i]);
        if (!list_has(list, path))
            used += (size_t)snprintf(list + used, room - used, "%s%s", used ? ":" : "", path);
    }
    return list;
}

static int set_library_path(const char *libdir)
{
    const char *old = getenv("LD_LIBRARY_PATH");
    char *list;
    if (!old || !*old)
        return setenv("LD_LIBRARY_PATH", libdir, 1);
    if (list_has(old, libdir))
        return 0;
    if (asprintf(&list, "%s:%s", libdir, old) < 0)
        return -1;
    int error = setenv("LD_LIBRARY_PATH", list, 1);
    free(list);
    return error;
}

static int set_number(const char *name, uint64_t number)
{
    char text[24];
    snprintf(text, sizeof(text), "%" PRIu64, number);
    return setenv(name, text, 1);
}

/* Set how values that no kernel computes are made up. */
static int set_made_up(const struct sim_launch *launch, char *why, size_t why_size)
{
    char *skew = launch->skew ? read_skew(launch->skew, why, why_size) : NULL;
    int error = launch->skew && !skew ? -EINVAL : 0;
    if (!error && ((skew && setenv("CUDASIM_SKEW", skew, 1)) ||
                   (launch->seed && set_number("CUDASIM_SEED", launch->seed)) ||
                   (launch->boxes && set_number("CUDASIM_BOXES", launch->boxes))))
        error = fail(-ENOMEM, why, why_size, "out of memory");
    free(skew);
    return error;
}

/* Set the folder of cuDNN, absolute: the program may go elsewhere. */
static int set_cudnn(const char *cudnn, char *why, size_t why_size)
{
    static const char graph[] = "libcudnn_graph.so.9";
    char path[PATH_MAX], library[PATH_MAX + sizeof(graph) + 1];
    if (!cudnn || !strcmp(cudnn, "off"))
        return cudnn && setenv("CUDASIM_CUDNN", cudnn, 1)
                   ? fail(-ENOMEM, why, why_size, "out of memory")
                   : 0;
    if (!realpath(cudnn, path))
        return fail(-EINVAL, why, why_size, "--cudnn %s: %s", cudnn, strerror(errno));
    snprintf(library, sizeof(library), "%s/%s", path, graph);
    if (access(library, R_OK))
        return fail(-EINVAL, why, why_size,
                    "--cudnn %s: %s: %s; give the folder of cuDNN 9.8 or newer, such as "
                    "site-packages/nvidia/cudnn/lib",
                    cudnn, graph, strerror(errno));
    return setenv("CUDASIM_CUDNN", path, 1) ? fail(-ENOMEM, why, why_size, "out of memory") : 0;
}

static unsigned gpus_of(const struct sim_launch *launch)
{
    unsigned node = launch->world_size < SIM_NODE_GPUS ? launch->world_size : SIM_NODE_GPUS;
    return launch->gpus ? launch->gpus : node ? node : 1;
}

/* Set the variables that torchrun, Slurm and Open MPI set for a rank. The agent's store is the
 * server. */
static int set_rank(const struct sim_launch *launch, uint16_t port)
{
    unsigned size = launch->world_size, rank = launch->rank, gpus = gpus_of(launch);
    unsigned local = gpus < size ? gpus : size, nodes = (size + local - 1) / local;
    const struct {
        const char *name;
        unsigned number;
    } variables[] = {
        {"CUDASIM_ALONE", 1},
        {"CUDASIM_RENDEZVOUS", port},
        {"CUDASIM_RANK", rank},
        {"CUDASIM_RANKS", size},
        {"RANK", rank},
        {"WORLD_SIZE", size},
        {"LOCAL_RANK", rank % local},
        {"LOCAL_WORLD_SIZE", local},
        {"GROUP_RANK", rank / local},
        {"GROUP_WORLD_SIZE", nodes},
        {"ROLE_RANK", rank},
        {"ROLE_WORLD_SIZE", size},
        {"MASTER_PORT", port},
        {"TORCHELASTIC_RESTART_COUNT", 0},
        {"TORCHELASTIC_MAX_RESTARTS", 0},
        {"SLURM_PROCID", rank},
        {"SLURM_NTASKS", size},
        {"SLURM_LOCALID", rank % local},
        {"SLURM_NTASKS_PER_NODE", local},
        {"SLURM_NODEID", rank / local},
        {"SLURM_JOB_NUM_NODES", nodes},
        {"OMPI_COMM_WORLD_RANK", rank},
        {"OMPI_COMM_WORLD_SIZE", size},
        {"OMPI_COMM_WORLD_LOCAL_RANK", rank % local},
        {"OMPI_COMM_WORLD_LOCAL_SIZE", local},
    };
    int error = setenv("MASTER_ADDR", "127.0.0.1", 1) || setenv("ROLE_NAME", "default", 1) ||
                setenv("TORCHELASTIC_RUN_ID", "none", 1) ||
                setenv("TORCHELASTIC_USE_AGENT_STORE", "True", 1);

    for (size_t i = 0; i < COUNT(variables) && !error; i++)
        error = set_number(variables[i].name, variables[i].number);
    return error ? -ENOMEM : 0;
}

/* Set the card's memory. Without an option it is what the user has set; but an earlier launch,
 * around this one, has set its own card as well. */
static int set_memory(const struct sim_launch *launch)
{
    if (launch->memory)
        return set_number("CUDASIM_MEMORY", launch->memory);
    return getenv("CUDASIM_GPU") ? unsetenv("CUDASIM_MEMORY") : 0;
}

static int set_environment(const char *libdir, const struct sim_gpu *gpu,
                           const struct sim_launch *launch)
{
    char *list = preload_list(libdir);
    if (!list)
        return -ENOMEM;
    int error = setenv("LD_PRELOAD", list, 1) || set_library_path(libdir) || set_memory(launch) ||
                setenv("CUDASIM_GPU", gpu->name, 1) ||
                set_number("CUDASIM_GPUS", gpus_of(launch)) ||
                (launch->copy_limit && set_number("CUDASIM_COPY_LIMIT", *launch->copy_limit)) ||
                (launch->values && set_number("CUDASIM_VALUES", *launch->values));
    free(list);
    return error ? -ENOMEM : 0;
}

int sim_launch_prepare(const struct sim_launch *launch, char *why, size_t why_size)
{
    const struct sim_gpu *gpu = launch->gpu ? launch->gpu : sim_launch_default_gpu();
    char *libdir = realpath(launch->libdir, NULL);
    uint16_t port = 0;
    if (!libdir)
        return fail(-ENOENT, why, why_size, "%s: %s", launch->libdir, strerror(errno));
    int error = check_libraries(libdir, why, why_size);
    if (!error)
        error = check_device(gpu, launch, why, why_size);
    if (!error)
        error = set_made_up(launch, why, why_size);
    if (!error)
        error = set_cudnn(launch->cudnn, why, why_size);
    if (!error) {
        error = set_environment(libdir, gpu, launch);
        if (error)
            fail(error, why, why_size, "out of memory");
    }
    if (!error && launch->world_size) {
        error = sim_rendezvous_start(&port);
        if (error)
            fail(error, why, why_size, "cannot start the server for the absent ranks: %s",
                 strerror(-error));
        else
            error = set_rank(launch, port);
    }
    free(libdir);
    return error;
}
