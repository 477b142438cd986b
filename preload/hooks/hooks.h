/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every function that libmemtap.so replaces. The prototypes of the hooks, the pointers to PyTorch's
 * real functions (real.h) and the list of exported symbols (exports.map) are generated from this
 * table.
 *
 * H(name, symbol, library, result, parameters): mt_hook_name is our function under the dynamic
 * symbol; the real function is looked up in `library` first.
 *
 * C sees C++ functions through the Itanium ABI: `this` and references are pointers; an object with
 * a destructor is passed by the address of a temporary, and returned through a first argument.
 * c10::Device by value is 16 bits: index << 8 | type. Verified on the wheels of torch 2.0 to 2.15:
 * docs/evaluation/versions.md.
 */
#ifndef MT_PRELOAD_HOOKS_H
#define MT_PRELOAD_HOOKS_H

#ifndef MT_EXPORTS_MAP
#include <stddef.h>
#include <stdint.h>

/* c10::Device, as a struct: the upper bits of its register are undefined. */
struct mt_c10_device {
    uint8_t type, index;
};
#endif

#include "hooks-cuda.h"

#ifndef MT_EXPORTS_MAP
#include "pools.h"
#endif

/* clang-format off */
#define MT_TORCH_HOOKS(H)                                                                          \
    H(report_memory, "_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE",                      \
      "libc10.so", void,                                                                           \
      (void *block, int64_t size, size_t allocated, size_t reserved, struct mt_c10_device device)) \
    H(report_oom, "_ZN3c1027reportOutOfMemoryToProfilerElmmNS_6DeviceE",                           \
      "libc10.so", void,                                                                           \
      (int64_t size, size_t allocated, size_t reserved, struct mt_c10_device device))              \
    H(set_requires_grad, "_ZN3c1010TensorImpl17set_requires_gradEb",                               \
      "libc10.so", void,                                                                           \
      (void *impl, _Bool value))                                                                   \
    H(set_data, "_ZNK2at10TensorBase8set_dataERKS0_",                                              \
      "libtorch_cpu.so", void,                                                                     \
      (void *tensor, void *new_data))                                                              \
    H(saved_tensor, "_ZN5torch8autograd13SavedVariableC1ERKN2at6TensorEbb",                        \
      "libtorch_cpu.so", void,                                                                     \
      (void *saved, void *tensor, _Bool is_output, _Bool inplace_on_view))                         \
    H(leaf, "_ZN5torch8autograd14AccumulateGradC1EN2at6TensorE",                                   \
      "libtorch_cpu.so", void,                                                                     \
      (void *node, void *tensor))                                                                  \
    H(accumulate, "_ZN5torch8autograd14AccumulateGrad5applyEOSt6vectorIN2at6TensorESaIS4_EE",      \
      "libtorch_cpu.so", void *,                                                                   \
      (void *result, void *node, void *gradients))                                                 \
    H(mutable_grad, "_ZN3c1010TensorImpl12mutable_gradEv",                                         \
      "libc10.so", void *,                                                                         \
      (void *impl))                                                                                \
    H(node_new, "_ZN5torch8autograd4impl17set_gradient_edgeERKN2at6TensorENS0_4EdgeE",             \
      "libtorch_cpu.so", void,                                                                     \
      (void *tensor, void *edge))                                                                  \
    H(node_run, "_ZN5torch8autograd6Engine17evaluate_functionERSt10shared_ptrINS0_9GraphTaskEEPNS0_4NodeERNS0_11InputBufferERKS2_INS0_10ReadyQueueEE",                          \
      "libtorch_cpu.so", void,                                                                     \
      (void *engine, void *task, void *node, void *inputs, void *queue))
/* Functions that end a process without its destructors (kill: Python kills itself after Ctrl-C),
 * and the one that calls main. */
#define MT_PROCESS_HOOKS(H)                                                                        \
    H(start_main, "__libc_start_main", "libc.so.6", int,                                           \
      (int (*main_)(int, char **, char **), int argc, char **argv, void (*init)(void),             \
       void (*fini)(void), void (*loader_fini)(void), void *stack_end))                            \
    H(exit, "_exit", "libc.so.6", void, (int status))                                              \
    H(exit_c99, "_Exit", "libc.so.6", void, (int status))                                          \
    H(abort, "abort", "libc.so.6", void, (void))                                                   \
    H(kill, "kill", "libc.so.6", int, (int process, int number))
/* Functions that execute another program; daemon, which forks within the C library and ends the
 * parent; and exits that run the program's functions. */
#define MT_EXEC_HOOKS(H)                                                                           \
    H(execve, "execve", "libc.so.6", int,                                                          \
      (const char *path, char *const *arguments, char *const *environment))                        \
    H(execv, "execv", "libc.so.6", int, (const char *path, char *const *arguments))                \
    H(execvp, "execvp", "libc.so.6", int, (const char *file, char *const *arguments))              \
    H(execvpe, "execvpe", "libc.so.6", int,                                                        \
      (const char *file, char *const *arguments, char *const *environment))                        \
    H(fexecve, "fexecve", "libc.so.6", int,                                                        \
      (int file, char *const *arguments, char *const *environment))                                \
    H(execl, "execl", "libc.so.6", int, (const char *path, const char *first, ...))                \
    H(execlp, "execlp", "libc.so.6", int, (const char *file, const char *first, ...))              \
    H(execle, "execle", "libc.so.6", int, (const char *path, const char *first, ...))              \
    H(daemon, "daemon", "libc.so.6", int, (int keeps_directory, int keeps_output))                 \
    H(quick_exit, "quick_exit", "libc.so.6", void, (int status))
/* Calls by which a program limits itself. */
#define MT_LIMIT_HOOKS(H)                                                                          \
    H(prctl, "prctl", "libc.so.6", int,                                                            \
      (int option, unsigned long a, unsigned long b, unsigned long c, unsigned long d))            \
    H(seccomp_load, "seccomp_load", "libseccomp.so.2", int, (const void *filter))                  \
    H(unshare, "unshare", "libc.so.6", int, (int flags))                                           \
    H(setns, "setns", "libc.so.6", int, (int fd, int type))
/* Look-ups of functions by name. */
#define MT_LOOKUP_HOOKS(H)                                                                         \
    H(dlsym, "dlsym", "libc.so.6", void *, (void *handle, const char *symbol))
/* Calls by which programs name their ranges: those of memtap.h and of NVTX's header
 * (hooks-ranges.c). */
#define MT_RANGE_HOOKS(H)                                                                          \
    H(range_push, "memtap_range_push", NULL, void, (const char *name))                             \
    H(range_pop, "memtap_range_pop", NULL, void, (void))                                           \
    H(mark, "memtap_mark", NULL, void, (const char *name))                                         \
    H(name, "memtap_name", NULL, void, (const void *address, const char *name))                    \
    H(begin, "memtap_start", NULL, void, (void))                                                   \
    H(begin_for, "memtap_start_for", NULL, void, (unsigned seconds, unsigned iterations))          \
    H(rest, "memtap_stop", NULL, void, (void))                                                     \
    H(sample, "memtap_sample", NULL, void, (void))                                                 \
    H(holders, "memtap_holders", NULL, void, (void))                                               \
    H(trace, "memtap_trace", NULL, size_t, (char *path, size_t size))                              \
    H(nvtx, "InitializeInjectionNvtx2", NULL, int, (const void *(*export_table)(uint32_t table)))
/* The driver's entry to a tool (CUDA_INJECTION64_PATH), and the calls that CUPTI's clients begin
 * with. */
#define MT_CUPTI_HOOKS(H)                                                                          \
    H(injection, "InitializeInjection", NULL, int, (void))                                         \
    H(cupti_subscribe, "cuptiSubscribe", "libcupti.so.13", int,                                    \
      (void **subscriber, void *callback, void *data))                                             \
    H(cupti_subscribe_v2, "cuptiSubscribe_v2", "libcupti.so.13", int,                              \
      (void **subscriber, void *callback, void *data, void *parameters))                           \
    H(cupti_activities, "cuptiActivityRegisterCallbacks", "libcupti.so.13", int,                   \
      (void *buffer_requested, void *buffer_completed))                                            \
    H(cupti_activity, "cuptiActivityEnable", "libcupti.so.13", int, (int kind))
/* clang-format on */

/* Calls that pass workspaces to libraries. library is the newest of several names. */
/* clang-format off */
#define MT_MATH_HOOKS(H)                                                                           \
    H(cublas_workspace, "cublasSetWorkspace_v2", "libcublas.so.13", int,                           \
      (void *handle, void *workspace, size_t size))                                                \
    H(cublaslt_matmul, "cublasLtMatmul", "libcublasLt.so.13", int,                                 \
      (void *handle, void *operation, const void *alpha, const void *a, void *layout_a,            \
       const void *b, void *layout_b, const void *beta, const void *c, void *layout_c, void *d,    \
       void *layout_d, const void *algorithm, void *workspace, size_t size, void *stream))         \
    H(cudnn_attribute, "cudnnBackendSetAttribute", "libcudnn.so.9", int,                           \
      (void *descriptor, int name, int type, int64_t count, const void *values))
/* clang-format on */

/* Calls that create and end NCCL's communicators. They may be created in a group, whose end
 * allocates their memory. ncclCommFinalize keeps it, ncclCommDestroy frees it. */
#ifndef MT_EXPORTS_MAP
struct mt_nccl_id {
    char bytes[128];
};
#endif
/* clang-format off */
#define MT_NCCL_HOOKS(H)                                                                           \
    H(nccl_init, "ncclCommInitRank", "libnccl.so.2", int,                                          \
      (void **comm, int size, struct mt_nccl_id id, int rank))                                     \
    H(nccl_init_config, "ncclCommInitRankConfig", "libnccl.so.2", int,                             \
      (void **comm, int size, struct mt_nccl_id id, int rank, void *config))                       \
    H(nccl_init_scalable, "ncclCommInitRankScalable", "libnccl.so.2", int,                         \
      (void **comm, int size, int rank, int n, struct mt_nccl_id *ids, void *config))              \
    H(nccl_init_all, "ncclCommInitAll", "libnccl.so.2", int,                                       \
      (void **comms, int n, const int *devices))                                                   \
    H(nccl_split, "ncclCommSplit", "libnccl.so.2", int,                                            \
      (void *whole, int color, int key, void **comm, void *config))                                \
    H(nccl_shrink, "ncclCommShrink", "libnccl.so.2", int,                                          \
      (void *whole, int *left_out, int n, void **comm, void *config, int flags))                   \
    H(nccl_destroy, "ncclCommDestroy", "libnccl.so.2", int, (void *comm))                          \
    H(nccl_abort, "ncclCommAbort", "libnccl.so.2", int, (void *comm))
/* clang-format on */

/* The calls of Python's record_function, which optimizers use around each step; one form per
 * release. */
/* clang-format off */
#define MT_STEP_HOOKS(H)                                                                           \
    H(record_enter, "_ZN5torch8autograd8profiler25record_function_enter_newERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEERKSt8optionalIS7_E", \
      "libtorch_cpu.so", void *, (void *result, const void *name, const void *arguments))          \
    H(record_enter_old_string, "_ZN5torch8autograd8profiler25record_function_enter_newERKSsRKSt8optionalISsE", \
      "libtorch_cpu.so", void *, (void *result, const void *name, const void *arguments))          \
    H(record_enter_old, "_ZN5torch8autograd8profiler25record_function_enter_newERKSsRKN3c108optionalISsEE", \
      "libtorch_cpu.so", void *, (void *result, const void *name, const void *arguments))
/* clang-format on */

/* What the simulated device reports about values that it does not simulate. */
/* clang-format off */
#define MT_VALUE_HOOKS(H)                                                                          \
    H(unknown_value, "sim_unknown_value", "libcudasim.so", void, (int what, const char *name))
/* clang-format on */

/* The call that replaces a storage's memory. */
/* clang-format off */
#define MT_STORAGE_HOOKS(H)                                                                        \
    H(resize_storage, "_ZN2at6native17resize_bytes_cudaEPN3c1011StorageImplEm",                    \
      "libtorch_cuda.so", void, (void *storage, size_t size))
/* clang-format on */

/* The calls by which PyTorch's allocator of page-locked memory becomes known: since 2.8, and
 * before.
 */
/* clang-format off */
#define MT_PINNED_HOOKS(H)                                                                         \
    H(set_host_allocator, "_ZN2at16setHostAllocatorEN3c1010DeviceTypeEPNS_13HostAllocatorEh",      \
      "libtorch_cpu.so", void, (int8_t device_type, void *allocator, uint8_t priority))            \
    H(host_allocator, "_ZN2at4cuda23getCachingHostAllocatorEv", "libtorch_cuda.so", void *, (void))
/* clang-format on */

/* Private pools of the allocator (pools.h); each release has one of two names. */
/* clang-format off */
#define MT_POOL_HOOKS(H)                                                                           \
    H(pool_id, "_ZN2at4cuda7MemPool2idEv", "libtorch_cuda.so", struct mt_pool_id, (void *pool))     \
    H(pool_id_c10, "_ZN3c104cuda7MemPool2idEv", "libc10_cuda.so", struct mt_pool_id,               \
      (void *pool))                                                                                \
    H(graph_pool, "_ZN2at4cuda7MemPool17graph_pool_handleEb", "libtorch_cuda.so",                  \
      struct mt_pool_id, (_Bool is_users))                                                         \
    H(graph_pool_c10, "_ZN3c104cuda7MemPool17graph_pool_handleEb", "libc10_cuda.so",               \
      struct mt_pool_id, (_Bool is_users))                                                         \
    H(graph_begin, "_ZN2at4cuda9CUDAGraph13capture_beginESt4pairIyyE21cudaStreamCaptureMode",      \
      "libtorch_cuda.so", void, (void *graph, struct mt_pool_id pool, unsigned mode))
/* clang-format on */

/* The calls that change the allocator's settings while a program runs; one form per release. */
/* clang-format off */
#define MT_CONF_HOOKS(H)                                                                           \
    H(set_conf, "_ZN3c1016CachingAllocator26AcceleratorAllocatorConfig9parseArgsERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE", \
      "libc10.so", void, (void *config, const void *conf))                                         \
    H(set_conf_old, "_ZN3c104cuda20CUDACachingAllocator20setAllocatorSettingsERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE", \
      "libc10_cuda.so", void, (const void *conf))                                                  \
    H(set_conf_old_string, "_ZN3c104cuda20CUDACachingAllocator20setAllocatorSettingsERKSs",        \
      "libc10_cuda.so", void, (const void *conf))
/* clang-format on */

/* Calls that unload code, and calls after which memtap run cannot see what a process records: code
 * in a namespace of its own, whose calls are not hooked, and another root. */
#define MT_LOADER_HOOKS(H)                                                                         \
    H(dlclose, "dlclose", "libc.so.6", int, (void *library))                                       \
    H(dlmopen, "dlmopen", "libc.so.6", void *, (long space, const char *file, int flags))          \
    H(chroot, "chroot", "libc.so.6", int, (const char *path))

/* clang-format off */
#define MT_HOOKS(H)                                                                                \
    MT_TORCH_HOOKS(H) MT_CUDART_HOOKS(H) MT_PROCESS_HOOKS(H) MT_EXEC_HOOKS(H) MT_LIMIT_HOOKS(H)    \
    MT_LOOKUP_HOOKS(H) MT_RANGE_HOOKS(H) MT_LOADER_HOOKS(H) MT_CUPTI_HOOKS(H)                      \
    MT_MATH_HOOKS(H) MT_NCCL_HOOKS(H) MT_STEP_HOOKS(H) MT_POOL_HOOKS(H) MT_STORAGE_HOOKS(H)        \
    MT_CONF_HOOKS(H) MT_VALUE_HOOKS(H) MT_PINNED_HOOKS(H)
/* clang-format on */

#ifndef MT_EXPORTS_MAP
#ifdef MT_PROTECT_HOOKS /* where the linker has no -Bsymbolic-functions */
#define MT_HOOK_VISIBILITY "protected"
#define MT_GLOBAL(symbol) ".globl " symbol "\n.protected " symbol "\n"
#else
#define MT_HOOK_VISIBILITY "default"
#define MT_GLOBAL(symbol) ".globl " symbol "\n"
#endif
#define MT_DECLARE_HOOK(name, symbol, library, result, parameters)                                 \
    __attribute__((visibility(MT_HOOK_VISIBILITY))) result mt_hook_##name parameters __asm__(      \
        symbol);
MT_HOOKS(MT_DECLARE_HOOK)
#undef MT_DECLARE_HOOK
#define MT_DECLARE_HOOK(name, base, symbol, since, until, parameters)                              \
    __attribute__((visibility(MT_HOOK_VISIBILITY))) unsigned mt_hook_##name parameters __asm__(    \
        symbol);
MT_DRIVER_HOOKS(MT_DECLARE_HOOK)
#undef MT_DECLARE_HOOK
#endif

#endif
