/* SPDX-License-Identifier: Apache-2.0 */
#include "replaced.h"

#include <link.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "instead.h"
#include "rules.h"

/* A hash table with open addressing, keyed by the entry's address; one thread writes it, all read
 * it. */
enum { SLOTS = 1 << 14 };
static _Atomic(struct sim_replaced *) slots[SLOTS];
static size_t used;

static _Atomic(struct sim_replaced *) *slot_of(const char *entry)
{
    size_t i = (size_t)(((uintptr_t)entry >> 4) * UINT64_C(0x9e3779b97f4a7c15) >> 40);

    for (;; i++) {
        _Atomic(struct sim_replaced *) *slot = &slots[i % SLOTS];
        struct sim_replaced *found = atomic_load_explicit(slot, memory_order_acquire);

        if (!found || found->entry == entry)
            return slot;
    }
}

struct sim_replaced *sim_find_replaced(const char *entry)
{
    return atomic_load_explicit(slot_of(entry), memory_order_acquire);
}

/* The addresses of libtorch_cpu.so. */
static struct {
    uintptr_t start, end;
} host_library;

static int find_host_library(struct dl_phdr_info *info, size_t size, void *unused)
{
    (void)size;
    (void)unused;
    if (!info->dlpi_name || !strstr(info->dlpi_name, "/libtorch_cpu.so"))
        return 0;
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_LOAD) {
            uintptr_t start = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;

            if (!host_library.start)
                host_library.start = start;
            host_library.end = start + info->dlpi_phdr[i].p_memsz;
        }
    return 1;
}

static bool is_of_host(const void *function)
{
    return (uintptr_t)function >= host_library.start && (uintptr_t)function < host_library.end;
}

/* Return whether to replace a kernel. One shared by all devices calls operators that have kernels
 * for CUDA, and those are replaced. */
static bool is_wanted(const char *entry, const char *slot)
{
    /* The second function exists if sizes may be symbolic; a kernel in Python has neither. */
    const void *unboxed = sim_field(slot, 16) ? sim_field(slot, 16) : sim_field(slot, 24);
    const void *code = unboxed ? unboxed : sim_field(slot, 8);

    return sim_field(slot, 8) && !sim_makes_view(entry) && sim_arguments(entry) <= 64 &&
           sim_results(entry) <= 16 &&
           (sim_rules_of(entry) & SIM_EVERYWHERE || !is_of_host(code)) &&
           !(sim_rules_of(entry) & SIM_LEFT_ALONE);
}

static void replace(const char *entry, char *slot, sim_boxed *kernel)
{
    struct sim_replaced *made = calloc(1, sizeof(*made));

    if (!made || used > SLOTS / 2)
        return;
    made->entry = entry;
    made->arguments = (unsigned)sim_arguments(entry);
    made->results = (unsigned)sim_results(entry);
    made->boxed = (sim_boxed *)(uintptr_t)sim_field(slot, 8);
    made->rules = sim_rules_of(entry);
    made->has_instead = sim_has_instead(entry);
    for (unsigned i = 0; i < made->arguments; i++)
        made->writes |= (uint64_t)sim_writes(entry, i) << i;
    used++;
    atomic_store_explicit(slot_of(entry), made, memory_order_release);
    sim_put_kernel(slot, kernel);
}

void sim_replace_kernels(sim_boxed *kernel)
{
    if (!host_library.start)
        dl_iterate_phdr(find_host_library, NULL);
    for (const struct sim_listed *node = sim_first_operator(); node;
         node = sim_next_operator(node)) {
        char *slot = sim_kernel_slot(node->entry, SIM_SLOT_CUDA);

        if (sim_field(slot, 0) && !sim_find_replaced(node->entry) && is_wanted(node->entry, slot))
            replace(node->entry, slot, kernel);
    }
}
