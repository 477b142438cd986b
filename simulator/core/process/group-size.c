/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Intercepts PyTorch where it creates or splits an NCCL process group; the communicator comes next.
 * The groups that a rank creates are noted for the launcher, which derives the arrangement of a
 * job's ranks from them: lines "first stride count" for groups whose ranks are equally spaced, in
 * the file that CUDASIM_GROUPS names.
 */
#include "group-size.h"
#include "../base/base.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

enum { MOST_OF_OPTIONS = 64, MOST_RANKS = 1 << 16 };

/* std::vector */
struct list {
    uintptr_t first, end, room;
};

static bool read_memory(void *to, uintptr_t from, size_t size)
{
    const struct iovec local = {to, size}, remote = {(void *)from, size};
    return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == (ssize_t)size;
}

static void put_line(uint64_t first, uint64_t stride, uint64_t count)
{
    const char *path = getenv("CUDASIM_GROUPS");
    int file = path ? open(path, O_WRONLY | O_APPEND | O_CLOEXEC) : -1;
    char line[80];
    if (file < 0)
        return;
    snprintf(line, sizeof(line), "%llu %llu %llu\n", (unsigned long long)first,
             (unsigned long long)stride, (unsigned long long)count);
    if (write(file, line, strlen(line)) < 0)
        sim_verbose("%s: cannot record the group", path);
    close(file);
}

/* Return whether these are the ranks of a group in which this rank has its place. */
static bool are_ranks(const uint64_t *ranks, int count, int own)
{
    uint64_t world = sim_environment("WORLD_SIZE", 0);
    if (own < 0 || own >= count || ranks[own] != sim_environment("RANK", 0))
        return false;
    for (int i = 0; i < count; i++)
        if (ranks[i] >= world || (i && ranks[i] <= ranks[i - 1]))
            return false;
    return true;
}

static void note_ranks(const uint64_t *ranks, int count)
{
    uint64_t stride = count > 1 ? ranks[1] - ranks[0] : 1;
    for (int i = 2; i < count; i++)
        if (ranks[i] - ranks[i - 1] != stride)
            return;
    put_line(ranks[0], stride, (uint64_t)count);
}

static void note_split(const int *ranks, int count, int own)
{
    uint64_t *wide = getenv("CUDASIM_GROUPS") && count > 1 && count <= MOST_RANKS
                         ? malloc((size_t)count * sizeof(*wide))
                         : NULL;
    for (int i = 0; wide && i < count; i++)
        wide[i] = (uint64_t)ranks[i];
    if (wide && are_ranks(wide, count, own))
        note_ranks(wide, count);
    free(wide);
}

/* Note a group. Its options have its ranks in a vector, whose place differs between releases: it is
 * the one that has `size` ranks, with this rank where the group has it. The whole job's is empty.
 */
static void note_group(const void *options, int own, int size)
{
    uintptr_t object, words[MOST_OF_OPTIONS];
    if (!getenv("CUDASIM_GROUPS") || size < 2 || size > MOST_RANKS ||
        !read_memory(&object, (uintptr_t)options, sizeof(object)) || !object)
        return;
    uint64_t *ranks = malloc((size_t)size * sizeof(*ranks));
    for (size_t n = MOST_OF_OPTIONS; ranks && n > 3; n /= 2) {
        if (!read_memory(words, object, n * sizeof(*words)))
            continue;
        for (size_t i = 0; i + 2 < n; i++) {
            struct list list = {words[i], words[i + 1], words[i + 2]};
            if (list.end - list.first != (size_t)size * sizeof(*ranks) || list.room < list.end ||
                !read_memory(ranks, list.first, (size_t)size * sizeof(*ranks)) ||
                !are_ranks(ranks, size, own))
                continue;
            note_ranks(ranks, size);
            break;
        }
        break;
    }
    free(ranks);
}

static _Thread_local int last_size;

/* std::vector<int> */
struct ranks {
    const int *first, *end, *room;
};

int sim_group_size(void)
{
    return last_size;
}

static void *find_real(const char *name)
{
    void *library = dlopen("libtorch_cuda.so", RTLD_NOLOAD | RTLD_LAZY);
    return library ? dlsym(library, name) : NULL;
}

/* C++ objects that are passed by value but cannot be copied bitwise are passed by address. */
typedef void make_function(void *group, void *store, int rank, int size, void *options);
typedef void *split_function(void *result, void *group, void *store, const struct ranks *ranks,
                             void *options);

static void make(const char *name, void *group, void *store, int rank, int size, void *options)
{
    make_function *real = (make_function *)(uintptr_t)find_real(name);
    last_size = size;
    note_group(options, rank, size);
    if (real)
        real(group, store, rank, size, options);
}

static void *split(const char *name, void *result, void *group, void *store,
                   const struct ranks *ranks, void *options)
{
    split_function *real = (split_function *)(uintptr_t)find_real(name);
    last_size = (int)(ranks->end - ranks->first);
    for (int own = 0; own < last_size; own++)
        if ((uint64_t)ranks->first[own] == sim_environment("RANK", 0))
            note_split(ranks->first, last_size, own);
    return real ? real(result, group, store, ranks, options) : result;
}

#define MAKE(name)                                                                                 \
    SIM_API make_function name;                                                                    \
    void name(void *group, void *store, int rank, int size, void *options)                         \
    {                                                                                              \
        make(#name, group, store, rank, size, options);                                            \
    }
#define SPLIT(name)                                                                                \
    SIM_API split_function name;                                                                   \
    void *name(void *result, void *group, void *store, const struct ranks *ranks, void *options)   \
    {                                                                                              \
        return split(#name, result, group, store, ranks, options);                                 \
    }

/* clang-format off */
MAKE(_ZN4c10d16ProcessGroupNCCLC1EN3c1013intrusive_ptrINS_5StoreENS1_6detail34intrusive_target_default_null_typeIS3_EEEEiiNS2_INS0_7OptionsENS5_IS8_EEEE)
MAKE(_ZN4c10d16ProcessGroupNCCLC1ERKN3c1013intrusive_ptrINS_5StoreENS1_6detail34intrusive_target_default_null_typeIS3_EEEEiiNS2_INS0_7OptionsENS5_ISA_EEEE)
SPLIT(_ZN4c10d16ProcessGroupNCCL5splitERKN3c1013intrusive_ptrINS_5StoreENS1_6detail34intrusive_target_default_null_typeIS3_EEEERKSt6vectorIiSaIiEERKNS2_INS_7Backend7OptionsENS5_ISG_EEEE)
SPLIT(_ZN4c10d5nccl216ProcessGroupNCCL5splitERKN3c1013intrusive_ptrINS_5StoreENS2_6detail34intrusive_target_default_null_typeIS4_EEEERKSt6vectorIiSaIiEERKNS3_INS_7Backend7OptionsENS6_ISH_EEEE)
/* clang-format on */
