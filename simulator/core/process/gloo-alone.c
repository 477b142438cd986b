/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A gloo group whose other ranks are absent. gloo connects it as a group of one rank; its
 * collectives then go to a group of PyTorch's "fake" backend, which assumes that the absent ranks
 * hold what this one holds. Everything else, above all its name, remains gloo's.
 */
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../base/base.h"
#include "say.h"

typedef void make_function(void *group, void *store, int rank, int size, void *options);
typedef void any_function(void);

/* clang-format off */
#define GLOO _ZN4c10d16ProcessGroupGlooC1ERKN3c1013intrusive_ptrINS_5StoreENS1_6detail34intrusive_target_default_null_typeIS3_EEEEiiNS2_INS0_7OptionsENS5_ISA_EEEE
#define GLOO_NAME "_ZN4c10d16ProcessGroupGlooC1ERKN3c1013intrusive_ptrINS_5StoreENS1_6detail34intrusive_target_default_null_typeIS3_EEEEiiNS2_INS0_7OptionsENS5_ISA_EEEE"
/* clang-format on */

/* Of a virtual table: how many entries precede the first function, and how many we can forward. */
enum { FAKE = 0, BEFORE = 3, MOST_SLOTS = 128 };

/*
 * Forward slot i to the fake group. The functions return an object through memory whose address is
 * the first argument; the group is the second. The fake group is stored before the group's table.
 */
#ifdef __x86_64__
__asm__(".pushsection .text\n"
        ".balign 32\n"
        "pass_on:\n"
        ".set slot, 0\n"
        ".rept 128\n"
        ".balign 32\n"
        "movq (%rsi), %rax\n"
        "movq -24(%rax), %rsi\n"
        "movq (%rsi), %rax\n"
        "jmp *8*slot(%rax)\n"
        ".set slot, slot + 1\n"
        ".endr\n"
        ".popsection\n");
extern const char pass_on[] __attribute__((visibility("hidden")));
#else
static const char pass_on[1]; /* nothing is simulated on other machines */
#endif

static void wait_for_nobody(void)
{
}

/* Return whether a function of gloo's group is a collective, by its mangled name. */
static bool is_collective(const char *name)
{
    static const char *const names[] = {"broadcast",
                                        "allreduce",
                                        "allreduce_sparse",
                                        "allreduce_coalesced",
                                        "reduce",
                                        "allgather",
                                        "_allgather_base",
                                        "all_gather_single",
                                        "allgather_coalesced",
                                        "allgather_into_tensor_coalesced",
                                        "all_gather_single_coalesced",
                                        "gather",
                                        "scatter",
                                        "reduce_scatter",
                                        "_reduce_scatter_base",
                                        "reduce_scatter_single",
                                        "reduce_scatter_tensor_coalesced",
                                        "reduce_scatter_single_coalesced",
                                        "alltoall",
                                        "alltoall_base",
                                        "all_to_all_single",
                                        "send",
                                        "recv",
                                        "recvAnysource",
                                        "barrier"};
    static const char class[] = "_ZN4c10d16ProcessGroupGloo";
    char *start;
    bool is_one = false;
    if (strncmp(name, class, sizeof(class) - 1))
        return false;
    size_t length = strtoul(name + sizeof(class) - 1, &start, 10);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        is_one |= strlen(names[i]) == length && !strncmp(names[i], start, length);
    return is_one;
}

#define PYTHON(name, result, ...)                                                                  \
    result (*name)(__VA_ARGS__) = (result(*)(__VA_ARGS__))(uintptr_t)dlsym(RTLD_DEFAULT, #name)

/* Create a fake group in Python, which keeps it forever. NULL if this PyTorch has none. */
static void *make_fake(int rank, int size)
{
    PYTHON(PyGILState_Ensure, int, void);
    PYTHON(PyGILState_Release, void, int);
    PYTHON(PyImport_ImportModule, void *, const char *);
    PYTHON(PyObject_GetAttrString, void *, void *, const char *);
    PYTHON(PyObject_SetAttrString, int, void *, const char *, void *);
    PYTHON(PyObject_CallMethod, void *, void *, const char *, const char *, ...);
    PYTHON(PyBool_FromLong, void *, long);
    PYTHON(PyErr_Clear, void, void);
    void *module, *fake, *options, *made = NULL;
    if (!PyGILState_Ensure || !PyObject_CallMethod)
        return NULL;
    int state = PyGILState_Ensure();
    module = PyImport_ImportModule("torch._C._distributed_c10d");
    fake = module ? PyObject_GetAttrString(module, "FakeProcessGroup") : NULL;
    PyErr_Clear();
    options = fake ? PyObject_CallMethod(fake, "Options", NULL) : NULL;
    PyErr_Clear();
    if (options && !PyObject_SetAttrString(options, "simulate_uniform_ranks", PyBool_FromLong(1)))
        made = PyObject_CallMethod(fake, "_create_internal", "iiO", rank, size, options);
    PyErr_Clear();
    if (fake && !made)
        made = PyObject_CallMethod(fake, "_create_internal", "ii", rank, size);
    PyErr_Clear();
    if (module && !made)
        made = PyObject_CallMethod(module, "FakeProcessGroup", "ii", rank, size);
    PyErr_Clear();
    PyGILState_Release(state);
    /* pybind11: after the reference count and the type. */
    return made ? ((void **)made)[2] : NULL;
}

/* Return a copy of gloo's table that forwards collectives, starting at its first function. */
static uintptr_t *hybrid_table(void *library, void *fake)
{
    const uintptr_t *gloo = dlsym(library, "_ZTVN4c10d16ProcessGroupGlooE");
    const ElfW(Sym) *symbol = NULL;
    Dl_info about;
    if (!gloo || !dladdr1(gloo, &about, (void **)&symbol, RTLD_DL_SYMENT) || !symbol)
        return NULL;
    size_t slots = symbol->st_size / sizeof(*gloo) - 2;
    uintptr_t *table = calloc(slots + BEFORE, sizeof(*table));
    if (!table || slots > MOST_SLOTS)
        return NULL;
    table[FAKE] = (uintptr_t)fake;
    memcpy(table + 1, gloo, symbol->st_size);
    for (size_t i = 0; i < slots; i++) {
        uintptr_t *slot = &table[BEFORE + i];
        if (!dladdr((void *)*slot, &about) || !about.dli_sname)
            continue;
        if (is_collective(about.dli_sname))
            *slot = (uintptr_t)pass_on + 32 * i;
        else if (strstr(about.dli_sname, "16ProcessGroupGloo16monitoredBarrier"))
            *slot = (uintptr_t)wait_for_nobody;
    }
    return table + BEFORE;
}

/* Return where a group has its rank and its size: where the fake one has its own, and this one
 * those of an only rank. */
static int *place_of_rank(void *group, const void *fake, int rank, int size)
{
    enum { FIRST = 4, LAST = 16 };
    const int *theirs = fake;
    int *ours = group;
    for (int i = FIRST; i < LAST; i++)
        if (theirs[i] == rank && theirs[i + 1] == size && ours[i] == 0 && ours[i + 1] == 1)
            return ours + i;
    return NULL;
}

static void refuse(int rank, int size)
{
    sim_print("ProcessGroupGloo: rank %d of %d is simulated alone, and in this release of PyTorch "
              "gloo's other ranks are not simulated; create this group with nccl",
              rank, size);
    fflush(NULL);
    _exit(2); /* C cannot throw what PyTorch would catch, and gloo would wait forever. */
}

/* Check the rank: in a program that starts its own ranks, each of them would believe it is the only
 * one. */
static void check_rank(int rank, int size)
{
    int world = (int)sim_environment("WORLD_SIZE", 1), self = (int)sim_environment("RANK", 0);
    if (size < world || (size == world && rank == self))
        return;
    sim_print("ProcessGroupGloo: this process claims to be rank %d of %d, but rank %d of %d is "
              "simulated alone; run a program that does not start ranks itself",
              rank, size, self, world);
    fflush(NULL);
    _exit(2);
}

static void make_alone(make_function *real, void *library, void *group, void *store, int rank,
                       int size, void *options)
{
    void *fake = make_fake(rank, size);
    uintptr_t *table = fake ? hybrid_table(library, fake) : NULL;
    if (!table)
        refuse(rank, size);
    real(group, store, 0, 1, options);
    int *place = place_of_rank(group, fake, rank, size);
    if (!place)
        refuse(rank, size);
    place[0] = rank;
    place[1] = size;
    *(uintptr_t **)group = table;
}

SIM_API make_function GLOO;
void GLOO(void *group, void *store, int rank, int size, void *options)
{
    void *library = dlopen("libtorch_cpu.so", RTLD_NOLOAD | RTLD_LAZY);
    make_function *real = library ? (make_function *)(uintptr_t)dlsym(library, GLOO_NAME) : NULL;
    if (real && size > 1 && sim_environment("CUDASIM_ALONE", 0)) {
        check_rank(rank, size);
        make_alone(real, library, group, store, rank, size, options);
    } else if (real) {
        real(group, store, rank, size, options);
    }
}
