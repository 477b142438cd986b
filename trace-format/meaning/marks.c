/* SPDX-License-Identifier: Apache-2.0 */
#include "marks.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/*
 * file: a trailing / matches any file under that folder, else the end of the path. function: the
 * last part of the qualified name; a trailing * matches any end.
 *
 * PyTorch wraps the step of every subclass of Optimizer, users' own included, in the function
 * `wrapper` of torch/optim/optimizer.py: that frame marks a step, not the names of classes.
 */
#define ROW(file, function, marks) {file, function, sizeof(file) - 1, sizeof(function) - 1, marks}
static const struct row {
    const char *file, *function;
    uint8_t file_size, function_size; /* bytes */
    uint32_t marks;
} table[] = {
    ROW("torch/optim/optimizer.py", "wrapper", MT_MARK_OPTIMIZER),
    ROW("torch/optim/optimizer.py", "_use_grad", MT_MARK_OPTIMIZER),
    ROW("torch/optim/", "step", MT_MARK_OPTIMIZER),
    ROW("torch/optim/", "_init_group", MT_MARK_OPTIMIZER | MT_MARK_OPTIMIZER_INIT),
    ROW("torch/optim/", "__init__", MT_MARK_OPTIMIZER_INIT),
    ROW("torch/optim/", "_single_tensor_*", MT_MARK_OPTIMIZER),
    ROW("torch/optim/", "_multi_tensor_*", MT_MARK_OPTIMIZER),
    ROW("torch/optim/", "_fused_*", MT_MARK_OPTIMIZER),
    ROW("torch/nn/modules/module.py", "_call_impl", MT_MARK_MODULE_CALL),
    ROW("torch/nn/modules/module.py", "inner", MT_MARK_MODULE_CALL), /* with hooks */
    ROW("torch/utils/checkpoint.py", "recompute_fn", MT_MARK_MODULE_CALL),
    ROW("torch/utils/checkpoint.py", "backward", MT_MARK_MODULE_CALL),
    ROW("tensor_parallel/random.py", "backward", MT_MARK_MODULE_CALL), /* Megatron */
    ROW("tensor_parallel/random.py", "_recompute", MT_MARK_MODULE_CALL),
    ROW("activation_checkpointing/checkpointing.py", "backward",
        MT_MARK_MODULE_CALL),                                                     /* DeepSpeed */
    ROW("checkpoint/checkpoint_activations.py", "backward", MT_MARK_MODULE_CALL), /* FairScale */
    ROW("torch/nn/modules/module.py", "_apply", MT_MARK_MODULE_APPLY),
    ROW("torch/nn/modules/", "__init__", MT_MARK_MODULE_INIT),
    ROW("torch/nn/parameter.py", "__new__", MT_MARK_PARAMETER_NEW),
    ROW("torch/nn/parameter.py", "__deepcopy__", MT_MARK_MODULE_INIT),
    ROW("torch/autograd/__init__.py", "backward", MT_MARK_BACKWARD),
    ROW("torch/autograd/__init__.py", "grad", MT_MARK_BACKWARD),
    ROW("torch/autograd/function.py", "apply", MT_MARK_CUSTOM_BACKWARD),
    ROW("torch/autograd/function.py", "apply_boxed", MT_MARK_CUSTOM_BACKWARD),
    ROW("torch/autograd/__init__.py", "_make_grads", MT_MARK_FIRST_GRADIENT),
    ROW("/copy.py", "_reconstruct", MT_MARK_COPY_OBJECT),
    ROW("/copy.py", "_deepcopy_dict", MT_MARK_COPY_DICT),
    ROW("torch/_tensor.py", "__deepcopy__", MT_MARK_COPY_TENSOR),
    ROW("torch/distributed/fsdp/", "__init__", MT_MARK_MODULE_INIT),
    ROW("torch/distributed/fsdp/", "_init_*", MT_MARK_MODULE_INIT),
    ROW("torch/distributed/fsdp/", "alloc_*", MT_MARK_GATHER),
    ROW("torch/distributed/fsdp/", "init_all_gather_outputs", MT_MARK_GATHER),
    ROW("torch/distributed/fsdp/", "_alloc_padded_unsharded_flat_param", MT_MARK_GATHER),
    ROW("torch/distributed/fsdp/", "_use_low_precision_shard", MT_MARK_GATHER),
    ROW("deepspeed/runtime/zero/stage_1_and_2.py", "__init__",
        MT_MARK_ZERO_PARAMETERS | MT_MARK_ZERO_MASTERS),
    ROW("deepspeed/runtime/zero/stage_1_and_2.py", "step", MT_MARK_ZERO_GRADIENTS),
    ROW("deepspeed/runtime/zero/stage3.py", "_create_*", MT_MARK_ZERO_PARAMETERS),
    ROW("deepspeed/runtime/zero/stage3.py", "_create_fp32_partitions", MT_MARK_ZERO_MASTERS),
    ROW("deepspeed/runtime/zero/stage3.py", "_setup_for_real_optimizer", MT_MARK_ZERO_GRADIENTS),
    ROW("deepspeed/runtime/zero/stage3.py", "_prepare_fp32_grad_for_sub_group",
        MT_MARK_ZERO_GRADIENTS),
    ROW("torch/nn/parallel/distributed.py", "*", MT_MARK_COMMUNICATION | MT_MARK_BUCKETS),
    ROW("torch/distributed/", "*", MT_MARK_COMMUNICATION),
    ROW("pytorch_optimizer/", "init_group", MT_MARK_OPTIMIZER_INIT),
    ROW("accelerate/utils/operations.py", "*", MT_MARK_FRAMEWORK), /* around a model's forward */
    ROW("megatron/core/utils.py", "get_tensor", MT_MARK_SCRATCH),
    ROW("vllm/distributed/device_communicators/", "*", MT_MARK_COMMUNICATION),
    ROW("vllm/distributed/parallel_state.py", "*", MT_MARK_COMMUNICATION),
    ROW("vllm/v1/worker/workspace.py", "*", MT_MARK_SCRATCH),
    ROW("vllm/v1/attention/backends/", "_get_workspace_buffer", MT_MARK_SCRATCH),
    ROW("vllm/v1/attention/backends/", "_get_trtllm_workspace_buffer", MT_MARK_SCRATCH),
    ROW("vllm/v1/sample/ops/topk_topp_triton.py", "_apply_topp_split", MT_MARK_SCRATCH),
    ROW("vllm/v1/sample/ops/topk_topp_triton.py", "apply_top_k_top_p_triton", MT_MARK_SCRATCH),
    ROW("torch/_inductor/runtime/benchmarking.py", "*", MT_MARK_SCRATCH), /* to clear caches */
    ROW("triton/testing.py", "do_bench*", MT_MARK_SCRATCH),
    ROW("triton/backends/nvidia/driver.py", "get_empty_cache_for_benchmark", MT_MARK_SCRATCH),
    ROW("vllm/v1/worker/", "__init__", MT_MARK_SERVER),
    ROW("vllm/v1/worker/", "initialize_kv_cache", MT_MARK_SERVER), /* and its block tables */
    ROW("vllm/v1/worker/gpu/sample/sampler.py", "__call__",
        MT_MARK_MODULE_CALL), /* not an nn.Module */
    ROW("vllm/v1/worker/gpu/spec_decode/rejection_sampler.py", "__call__", MT_MARK_MODULE_CALL),
    ROW("vllm/", "_allocate_kv_cache*", MT_MARK_CACHE),
    ROW("vllm/", "allocate_kv_cache*", MT_MARK_CACHE), /* 0.33 */
    ROW("transformers/generation/logits_process.py", "*", MT_MARK_SAMPLING),
    ROW("transformers/generation/candidate_generator.py", "*", MT_MARK_SAMPLING),
    ROW("transformers/generation/utils.py", "_sample", MT_MARK_SAMPLING),
    ROW("transformers/generation/utils.py", "_beam_search", MT_MARK_SAMPLING),
    ROW("transformers/generation/utils.py", "_get_top_k_continuations", MT_MARK_SAMPLING),
    ROW("transformers/generation/utils.py", "_assisted_decoding", MT_MARK_SAMPLING),
    ROW("transformers/generation/utils.py", "_speculative_sampling", MT_MARK_SAMPLING),
    ROW("torch/serialization.py", "load", MT_MARK_LOAD),
    ROW("safetensors/torch.py", "load_file", MT_MARK_LOAD),
    ROW("torch/amp/autocast_mode.py", "__exit__", MT_MARK_AUTOCAST_END),
    ROW("/loops/evaluation_loop.py", "run", MT_MARK_EVALUATION), /* Lightning */
    ROW("transformers/trainer.py", "evaluation_loop", MT_MARK_EVALUATION),
    ROW("transformers/trainer.py", "prediction_loop", MT_MARK_EVALUATION),
};

/* Files under torch/optim/ without optimizers. */
static const char *const not_optimizers[] = {"lr_scheduler.py", "swa_utils.py"};

static const char *last_part(const char *function)
{
    const char *dot = strrchr(function, '.');
    return dot ? dot + 1 : function;
}

static bool ends_with(const char *text, size_t size, const char *end, size_t end_size)
{
    return size >= end_size && !memcmp(text + size - end_size, end, end_size);
}

static bool file_matches(const char *file, size_t size, const struct row *row)
{
    return row->file[row->file_size - 1] == '/' ? strstr(file, row->file) != NULL
                                                : ends_with(file, size, row->file, row->file_size);
}

/* Most functions differ in their first letter or their length. */
static bool function_matches(const char *function, size_t size, const struct row *row)
{
    size_t n = row->function_size - 1u;
    if (row->function[n] == '*')
        return size >= n && !memcmp(function, row->function, n);
    return *function == *row->function && size == n + 1 && !memcmp(function, row->function, size);
}

static bool is_no_optimizer(const char *file, size_t size)
{
    for (size_t i = 0; i < sizeof not_optimizers / sizeof *not_optimizers; i++)
        if (ends_with(file, size, not_optimizers[i], strlen(not_optimizers[i])))
            return true;
    return false;
}

/* Return whether a path below the packages' folder is PyTorch's. */
static bool is_framework(const char *path)
{
    static const char *const framework[] = {"torch/", "torchgen/", "functorch/"};
    for (size_t i = 0; i < sizeof framework / sizeof *framework; i++)
        if (!strncmp(path, framework[i], strlen(framework[i])))
            return true;
    return false;
}

const char *mt_packages_in(const char *file, size_t size, size_t *length)
{
    static const char *const folders[] = {"/site-packages/", "/dist-packages/"};
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        *length = strlen(folders[i]);
        const char *at = memmem(file, size, folders[i], *length);
        if (at)
            return at;
    }
    return NULL;
}

/* Return whether a file is of Python's own library on Windows: "C:/.../Python311/Lib/x.py". */
static bool is_of_windows_python(const char *file)
{
    const char *at = *file && file[1] == ':' ? strstr(file, "/Python3") : NULL;
    return at && (at = strchr(at + 1, '/')) && !strncmp(at, "/Lib/", 5);
}

/* Return the owner of code. "<string>" and similar are the user's, "<frozen importlib>" is
 * Python's. torch.profiler gives file names relative to sys.path. */
static uint32_t owner(const char *file)
{
    size_t length;
    const char *at = mt_packages_in(file, strlen(file), &length);
    if (at)
        return is_framework(at + length) ? MT_MARK_FRAMEWORK : MT_MARK_LIBRARY;
    bool is_pythons =
        !strncmp(file, "<frozen", 7) || strstr(file, "/lib/python3") || is_of_windows_python(file);
    return is_pythons || is_framework(file) ? MT_MARK_FRAMEWORK : 0;
}

bool mt_is_inductor_file(const char *file)
{
    enum { HASH = 52 }; /* 'c', and 51 characters of base32 */
    static const char base32[] = "abcdefghijklmnopqrstuvwxyz234567";
    const char *slash = strrchr(file, '/'), *name = slash ? slash + 1 : file;
    if (strstr(file, "/torchinductor_"))
        return true;
    if (!slash || slash - file < 2 || (slash - file > 2 && slash[-3] != '/') || *name != 'c' ||
        strspn(name, base32) != HASH)
        return false;
    return slash[-2] == name[1] && slash[-1] == name[2] && !strcmp(name + HASH, ".py");
}

/* Return whether code is generated: by torch.compile, torch.fx or dataclasses. The line that calls
 * it is the user's. */
static bool is_generated(const char *function, const char *file)
{
    if (*file != '<')
        return mt_is_inductor_file(file);
    return !strncmp(file, "<eval_with_key>", 15) ||
           (!strcmp(file, "<string>") && !strncmp(function, "__create_fn__", 13));
}

/* Libraries and programs that calls of a C program or of PyTorch pass through on the way to an
 * allocation, by the part of the file's name before the first '.' or '-'. */
static const char *const framework_modules[] = {
    "libc10",  "libc10_cuda", "libtorch",  "libtorch_cpu", "libtorch_cuda", "libtorch_python",
    "libcuda", "libcudart",   "libc",      "libm",         "libpthread",    "libdl",
    "ld",      "libgcc_s",    "libstdc++", "python3",      "python",        "libpython3",
};

/* Libraries that allocate memory for their own use, which is never a tensor. */
static const struct {
    const char *begin; /* beginning of the name */
    uint32_t marks;
} getters[] = {
    {"libcublas", MT_MARK_MATH_LIBRARY},   {"libcudnn", MT_MARK_MATH_LIBRARY},
    {"libcufft", MT_MARK_MATH_LIBRARY},    {"libcusolver", MT_MARK_MATH_LIBRARY},
    {"libcusparse", MT_MARK_MATH_LIBRARY}, {"libcutensor", MT_MARK_MATH_LIBRARY},
    {"libcurand", MT_MARK_MATH_LIBRARY},   {"libnccl", MT_MARK_NCCL},
    {"libnvshmem", MT_MARK_NCCL},
};

static uint32_t getter_marks(const char *name)
{
    for (size_t i = 0; i < sizeof getters / sizeof *getters; i++)
        if (!strncmp(name, getters[i].begin, strlen(getters[i].begin)))
            return getters[i].marks;
    return 0;
}

uint32_t mt_module_marks(const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    size_t length = strcspn(name, ".-");
    if (!strncmp(name, "linux-vdso", 10) || !strcmp(path, "?"))
        return MT_MARK_FRAMEWORK;
    for (size_t i = 0; i < sizeof framework_modules / sizeof *framework_modules; i++)
        if (strlen(framework_modules[i]) == length && !strncmp(name, framework_modules[i], length))
            return MT_MARK_FRAMEWORK;
    if (!strncmp(path, "/usr/lib/", 9) || !strncmp(path, "/lib/", 5) ||
        !strncmp(path, "/lib64/", 7))
        return MT_MARK_LIBRARY | getter_marks(name);
    return owner(path) | getter_marks(name);
}

uint32_t mt_frame_marks(const char *function, const char *file)
{
    uint32_t marks = is_generated(function, file) ? MT_MARK_FRAMEWORK : owner(file);
    const char *name = last_part(function);
    size_t name_size = strlen(name), file_size = strlen(file);
    if (!strcmp(name, "__torch_function__") || !strcmp(name, "__torch_dispatch__"))
        marks |= MT_MARK_DISPATCH;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (function_matches(name, name_size, &table[i]) &&
            file_matches(file, file_size, &table[i]))
            marks |= table[i].marks;
    if (marks & (MT_MARK_OPTIMIZER | MT_MARK_OPTIMIZER_INIT) && is_no_optimizer(file, file_size))
        marks &= ~(uint32_t)(MT_MARK_OPTIMIZER | MT_MARK_OPTIMIZER_INIT);
    if (marks & MT_MARK_PARAMETER_NEW && !strcmp(function, "Buffer.__new__"))
        marks = (marks & ~(uint32_t)MT_MARK_PARAMETER_NEW) | MT_MARK_BUFFER_NEW;
    return marks;
}

uint32_t mt_call_marks(const char *function)
{
    const char *name = last_part(function);
    return !strcmp(name, "__call__") || !strcmp(name, "forward") ? MT_MARK_MODULE_CALL : 0;
}
