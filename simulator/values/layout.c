/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Measure how this release of PyTorch lays out its objects: create a tensor with known sizes and
 * strides and find them in it; find known operators and their kernels. Every offset must be found,
 * or no values are computed at all.
 */
#include <link.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "operators.h"
#include "torch.h"

enum { MOST_WORDS = 64, MOST_ENTRY = 4096, FLOAT = 6 };

/* --- a tensor ------------------------------------------------------------------------------ */

static bool find_sizes(const uint64_t *words)
{
    for (size_t i = 3; i < MOST_WORDS - 14; i++)
        if (words[i] == 2 && words[i + 1] == 3 && words[i + 2] == 5 && words[i + 6] == 7 &&
            words[i + 7] == 11 && words[i + 12] == 15) {
            sim_layout.sizes = 8 * i;
            sim_layout.numel = 8 * (i + 12);
            sim_layout.dtype = 8 * (i + 13);
            return true;
        }
    return false;
}

/* Find the device. The flag of std::optional<Device> follows it; that of c10::optional precedes
 * it. */
static bool find_device(const unsigned char *tensor)
{
    size_t at = sim_layout.dtype + 2;

    if (tensor[at] == 0 && tensor[at + 1] == 0xff && tensor[at + 2] == 1) {
        sim_layout.device = at;
        sim_layout.has_device = at + 2;
        return true;
    }
    if (tensor[at] == 1 && tensor[at + 1] == 0 && tensor[at + 2] == 0xff) {
        sim_layout.device = at + 1;
        sim_layout.has_device = at;
        return true;
    }
    return false;
}

static bool measure_tensor(void)
{
    const int64_t sizes[] = {3, 5}, strides[] = {7, 11};
    const size_t bytes = (2 * 7 + 4 * 11 + 1) * 4;
    void *tensor = sim_torch_tensor(sizes, strides, 2, FLOAT);
    const uint64_t *words = tensor;
    bool good;

    if (!tensor)
        return false;
    sim_layout.counts = words[1] == 1 && words[2] == 1 ? 16 : 8;
    sim_layout.storage = sim_layout.data = 8 + sim_layout.counts;
    sim_layout.bytes = sim_layout.data + 32;
    good = find_sizes(words) && sim_dtype(tensor) == FLOAT && find_device(tensor) &&
           sim_storage_size(tensor) == bytes;
    sim_drop(tensor);
    return good;
}

/* Return the bit that is set in a lazy view of a tensor and clear in the tensor itself, in the
 * words from `at` on; 0 if not exactly one bit differs. */
static uint64_t lazy_bit(void *tensor, size_t at, bool negative)
{
    void *view = sim_torch_lazy_view(tensor, negative);
    uint64_t bit = 0;

    if (view && view != tensor)
        bit = ((const uint64_t *)view)[at] ^ ((const uint64_t *)tensor)[at];
    if (view)
        sim_drop(view);
    return bit & (bit - 1) ? 0 : bit;
}

/* Find the bits that mark conjugate and negative views; they follow the device. */
static bool measure_lazy(void)
{
    const int64_t one = 1;
    void *tensor = sim_torch_tensor(&one, &one, 1, SIM_TYPE_COMPLEX_FLOAT);

    for (size_t at = sim_layout.dtype / 8 + 1; tensor && at < sim_layout.dtype / 8 + 5; at++) {
        sim_layout.keys = 8 * at;
        sim_layout.conjugate = lazy_bit(tensor, at, false);
        sim_layout.negative = lazy_bit(tensor, at, true);
        if (sim_layout.conjugate && sim_layout.negative &&
            sim_layout.conjugate != sim_layout.negative)
            break;
        sim_layout.conjugate = sim_layout.negative = 0;
    }
    if (tensor)
        sim_drop(tensor);
    return sim_layout.conjugate != 0;
}

/* --- operators ----------------------------------------------------------------------------- */

static bool peek(const void *from, void *to, size_t size)
{
    struct iovec here = {to, size}, there = {(void *)(uintptr_t)from, size};

    return process_vm_readv(getpid(), &here, 1, &there, 1, 0) == (ssize_t)size;
}

static bool is_text(const void *address, const char *text)
{
    char found[64];
    size_t size = strlen(text) + 1;

    return size <= sizeof(found) && peek(address, found, size) && !memcmp(found, text, size);
}

struct place {
    uintptr_t address;
    const char *library;
};

static int is_at(struct dl_phdr_info *image, size_t size, void *data)
{
    struct place *place = data;

    (void)size;
    for (unsigned i = 0; i < image->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &image->dlpi_phdr[i];
        uintptr_t start = image->dlpi_addr + part->p_vaddr;

        if (part->p_type == PT_LOAD && place->address - start < part->p_memsz) {
            place->library = image->dlpi_name;
            return 1;
        }
    }
    return 0;
}

/* (Not by dladdr, which goes through all of a library's symbols: PyTorch has 100,000.) */
bool sim_in_library(const void *address, const char *name)
{
    struct place place = {(uintptr_t)address, ""};

    return address && dl_iterate_phdr(is_at, &place) && strstr(place.library, name);
}

/* Measure a name. A string of GCC 5 and later has its length after the pointer; an older one is
 * only a pointer. */
static bool measure_name(void)
{
    static const char name[] = "aten::add_";

    for (const struct sim_listed *node = sim_first_operator(); node;
         node = sim_next_operator(node)) {
        const void *const *words = (const void *const *)node->entry;

        if (!is_text(words[0], name))
            continue;
        sim_layout.name = (uintptr_t)words[1] == sizeof(name) - 1 ? 64 : 16;
        return true;
    }
    return false;
}

/* Measure the schema, which repeats the name; the vectors of arguments and of results follow it. */
static bool measure_schema(const char *entry)
{
    for (size_t at = sim_layout.name; at < sim_layout.name + 40; at += 8) {
        uintptr_t vector[2];

        if (!is_text(sim_field(entry, at), "aten::add_"))
            continue;
        memcpy(vector, entry + at + sim_layout.name, sizeof(vector));
        sim_layout.schema = at + sim_layout.name;
        sim_layout.argument = (vector[1] - vector[0]) / 3; /* self, other, alpha */
        return sim_layout.argument > 64 && sim_layout.argument < 256 && sim_writes(entry, 0) &&
               !sim_writes(entry, 1) && !sim_writes(entry, 2);
    }
    return false;
}

/* Measure the table: its slots 1 and 2 are the host's kernel and CUDA's. */
static bool measure_table(const char *entry)
{
    for (size_t slot = 32; slot <= 64; slot += 8)
        for (size_t at = 0; at + 3 * slot < MOST_ENTRY; at += 8) {
            const char *host = entry + at + slot, *cuda = host + slot;

            if (sim_field(host, 0) && sim_field(cuda, 0) &&
                sim_in_library(sim_field(cuda, 16), "libtorch_cuda") &&
                sim_in_library(sim_field(cuda, 8), "libtorch_cuda") &&
                sim_in_library(sim_field(host, 16), "libtorch_cpu") &&
                sim_in_library(sim_field(host, 8), "libtorch_cpu")) {
                sim_layout.table = at;
                sim_layout.slot = slot;
                return true;
            }
        }
    return false;
}

/* --- tags ---------------------------------------------------------------------------------- */

/* Call an operator that returns a boolean; the other tags are numbered from there. */
static bool measure_tags(const char *entry)
{
    const struct sim_handle handle = {(char *)(uintptr_t)entry};
    const char *slot = sim_kernel_slot(entry, SIM_SLOT_HOST);
    const int64_t one = 1;
    struct sim_values stack;
    struct sim_value answer = {0};

    if (!sim_torch_stack(&stack, 4))
        return false;
    for (int i = 0; i < 2; i++) {
        void *tensor = sim_torch_tensor(&one, &one, 1, FLOAT);

        if (!tensor)
            return false;
        memset(sim_elements(tensor), 0, 4);
        *stack.end++ = (struct sim_value){.object = tensor, .tag = SIM_TAG_TENSOR};
    }
    if (sim_torch_call((sim_boxed *)(uintptr_t)sim_field(slot, 8), sim_field(slot, 0), &handle, 0,
                       &stack) &&
        stack.end - stack.begin == 1)
        answer = *--stack.end;
    sim_torch_free(&stack);
    sim_layout.tag_bool = answer.tag;
    sim_layout.tag_string = answer.tag + 2;
    sim_layout.tag_list = answer.tag + 4;
    sim_layout.tag_device = answer.tag + 8;
    sim_layout.tag_generator = answer.tag + 16;
    return answer.tag > SIM_TAG_INT && answer.tag < 16 && answer.boolean;
}

bool sim_measure_layout(void)
{
    const char *add, *add_inside, *equal;

    return sim_torch_functions() && measure_tensor() && measure_lazy() && measure_name() &&
           (add = sim_find_operator("aten::add", "Tensor")) &&
           (add_inside = sim_find_operator("aten::add_", "Tensor")) &&
           (equal = sim_find_operator("aten::equal", "")) && measure_schema(add_inside) &&
           measure_table(add) && measure_tags(equal);
}
