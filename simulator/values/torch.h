/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PyTorch's objects in memory, and the few of its functions that are called. No header of PyTorch
 * is used: one library serves every release. What differs between releases is measured when the
 * library starts (layout.c), on objects with known contents.
 */
#ifndef SIM_TORCH_H
#define SIM_TORCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* c10::IValue: a value on the dispatcher's stack. */
struct sim_value {
    union {
        void *object;
        int64_t integer;
        double real;
        bool boolean;
        struct {
            int8_t type, index;
        } device;
    };
    uint32_t tag, padding;
};

/* The tags that no release renumbers; the others are counted from `boolean` (layout.c). */
enum {
    SIM_TAG_NONE,
    SIM_TAG_TENSOR,
    SIM_TAG_STORAGE,
    SIM_TAG_DOUBLE,
    SIM_TAG_COMPLEX,
    SIM_TAG_INT
};
enum { SIM_DEVICE_CPU, SIM_DEVICE_CUDA };
/* c10::ScalarType: up to LONG they are integers. */
enum {
    SIM_TYPE_BYTE = 0,
    SIM_TYPE_LONG = 4,
    SIM_TYPE_HALF,
    SIM_TYPE_FLOAT,
    SIM_TYPE_DOUBLE,
    SIM_TYPE_COMPLEX_FLOAT = 9,
    SIM_TYPE_BOOL = 11,
    SIM_TYPE_BFLOAT16 = 15
};

/* std::vector<c10::IValue>: torch::jit::Stack, and the elements of a list. */
struct sim_values {
    struct sim_value *begin, *end, *limit;
};

/* c10::OperatorHandle begins with the operator's entry. */
struct sim_handle {
    char *entry;
};

typedef void sim_boxed(void *functor, const struct sim_handle *handle, uint64_t keys,
                       struct sim_values *stack);

/* Offsets in bytes. */
struct sim_layout {
    size_t counts;                                  /* the size of the two reference counts */
    size_t sizes, numel, dtype, device, has_device; /* of a TensorImpl */
    size_t keys;                                    /* the bits below, and others */
    size_t storage, data, bytes;                    /* its StorageImpl, and in that */
    size_t name, schema, argument, table, slot;     /* of an operator's entry; sizes of a name, an
                                                       argument and a slot */
    uint32_t tag_bool, tag_string, tag_list, tag_device, tag_generator;
    uint64_t conjugate, negative; /* bits of a tensor whose elements are not those in memory */
    const void *undefined;        /* the tensor that stands for none */
};
extern struct sim_layout sim_layout;

/* --- tensors ------------------------------------------------------------------------------- */

enum { SIM_DIMENSIONS_INSIDE = 5 };

static inline void *sim_field(const void *object, size_t offset)
{
    return *(void *const *)((const char *)object + offset);
}

static inline size_t sim_dimensions(const void *tensor)
{
    return (size_t)sim_field(tensor, sim_layout.sizes);
}

static inline const int64_t *sim_sizes(const void *tensor)
{
    const char *inside = (const char *)tensor + sim_layout.sizes + 8;

    return (const int64_t *)(sim_dimensions(tensor) <= SIM_DIMENSIONS_INSIDE
                                 ? inside
                                 : *(const char *const *)inside);
}

static inline const int64_t *sim_strides(const void *tensor)
{
    size_t n = sim_dimensions(tensor);

    return sim_sizes(tensor) + (n <= SIM_DIMENSIONS_INSIDE ? (size_t)SIM_DIMENSIONS_INSIDE : n);
}

static inline int64_t sim_numel(const void *tensor)
{
    return (int64_t)sim_field(tensor, sim_layout.numel);
}

static inline unsigned sim_dtype(const void *tensor)
{
    return *(const uint16_t *)((const char *)tensor + sim_layout.dtype);
}

static inline int sim_device_type(const void *tensor)
{
    const signed char *bytes = (const signed char *)tensor;

    return bytes[sim_layout.has_device] == 1 ? bytes[sim_layout.device] : -1;
}

static inline bool sim_has_key(const void *tensor, uint64_t bit)
{
    return (*(const uint64_t *)((const char *)tensor + sim_layout.keys) & bit) != 0;
}

/* Return the address of its storage's first byte; NULL: it has no storage. */
static inline char *sim_storage(const void *tensor)
{
    const void *storage = sim_field(tensor, sim_layout.storage);

    return storage ? (char *)sim_field(storage, sim_layout.data) : NULL;
}

static inline size_t sim_storage_size(const void *tensor)
{
    const void *storage = sim_field(tensor, sim_layout.storage);

    return storage ? (size_t)sim_field(storage, sim_layout.bytes) : 0;
}

/* Return the bytes of an element; 0: a type that is not computed with (quantized ones). */
size_t sim_element(const void *tensor);
/* Return the bytes from the first element to the last one's end. */
size_t sim_span(const void *tensor);
/* Return the address of its first element. */
char *sim_elements(const void *tensor);

/* --- values -------------------------------------------------------------------------------- */

static inline struct sim_value sim_tensor_value(void *tensor)
{
    struct sim_value value = {{tensor}, SIM_TAG_TENSOR, 0};

    return value;
}

static inline struct sim_value sim_integer_value(int64_t integer)
{
    struct sim_value value = {{NULL}, SIM_TAG_INT, 0};

    value.integer = integer;
    return value;
}

static inline struct sim_value sim_bool_value(bool boolean)
{
    struct sim_value value = {{NULL}, sim_layout.tag_bool, 0};

    value.boolean = boolean;
    return value;
}

/* --- lists --------------------------------------------------------------------------------- */

static inline struct sim_values *sim_list(const struct sim_value *value)
{
    return (struct sim_values *)((char *)value->object + 8 + sim_layout.counts);
}

/* --- functions (torch.cc), which call PyTorch ------------------------------------------------ */

/* Look PyTorch's functions up. false: this release lacks one. */
bool sim_torch_functions(void);
/* Return the dispatcher's list of operators. */
void *sim_torch_operators(void);
/* Make a tensor of the host; NULL: no memory. The caller drops it. */
void *sim_torch_tensor(const int64_t *sizes, const int64_t *strides, size_t n, unsigned dtype);
/* Copy the elements of a host tensor to another one of the same shape. false: it cannot. */
bool sim_torch_copy(void *to, void *from);
/* Make a view whose elements are the negatives, or else the conjugates, of those in memory; make a
 * copy of a host tensor that has them in memory. NULL: it cannot. The caller drops both. */
void *sim_torch_lazy_view(void *tensor, bool negative);
void *sim_torch_lazy_copy(void *host, bool negative);
/* Look the next two up, which only sparse tensors need. false: this release lacks one. */
bool sim_torch_of_sparse(void);
/* Return the indices, or the values, of a sparse tensor. The caller drops them. */
void *sim_torch_indices(void *tensor);
void *sim_torch_values(void *tensor);
/* Call a kernel with room for `more` results. It consumes the arguments. false: it threw, and the
 * stack is empty. Free the stack by sim_torch_free. */
bool sim_torch_call(sim_boxed *kernel, void *functor, const struct sim_handle *handle,
                    uint64_t keys, struct sim_values *stack);
/* Give a stack memory for `n` values; it is empty. false: no memory. */
bool sim_torch_stack(struct sim_values *stack, size_t n);
/* Drop the values that are left, and the memory. */
void sim_torch_free(struct sim_values *stack);
/* Copy a list of tensors without its elements; room for them is there. NULL: no memory. */
void *sim_torch_list(const struct sim_value *list);
/* Return our own generator of the host's random numbers, one reference more. */
void *sim_torch_generator(void);
/* Let PyTorch's default generator of the host be ours, or its own again. */
void sim_torch_swap_generator(void);
/* Suspend the callbacks of profilers and the helper threads of the host's kernels on this thread,
 * and resume them. */
struct sim_pause {
    bool observed;
    int threads;
};
struct sim_pause sim_torch_pause(void);
void sim_torch_resume(struct sim_pause pause);

/* --- references ---------------------------------------------------------------------------- */

void sim_hold(void *object);
void sim_drop(void *object);
/* Return whether one reference is left. */
bool sim_is_alone(const void *object);
/* Drop what a value refers to. */
void sim_drop_value(struct sim_value *value);

/* Return whether a library of which the path has this name has the address. */
bool sim_in_library(const void *address, const char *name);

/* Measure the layout. false: this release is built differently. */
bool sim_measure_layout(void);

#ifdef __cplusplus
}
#endif
#endif
