/* SPDX-License-Identifier: Apache-2.0 */
/* Intercepts PyTorch where it creates or splits an NCCL process group; the communicator comes
 * next. */
#include "group-size.h"

#include <dlfcn.h>
#include <stdint.h>

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
    sim_note_group(options, rank, size);
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
            sim_note_split(ranks->first, last_size, own);
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
