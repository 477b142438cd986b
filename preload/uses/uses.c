/* SPDX-License-Identifier: Apache-2.0 */
#include "uses.h"
#include "filled.h"
#include "preload/host/memory.h"
#include "preload/host/no-signals.h"
#include "preload/host/safe-read.h"
#include "preload/host/settings.h"
#include "preload/loader/find-real.h"
#include "preload/modules/read-objects.h"
#include "preload/record/intern.h"
#include "preload/record/recorder.h"
#include "preload/stacks/native-stack.h"
#include "trace-format/settings/table.h"

#include <stdlib.h>
#include <string.h>

#define PAGE_BITS 21
#define PAGES ((uint64_t)1 << 26) /* of 47 bits of addresses */
#define PAGES_SIZE (PAGES / 8)

MT_HOT _Atomic(uint64_t) *mt_used_pages;

/* The layout of a kernel's parameters. Write-once. */
struct layout {
    _Atomic uint64_t function; /* 0: free */
    uint32_t generation, name;
    uint32_t first; /* in sizes */
    uint16_t n;
    bool is_known;
    bool is_partial; /* the kernel also works on memory that its parameters do not name */
    struct mt_filled filled;
};

#define LAYOUTS ((uint32_t)1 << 14)
#define SIZES ((uint32_t)1 << 20)
#define MOST_PROBES 64u
#define MOST_PARAMETERS 4096u
#define MOST_SCANNED 65536u /* bytes of a copy that may have addresses in it */

static struct {
    struct layout *layout;
    uint16_t *size; /* of parameters, in bytes */
    uint32_t n_sizes;
    _Atomic uint32_t generation;
    _Atomic uint32_t captures;
    _Atomic bool has_made_graphs, has_captured;
} uses;

bool mt_uses_are_wanted(void)
{
    if (mt_uses_are_on())
        return true;
    const char *value = getenv(mt_setting_table[MT_ID_uses].variable);
    return value && !strcmp(value, "1");
}

int mt_uses_start(void)
{
    if (!mt_settings.has_uses)
        return 0;
    uses.layout = mt_map(LAYOUTS * sizeof *uses.layout);
    uses.size = mt_map(SIZES * sizeof *uses.size);
    mt_used_pages = uses.layout && uses.size ? mt_map(PAGES_SIZE) : NULL;
    return mt_used_pages ? 0 : -ENOMEM;
}

void mt_uses_reset(void)
{
    mt_unmap(uses.layout, LAYOUTS * sizeof *uses.layout);
    mt_unmap(uses.size, SIZES * sizeof *uses.size);
    mt_unmap((void *)mt_used_pages, PAGES_SIZE);
    mt_used_pages = NULL;
    memset(&uses, 0, sizeof uses);
}

void mt_uses_note(uint64_t address, uint64_t size)
{
    uint64_t page = address >> PAGE_BITS, last = (address + size - !!size) >> PAGE_BITS;
    for (; mt_used_pages && address && page <= last && page < PAGES; page++)
        atomic_fetch_or_explicit(&mt_used_pages[page / 64], UINT64_C(1) << page % 64,
                                 memory_order_relaxed);
}

static inline bool is_of_cuda(uint64_t word)
{
    uint64_t page = word >> PAGE_BITS;
    return page < PAGES &&
           atomic_load_explicit(&mt_used_pages[page / 64], memory_order_relaxed) >> page % 64 & 1;
}

/* --- layouts of kernels ------------------------------------------------------------------------
 */

typedef unsigned parameter_info(void *function, size_t index, size_t *offset, size_t *size);
typedef unsigned name_of(const char **name, void *function);

/* The driver's functions, of CUDA 12.4 and newer; a kernel that belongs to no context has its own.
 */
static void *driver(const char *name, void *_Atomic *known)
{
    static char none;
    void *found = atomic_load_explicit(known, memory_order_acquire);
    if (!found) {
        found = mt_find_real(name, "libcuda.so.1");
        atomic_store_explicit(known, found ? found : &none, memory_order_release);
    }
    return found == &none ? NULL : found;
}

#define DRIVER(type, name)                                                                         \
    ({                                                                                             \
        static void *_Atomic known_;                                                               \
        (type *)driver(name, &known_);                                                             \
    })

/* Read a kernel's layout to the end of sizes. Return the number of parameters; -1: unknown. */
static int read_sizes(void *function, parameter_info *info)
{
    size_t offset, size;
    unsigned n = 0;
    if (!info)
        return -1;
    while (n < MOST_PARAMETERS && uses.n_sizes + n < SIZES && !info(function, n, &offset, &size))
        uses.size[uses.n_sizes + n++] = (uint16_t)(size < UINT16_MAX ? size : UINT16_MAX);
    return n ? (int)n : -1;
}

static const char *find_name(void *function)
{
    const char *name = NULL;
    name_of *of_function = DRIVER(name_of, "cuFuncGetName");
    name_of *of_kernel = DRIVER(name_of, "cuKernelGetName");
    if (of_function && !of_function(&name, function) && name)
        return name;
    name = NULL;
    return of_kernel && !of_kernel(&name, function) ? name : NULL;
}

/* NCCL's kernels read in memory which buffers they work on. */
static bool reads_buffers(const char *name)
{
    return name && (strstr(name, "ncclDevKernel_") || strstr(name, "ncclKernel_"));
}

static uint32_t intern(const char *name)
{
    uint32_t id = 0;
    if (name && mt_intern_lock()) {
        id = mt_intern_string(name, strlen(name));
        mt_intern_unlock();
    }
    return id;
}

static uint32_t hash(const void *function)
{
    return (uint32_t)((uint64_t)(uintptr_t)function * UINT64_C(0x9e3779b97f4a7c15) >> 40);
}

/* Return a kernel's layout, or where it is to be; NULL: there is no room. */
static struct layout *find_layout(const void *function, uint32_t generation)
{
    for (uint32_t i = 0, at = hash(function); i < MOST_PROBES; i++, at++) {
        struct layout *layout = &uses.layout[at % LAYOUTS];
        uint64_t known = atomic_load_explicit(&layout->function, memory_order_acquire);
        if (!known || (known == (uint64_t)(uintptr_t)function && layout->generation == generation))
            return layout;
    }
    return NULL;
}

static void fill_layout(struct layout *layout, void *function, uint32_t generation)
{
    const char *name = find_name(function);
    int n = read_sizes(function, DRIVER(parameter_info, "cuFuncGetParamInfo"));
    if (n < 0)
        n = read_sizes(function, DRIVER(parameter_info, "cuKernelGetParamInfo"));
    layout->generation = generation;
    layout->name = intern(name);
    layout->is_known = n >= 0;
    layout->is_partial = reads_buffers(name);
    layout->filled = mt_filled_of(name);
    layout->n = (uint16_t)(n > 0 ? n : 0);
    layout->first = uses.n_sizes;
    uses.n_sizes += layout->n;
    atomic_store_explicit(&layout->function, (uint64_t)(uintptr_t)function, memory_order_release);
}

static __attribute__((noinline, cold)) void add_layout(void *function, uint32_t generation)
{
    static atomic_flag is_adding = ATOMIC_FLAG_INIT;
    MT_UNINTERRUPTED();
    int saved = errno;
    while (atomic_flag_test_and_set_explicit(&is_adding, memory_order_acquire))
        mt_clock_pause(1);
    struct layout *layout = find_layout(function, generation);
    if (layout && !layout->function)
        fill_layout(layout, function, generation);
    atomic_flag_clear_explicit(&is_adding, memory_order_release);
    errno = saved;
}

/* Return a kernel's layout, read from the driver once; NULL: there is no room for it. */
static const struct layout *layout_of(void *function)
{
    uint32_t generation = atomic_load_explicit(&uses.generation, memory_order_acquire);
    const struct layout *layout = find_layout(function, generation);
    if (MT_UNLIKELY(layout && !layout->function)) {
        add_layout(function, generation);
        layout = find_layout(function, generation);
    }
    return layout && layout->function ? layout : NULL;
}

void mt_uses_forget_kernels(void)
{
    if (mt_uses_are_on())
        atomic_fetch_add(&uses.generation, 1);
}

/* --- events ------------------------------------------------------------------------------------
 */

/* What the uses of one call have in common. */
struct call {
    struct mt_thread *self;
    uint32_t stack, name;
    uint64_t how;
    uint64_t last; /* address, recorded already */
};

static bool begin(struct call *call, uint32_t name, uint64_t how)
{
    struct mt_thread *self = mt_enter();
    if (!self)
        return false;
    uint32_t stack = mt_thread_stack(self);
    mt_read_objects(self);
    how |= atomic_load_explicit(&uses.captures, memory_order_relaxed) ? MT_USE_CAPTURED : 0;
    *call = (struct call){self, stack, name, how, 0};
    return true;
}

static inline void use(struct call *call, uint64_t address)
{
    if (address == call->last || !is_of_cuda(address))
        return;
    call->last = address;
    mt_record(call->self, MT_USE, MT_NO_DEVICE, call->stack,
              MT_ARGS(address, call->name, call->how));
}

static void use_words(struct call *call, const void *parameter, size_t size)
{
    const char *at = parameter;
    uint64_t word;
    for (; size >= sizeof word; at += sizeof word, size -= sizeof word) {
        memcpy(&word, at, sizeof word);
        use(call, word);
    }
}

static void record_other(uint32_t name, uint64_t how)
{
    struct call call;
    if (!begin(&call, name, how))
        return;
    mt_record(call.self, MT_USE, MT_NO_DEVICE, call.stack, MT_ARGS(0, name, call.how));
    mt_leave(call.self);
}

/* Find the buffer of parameters. */
static const void *buffer_of(void **extra, size_t *size)
{
    const void *buffer = NULL;
    *size = 0;
    for (; extra && extra[0]; extra += 2)
        if ((uintptr_t)extra[0] == 1) /* CU_LAUNCH_PARAM_BUFFER_POINTER */
            buffer = extra[1];
        else if ((uintptr_t)extra[0] == 2) /* CU_LAUNCH_PARAM_BUFFER_SIZE */
            memcpy(size, extra[1], sizeof *size);
    return buffer;
}

static void use_parameter(struct call *call, const struct layout *layout, unsigned i,
                          const char *parameter, const unsigned grid[3])
{
    size_t size = uses.size[layout->first + i], stride;
    unsigned rows;
    uint32_t n = layout->filled.rows && layout->filled.parameter == i && grid
                     ? mt_filled_count(&layout->filled, parameter, size, grid, &rows, &stride)
                     : 0;
    if (!n)
        use_words(call, parameter, size);
    for (unsigned row = 0; n && row < rows; row++)
        use_words(call, parameter + row * stride, n * sizeof(uint64_t));
}

void mt_uses_launch(void *function, void **parameters, void **extra, const unsigned grid[3])
{
    size_t size;
    struct call call;
    if (!mt_is_recording())
        return;
    const struct layout *layout = layout_of(function);
    const void *buffer = parameters ? NULL : buffer_of(extra, &size);
    uint32_t name = layout ? layout->name : 0;
    bool has_no_layout = !buffer && parameters && (!layout || !layout->is_known);
    if (has_no_layout || (layout && layout->is_partial))
        record_other(name, MT_USE_UNSEEN);
    if (has_no_layout)
        return;
    if (!begin(&call, name, 0))
        return;
    if (buffer)
        use_words(&call, buffer, size);
    for (unsigned i = 0; parameters && i < layout->n; i++)
        use_parameter(&call, layout, i, parameters[i], grid);
    mt_leave(call.self);
}

/* Record that addresses were put into CUDA's memory, where kernels may read them. Memory of the
 * device cannot be read. */
static void pass_words(struct call *call, uint64_t from, uint64_t size)
{
    char part[1024];
    call->how = MT_USE_PASSED;
    call->last = 0;
    for (uint64_t n; size >= sizeof(uint64_t); from += n, size -= n) {
        n = size < sizeof part ? size : sizeof part;
        if (mt_safe_read((const void *)(uintptr_t)from, part, n))
            return;
        use_words(call, part, n);
    }
}

void mt_uses_copy(uint64_t to, uint64_t from, uint64_t size)
{
    struct call call;
    bool is_there = is_of_cuda(to), is_from = is_of_cuda(from);
    if (!mt_is_recording() || !(is_there || is_from) || !begin(&call, 0, 0))
        return;
    if (is_from)
        use(&call, from);
    call.how |= MT_USE_WRITES;
    call.last = 0;
    if (is_there)
        use(&call, to);
    if (is_there && from && size <= MOST_SCANNED)
        pass_words(&call, from, size);
    mt_leave(call.self);
}

void mt_uses_capture(bool is_on)
{
    atomic_fetch_add(&uses.captures, is_on ? 1u : (uint32_t)-1);
    atomic_store(&uses.has_captured, true);
}

void mt_uses_graph_made(void)
{
    atomic_store(&uses.has_made_graphs, true);
}

void mt_uses_graph_launch(void)
{
    bool is_made = atomic_load(&uses.has_made_graphs) || !atomic_load(&uses.has_captured);
    if (mt_is_recording())
        record_other(0, is_made ? MT_USE_UNSEEN : MT_USE_OF_GRAPH);
}

void mt_uses_unseen(const char *name)
{
    if (mt_is_recording())
        record_other(intern(name), MT_USE_UNSEEN);
}
