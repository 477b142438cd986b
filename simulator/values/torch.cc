// SPDX-License-Identifier: Apache-2.0
// The calls of PyTorch that need C++: results by value, exceptions, and its allocator's memory.
#include "torch.h"

#include "choose.h"

#include <dlfcn.h>

#include <new>

namespace {

// at::Tensor and at::Generator: one counted pointer, returned as C++ returns classes.
struct Counted {
    void *object;
    explicit Counted(void *given) : object(given) {}
    Counted(const Counted &) = delete;
    ~Counted() {}
};

struct Integers {
    const int64_t *data;
    size_t size;
};

struct {
    void *(*dispatcher)();
    Counted (*empty)(Integers sizes, Integers strides, int8_t dtype, bool pinned);
    void *(*copy)(void **to, void *const *from, bool beside);
    Counted (*make_generator)(uint64_t seed);
    void **(*default_generator)();
    bool (*has_callbacks)();
    int (*threads)();
    void (*set_threads)(int threads);
    bool (*observed)();
    void (*observe)(bool wanted);
    Counted (*conj)(void *const *tensor);
    Counted (*neg_view)(void *const *tensor);
    Counted (*conj_physical)(void *const *tensor);
    Counted (*neg)(void *const *tensor);
    Counted (*indices)(void *const *sparse);
    Counted (*values)(void *const *sparse);
} torch;

template <class Function> bool look_up(void *library, Function &function, const char *name)
{
    function = reinterpret_cast<Function>(dlsym(library, name));
    return function != nullptr;
}

void *own_generator;

} // namespace

bool sim_torch_functions(void)
{
    void *library = dlopen("libtorch_cpu.so", RTLD_NOLOAD | RTLD_LAZY);
    void *base = dlopen("libc10.so", RTLD_NOLOAD | RTLD_LAZY);

    if (!library || !base)
        return false;
    sim_layout.undefined = dlsym(base, "_ZN3c1019UndefinedTensorImpl10_singletonE");
    return sim_layout.undefined &&
           look_up(library, torch.dispatcher, "_ZN3c1010Dispatcher13realSingletonEv") &&
           look_up(library, torch.empty,
                   "_ZN2at6detail17empty_strided_cpuEN3c108ArrayRefIlEES3_NS1_10ScalarTypeEb") &&
           look_up(library, torch.copy, "_ZN2at4_ops5copy_4callERNS_6TensorERKS2_b") &&
           look_up(library, torch.make_generator, "_ZN2at6detail18createCPUGeneratorEm") &&
           look_up(library, torch.default_generator, "_ZN2at6detail22getDefaultCPUGeneratorEv") &&
           look_up(library, torch.threads, "omp_get_max_threads") &&
           look_up(library, torch.set_threads, "omp_set_num_threads") &&
           look_up(library, torch.has_callbacks, "_ZN2at12hasCallbacksEv") &&
           look_up(library, torch.observed, "_ZN2at23isRecordFunctionEnabledEv") &&
           look_up(library, torch.conj, "_ZN2at4_ops5_conj4callERKNS_6TensorE") &&
           look_up(library, torch.neg_view, "_ZN2at4_ops9_neg_view4callERKNS_6TensorE") &&
           look_up(library, torch.conj_physical,
                   "_ZN2at4_ops13conj_physical4callERKNS_6TensorE") &&
           look_up(library, torch.neg, "_ZN2at4_ops3neg4callERKNS_6TensorE") &&
           look_up(library, torch.observe, "_ZN2at20enableRecordFunctionEb");
}

void *sim_torch_operators(void)
{
    return torch.dispatcher();
}

void *sim_torch_tensor(const int64_t *sizes, const int64_t *strides, size_t n, unsigned dtype)
{
    try {
        return torch.empty({sizes, n}, {strides, n}, static_cast<int8_t>(dtype), false).object;
    } catch (...) {
        return nullptr;
    }
}

bool sim_torch_copy(void *to, void *from)
{
    try {
        torch.copy(&to, &from, false);
        return true;
    } catch (...) {
        return false;
    }
}

void *sim_torch_lazy_view(void *tensor, bool negative)
{
    return (negative ? torch.neg_view(&tensor) : torch.conj(&tensor)).object;
}

void *sim_torch_lazy_copy(void *host, bool negative)
{
    struct sim_pause paused = sim_torch_pause();
    void *made = nullptr;

    try {
        made = (negative ? torch.neg(&host) : torch.conj_physical(&host)).object;
    } catch (...) {
        made = nullptr;
    }
    sim_torch_resume(paused);
    return made;
}

bool sim_torch_of_sparse(void)
{
    void *library = dlopen("libtorch_cpu.so", RTLD_NOLOAD | RTLD_LAZY);

    return library &&
           look_up(library, torch.indices, "_ZN2at4_ops8_indices4callERKNS_6TensorE") &&
           look_up(library, torch.values, "_ZN2at4_ops7_values4callERKNS_6TensorE");
}

void *sim_torch_indices(void *tensor)
{
    return torch.indices(&tensor).object;
}

void *sim_torch_values(void *tensor)
{
    return torch.values(&tensor).object;
}

bool sim_torch_call(sim_boxed *kernel, void *functor, const struct sim_handle *handle,
                    uint64_t keys, struct sim_values *stack)
{
    try {
        kernel(functor, handle, keys, stack);
        return true;
    } catch (...) {
        return false;
    }
}

bool sim_torch_stack(struct sim_values *stack, size_t n)
{
    auto *values =
        static_cast<sim_value *>(::operator new(n * sizeof(struct sim_value), std::nothrow));

    *stack = {values, values, values + n};
    return values != nullptr;
}

void sim_torch_free(struct sim_values *stack)
{
    for (struct sim_value *value = stack->begin; value != stack->end; value++)
        sim_drop_value(value);
    ::operator delete(stack->begin);
}

namespace {

// What libstdc++ counts a std::shared_ptr's owners by. PyTorch is compiled with it, whatever we are compiled with.
struct Owners {
    void *class_of_it;
    int strong, weak;
};

// c10::detail::ListImpl from behind its reference counts on.
struct ListBody {
    struct sim_values elements;
    void *type; // a std::shared_ptr, also of types that are not counted: their owners are NULL
    Owners *owners;
};

} // namespace

void *sim_torch_list(const struct sim_value *list)
{
    const size_t head = 8 + sim_layout.counts;
    auto *from = static_cast<char *>(list->object);
    auto *body = reinterpret_cast<ListBody *>(from + head);
    auto *made = static_cast<char *>(::operator new(head + sizeof(ListBody), std::nothrow));
    struct sim_values elements;
    size_t n = static_cast<size_t>(body->elements.end - body->elements.begin);

    if (!made || !sim_torch_stack(&elements, n ? n : 1)) {
        ::operator delete(made);
        return nullptr;
    }
    *reinterpret_cast<void **>(made) = *reinterpret_cast<void **>(from); // the class
    if (sim_layout.counts == 16) {
        reinterpret_cast<uint64_t *>(made)[1] = reinterpret_cast<uint64_t *>(made)[2] = 1;
    } else {
        reinterpret_cast<uint32_t *>(made)[2] = reinterpret_cast<uint32_t *>(made)[3] = 1;
    }
    *reinterpret_cast<ListBody *>(made + head) = {elements, body->type, body->owners};
    if (body->owners)
        __atomic_add_fetch(&body->owners->strong, 1, __ATOMIC_RELAXED);
    return made;
}

void *sim_torch_generator(void)
{
    if (!own_generator)
        own_generator = torch.make_generator(67280421310721 + sim_seed()).object;
    sim_hold(own_generator);
    return own_generator;
}

void sim_torch_swap_generator(void)
{
    void **place = torch.default_generator();
    void *present = *place;

    if (!own_generator)
        own_generator = torch.make_generator(67280421310721 + sim_seed()).object;
    *place = own_generator;
    own_generator = present;
}

struct sim_pause sim_torch_pause(void)
{
    struct sim_pause pause = {torch.has_callbacks() && torch.observed(), torch.threads()};

    if (pause.observed)
        torch.observe(false);
    if (pause.threads > 1)
        torch.set_threads(1);
    return pause;
}

void sim_torch_resume(struct sim_pause pause)
{
    if (pause.threads > 1)
        torch.set_threads(pause.threads);
    if (pause.observed)
        torch.observe(true);
}
