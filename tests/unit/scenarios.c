/* SPDX-License-Identifier: Apache-2.0 */
#include "scenarios.h"
#include "trace-format/cuda-apis.h"

#include <stddef.h>
#include <stdio.h>

#define USER "/home/user/train.py"
#define TORCH "/venv/lib/python3.11/site-packages/torch/"
#define LIBRARY "/venv/lib/python3.11/site-packages/models/"
#define MODEL LIBRARY "net.py"
#define WRAPPER TORCH "optim/optimizer.py:485 Optimizer.profile_hook_step.<locals>.wrapper"

enum { INT64 = 5, BFLOAT16 = 16 }; /* trace-format/dtypes.h */

#define BASE 0x7f0000000000ull

/* Where the tensors are. */
enum { W, BUFFER, X, Y, MASK, LOSS, G, T, M, V, STEP_TEMPORARY };

static uint64_t at(unsigned tensor)
{
    return BASE + tensor * (4 * MT_MIB);
}

struct training {
    struct mt_builder *b;
    uint32_t apply, input, forward, loss, init_group, step, zero_grad;
    uint32_t addmm, accumulate; /* node names */
    unsigned keeps;             /* inputs that are kept so far, from 1; 0: none is */
};

static void describe(struct mt_builder *b, const char *command)
{
    mt_build_info(b, "memtap=0.1.0");
    mt_build_info(b, command);
    mt_build_info(b, "pid=4711");
    mt_build_info(b, "host=atlas");
}

static struct training begin_training(struct mt_builder *b)
{
    struct training t = {.b = b};
    describe(b, "command=python train.py");
    mt_build_info(b, "torch=2.15.0+cu132");
    t.apply =
        mt_build_stack(b, USER ":5 main", TORCH "nn/modules/module.py:980 Module._apply", NULL);
    t.input = mt_build_stack(b, USER ":8 main", NULL);
    t.forward =
        mt_build_stack(b, USER ":9 main", TORCH "nn/modules/module.py:1750 Module._call_impl",
                       MODEL ":20 Net.forward", NULL);
    t.loss = mt_build_stack(b, USER ":10 main", NULL);
    t.init_group = mt_build_stack(b, USER ":12 main", WRAPPER, TORCH "optim/adam.py:228 Adam.step",
                                  TORCH "optim/adam.py:173 Adam._init_group", NULL);
    t.step = mt_build_stack(b, USER ":12 main", WRAPPER, TORCH "optim/adam.py:236 Adam.step",
                            TORCH "optim/adam.py:430 _single_tensor_adam", NULL);
    t.zero_grad = mt_build_stack(b, USER ":13 main", NULL);
    t.addmm = mt_build_string(b, "N5torch8autograd9generated14AddmmBackward0E");
    t.accumulate = mt_build_string(b, "N5torch8autograd14AccumulateGradE");
    return t;
}

static uint64_t inputs_at(const struct training *t)
{
    return t->keeps ? at(STEP_TEMPORARY + t->keeps) : at(X);
}

static void make_model(const struct training *t)
{
    mt_build_on(t->b, 0, 1, t->apply);
    mt_build_event(t->b, MT_CUDA_MALLOC, BASE, 64 * MT_MIB, 0);
    mt_build_alloc(t->b, at(W), MT_TRAINING_PARAMETERS);
    mt_build_event(t->b, MT_SET_DATA, at(W), 0, 0);
    mt_build_alloc(t->b, at(BUFFER), MT_TRAINING_BUFFERS);
}

static void run_forward(const struct training *t)
{
    mt_build_on(t->b, 0, 1, t->input);
    mt_build_alloc(t->b, inputs_at(t), MT_TRAINING_INPUTS);
    mt_build_on(t->b, 0, 1, t->forward);
    mt_build_event(t->b, MT_LEAF, at(W), 0, 0);
    mt_build_event(t->b, MT_SAVED, inputs_at(t) + 128, 0, 0); /* a view */
    mt_build_alloc(t->b, at(Y), 256 * MT_KIB);
    mt_build_event(t->b, MT_NODE_NEW, 0x1000, at(Y), 0);
    mt_build_alloc(t->b, at(MASK), 32 * MT_KIB);
    mt_build_event(t->b, MT_SAVED, at(MASK), 0, 0);
    mt_build_on(t->b, 0, 1, t->loss);
    mt_build_alloc(t->b, at(LOSS), 512);
    mt_build_event(t->b, MT_NODE_NEW, 0x2000, at(LOSS), 0);
}

/* On autograd's own thread, where there is no Python stack. */
static void run_backward(const struct training *t)
{
    mt_build_on(t->b, 0, 2, 0);
    mt_build_event(t->b, MT_NODE_BEGIN, 0x1000, t->addmm, 0);
    mt_build_alloc(t->b, at(G), MT_TRAINING_GRADIENTS);
    mt_build_alloc(t->b, at(T), MT_TRAINING_TEMPORARIES);
    mt_build_free(t->b, at(T));
    mt_build_event(t->b, MT_NODE_END, 0x1000, 0, 0);
    mt_build_event(t->b, MT_NODE_BEGIN, 0x3000, t->accumulate, 0);
    mt_build_event(t->b, MT_GRADIENT, at(G), 0, 0);
    mt_build_event(t->b, MT_NODE_END, 0x3000, 0, 0);
    mt_build_free(t->b, at(Y));
    mt_build_free(t->b, at(MASK));
    mt_build_free(t->b, at(LOSS));
}

static void run_step(const struct training *t, bool is_first)
{
    mt_build_on(t->b, 0, 1, t->init_group);
    if (is_first) {
        mt_build_alloc(t->b, at(M), MT_TRAINING_OPTIMIZER / 2);
        mt_build_alloc(t->b, at(V), MT_TRAINING_OPTIMIZER / 2);
    }
    mt_build_on(t->b, 0, 1, t->step);
    mt_build_alloc(t->b, at(STEP_TEMPORARY), 512 * MT_KIB);
    mt_build_free(t->b, at(STEP_TEMPORARY));
    mt_build_on(t->b, 0, 1, t->zero_grad);
    mt_build_free(t->b, at(G));
    if (!t->keeps)
        mt_build_free(t->b, inputs_at(t));
}

void mt_scenario_training(struct mt_builder *b, unsigned steps)
{
    struct training t = begin_training(b);
    make_model(&t);
    for (unsigned i = 0; i < steps; i++) {
        run_forward(&t);
        run_backward(&t);
        run_step(&t, i == 0);
    }
    mt_build_end(b);
}

void mt_scenario_keeping(struct mt_builder *b, unsigned steps)
{
    struct training t = begin_training(b);
    t.input = mt_build_stack(b, USER ":9 main", NULL);
    t.loss = mt_build_stack(b, USER ":11 main", NULL);
    t.forward =
        mt_build_stack(b, USER ":10 main", TORCH "nn/modules/module.py:1750 Module._call_impl",
                       MODEL ":22 Net.forward", NULL);
    make_model(&t);
    for (t.keeps = 1; t.keeps <= steps; t.keeps++) {
        run_forward(&t);
        run_backward(&t);
        run_step(&t, t.keeps == 1);
    }
    mt_build_end(b);
}

enum { MATRIX, BIAS, MASTERS, GRADIENTS = 4, MOMENTS = 6, TOKENS = 10 };

/* A block for the matrix and one for the bias, of this width. */
static void alloc_pair(const struct training *t, unsigned first, unsigned width)
{
    mt_build_alloc(t->b, at(4 * first), (uint64_t)MT_MIXED_MATRIX * width + 700 * MT_KIB);
    mt_build_alloc(t->b, at(4 * (first + 1)), (MT_MIXED_BIAS * width + 511) / 512 * 512);
}

static void free_pair(const struct training *t, unsigned first)
{
    mt_build_free(t->b, at(4 * first));
    mt_build_free(t->b, at(4 * (first + 1)));
}

static void mixed_step(const struct training *t, bool is_first)
{
    mt_build_on(t->b, 0, 1, t->forward);
    mt_build_event(t->b, MT_LEAF, at(4 * MATRIX), BFLOAT16, 0);
    mt_build_event(t->b, MT_LEAF, at(4 * BIAS), BFLOAT16, 0);
    mt_build_alloc(t->b, at(4 * TOKENS), 64 * MT_KIB);
    mt_build_event(t->b, MT_SAVED, at(4 * TOKENS), 0, INT64);
    mt_build_on(t->b, 0, 2, 0);
    mt_build_event(t->b, MT_NODE_BEGIN, 0x3000, t->accumulate, 0);
    alloc_pair(t, GRADIENTS, 2);
    mt_build_event(t->b, MT_GRADIENT, at(4 * GRADIENTS), BFLOAT16, 0);
    mt_build_event(t->b, MT_GRADIENT, at(4 * (GRADIENTS + 1)), BFLOAT16, 0);
    mt_build_event(t->b, MT_NODE_END, 0x3000, 0, 0);
    mt_build_free(t->b, at(4 * TOKENS));
    mt_build_on(t->b, 0, 1, t->init_group);
    for (unsigned i = 0; i < 4 && is_first; i += 2)
        alloc_pair(t, MOMENTS + i, 4);
    mt_build_on(t->b, 0, 1, t->zero_grad);
    free_pair(t, GRADIENTS);
}

void mt_scenario_mixed_steps(struct mt_builder *b)
{
    struct training t = begin_training(b);
    mt_build_on(b, 0, 1, t.apply);
    alloc_pair(&t, MATRIX, 2);
    mt_build_event(b, MT_SET_DATA, at(4 * MATRIX), BFLOAT16, MT_MIXED_MATRIX);
    mt_build_event(b, MT_SET_DATA, at(4 * BIAS), BFLOAT16, MT_MIXED_BIAS);
    mt_build_on(b, 0, 1, t.input);
    alloc_pair(&t, MASTERS, 4);
    mixed_step(&t, 1);
    mixed_step(&t, 0);
}

void mt_scenario_mixed(struct mt_builder *b)
{
    mt_scenario_mixed_steps(b);
    mt_build_end(b);
}

#define CALL TORCH "nn/modules/module.py:1787 Module._wrapped_call_impl|Net|"
enum { LAYERS = 4, WEIGHTS = 0, NORMS = 8, OUTPUTS = 12, LOSS_OUTPUT = 16, LAST_GRADIENT, MOMENT };

/* A layer's weight, which it uses first, and its output: the larger one in layer 2. */
static void run_layer(struct mt_builder *b, unsigned i, uint32_t norm, uint32_t linear)
{
    mt_build_on(b, 0, 1, norm);
    mt_build_alloc(b, at(NORMS + i), 64 * MT_KIB);
    mt_build_event(b, MT_SAVED, at(NORMS + i), 0, 0);
    mt_build_on(b, 0, 1, linear);
    mt_build_event(b, MT_LEAF, at(WEIGHTS + i), 0, 0);
    mt_build_alloc(b, at(OUTPUTS + i), i == 2 ? 2 * MT_MIB : MT_MIB);
    mt_build_event(b, MT_SAVED, at(OUTPUTS + i), 0, 0);
}

void mt_scenario_layers(struct mt_builder *b)
{
    static const char *const norms[] = {CALL "layers.0.norm", CALL "layers.1.norm",
                                        CALL "layers.2.norm", CALL "layers.3.norm"};
    static const char *const linears[] = {CALL "layers.0.fc", CALL "layers.1.fc",
                                          CALL "layers.2.fc", CALL "layers.3.fc"};
    struct training t = begin_training(b);
    uint32_t make = mt_build_stack(b, USER ":6 main", TORCH "nn/modules/linear.py:99 __init__",
                                   TORCH "nn/parameter.py:49 Parameter.__new__", NULL);
    uint32_t loss = mt_build_stack(
        b, USER ":10 main",
        TORCH "nn/modules/module.py:1787 Module._wrapped_call_impl|CrossEntropyLoss|", NULL);
    mt_build_on(b, 0, 1, make);
    for (unsigned i = 0; i < LAYERS; i++) {
        mt_build_alloc(b, at(WEIGHTS + i), 256 * MT_KIB);
        mt_build_event(b, MT_REQUIRES_GRAD, at(WEIGHTS + i), 1, 0);
    }
    for (unsigned i = 0; i < LAYERS; i++)
        run_layer(b, i, mt_build_stack(b, USER ":9 main", CALL, norms[i], NULL),
                  mt_build_stack(b, USER ":9 main", CALL, linears[i],
                                 TORCH "nn/modules/linear.py:134 Linear.forward", NULL));
    mt_build_on(b, 0, 1, loss);
    mt_build_alloc(b, at(LOSS_OUTPUT), 512);
    mt_build_event(b, MT_SAVED, at(LOSS_OUTPUT), 0, 0);
    mt_build_on(b, 0, 2, 0); /* the last layer's weight is the first to get a gradient */
    mt_build_event(b, MT_NODE_BEGIN, at(40), t.accumulate, 0);
    mt_build_alloc(b, at(LAST_GRADIENT), 256 * MT_KIB);
    mt_build_event(b, MT_GRADIENT, at(LAST_GRADIENT), 0, at(WEIGHTS + 3));
    mt_build_event(b, MT_NODE_END, at(40), 0, 0);
    mt_build_on(b, 0, 1, t.init_group);
    mt_build_alloc(b, at(MOMENT), 256 * MT_KIB);
    mt_build_end(b);
}

void mt_scenario_c_program(struct mt_builder *b)
{
    describe(b, "command=./simulate 3");
    mt_build_event(b, MT_CUDA_MALLOC, BASE, 8 * MT_MIB, 0);
    mt_build_event(b, MT_CUDA_MALLOC, BASE + 8 * MT_MIB, 3 * MT_MIB, 0);
    mt_build_event(b, MT_CUDA_MALLOC, 0, 900 * MT_MIB, 2);
    mt_build_on(b, 0, 2, 0);
    mt_build_event(b, MT_CUDA_FREE, BASE, MT_API_CUDA_FREE, 0);
    mt_build_event(b, MT_CUDA_FREE, BASE, MT_API_CUDA_FREE, 0);
    mt_build_end(b);
}

void mt_scenario_phases(struct mt_builder *b)
{
    describe(b, "command=./simulate");
    uint32_t whole = mt_build_string(b, "simulate"), first = mt_build_string(b, "assemble"),
             second = mt_build_string(b, "solve"), library = mt_build_string(b, "fft"),
             plan = mt_build_string(b, "plan"), field = mt_build_string(b, "velocity field"),
             mark = mt_build_string(b, "converged");
    mt_build_event(b, MT_RANGE_PUSH, whole, 0, 0);
    mt_build_event(b, MT_CUDA_MALLOC, BASE, 4 * MT_MIB, 0);
    mt_build_event(b, MT_NAMED, BASE + 100, field, 0);
    for (unsigned i = 0; i < 2; i++) {
        mt_build_event(b, MT_RANGE_PUSH, first, 0, 0);
        mt_build_event(b, MT_CUDA_MALLOC, BASE + 16 * MT_MIB, (2 + i) * MT_MIB, 0);
        mt_build_event(b, MT_RANGE_POP, 0, 0, 0);
        mt_build_event(b, MT_RANGE_PUSH, second, 0, 0);
        mt_build_event(b, MT_RANGE_PUSH, plan, library, 0);
        mt_build_event(b, MT_CUDA_MALLOC, BASE + 32 * MT_MIB, 8 * MT_MIB, 0);
        mt_build_event(b, MT_RANGE_POP, library, 0, 0);
        mt_build_event(b, MT_CUDA_FREE, BASE + 32 * MT_MIB, MT_API_CUDA_FREE, 0);
        mt_build_event(b, MT_RANGE_MARK, mark, 0, 0);
        mt_build_event(b, MT_CUDA_FREE, BASE + 16 * MT_MIB, MT_API_CUDA_FREE, 0);
        mt_build_event(b, MT_RANGE_POP, 0, 0, 0);
    }
    mt_build_event(b, MT_RANGE_POP, 0, 0, 0);
    mt_build_end(b);
}

void mt_scenario_copies(struct mt_builder *b)
{
    describe(b, "command=./heat 100");
    uint32_t table = mt_build_stack(b, "/src/heat.c:92 main", "/src/heat.c:54 begin",
                                    "/src/heat.c:39 device_memory", NULL);
    uint32_t field = mt_build_stack(b, "/src/heat.c:92 main", "/src/heat.c:52 begin",
                                    "/src/heat.c:39 device_memory", NULL);
    uint32_t snapshot = mt_build_stack(b, "/src/heat.c:97 main", "/src/heat.c:63 take_snapshot",
                                       "/src/heat.c:39 device_memory", NULL);
    mt_build_on(b, 0, 1, table);
    mt_build_event(b, MT_CUDA_MALLOC, BASE, 2 * MT_MIB, 0);
    mt_build_on(b, 0, 1, field);
    mt_build_event(b, MT_CUDA_MALLOC, BASE + 8 * MT_MIB, 16 * MT_MIB, 0);
    mt_build_event(b, MT_CUDA_MALLOC, BASE + 32 * MT_MIB, 16 * MT_MIB, 0);
    mt_build_event(b, MT_CUDA_SET, BASE + 8 * MT_MIB, 16 * MT_MIB, MT_API_CUDA_SET);
    for (uint64_t i = 2; i < 5; i++) {
        mt_build_on(b, 0, 1, snapshot);
        mt_build_event(b, MT_CUDA_MALLOC, BASE + i * 32 * MT_MIB, 16 * MT_MIB, 0);
        mt_build_on(b, MT_NO_DEVICE, 1, 0);
        mt_build_event4(b, MT_CUDA_COPY, BASE + i * 32 * MT_MIB, BASE + 8 * MT_MIB, 16 * MT_MIB,
                        MT_API_CUDA_COPY);
    }
    mt_build_event4(b, MT_CUDA_COPY, BASE + 32 * MT_MIB, BASE + 8 * MT_MIB, 16 * MT_MIB,
                    MT_API_CU_COPY_WITHIN);
    mt_build_on(b, 0, 1, 0);
    mt_build_event(b, MT_CUDA_FREE, BASE, MT_API_CUDA_FREE, 0);
    mt_build_event(b, MT_CUDA_FREE, BASE, MT_API_CUDA_FREE, 0);
    mt_build_event(b, MT_CUDA_FREE_FAILED, BASE, 1, MT_API_CUDA_FREE);
    mt_build_on(b, 0, 2, 0);
    mt_build_event(b, MT_CUDA_FREE, BASE + 8 * MT_MIB, MT_API_CUDA_FREE, 0);
    mt_build_event(b, MT_CUDA_FREE, BASE + 32 * MT_MIB, MT_API_CUDA_FREE, 0);
    mt_build_end(b);
}

void mt_scenario_native(struct mt_builder *b)
{
    describe(b, "command=./solve");
    uint32_t plain =
        mt_build_stack(b, "/lib/x86_64-linux-gnu/libc.so.6@2724a", "/opt/app/solve@401136",
                       "/opt/app/libsolver.so@1234", "/opt/cuda/libcudart.so.13@5678", NULL);
    uint32_t named =
        mt_build_stack(b, "/lib/x86_64-linux-gnu/libc.so.6@2724a", "/opt/app/solve@401136", NULL);
    mt_build_symbol(b, "/src/solve.c:12 prepare");
    uint32_t both =
        mt_build_stack(b, USER ":9 main", TORCH "nn/modules/linear.py:134 Linear.forward",
                       "/opt/app/libextension.so@999", TORCH "lib/libc10_cuda.so@20a26", NULL);
    mt_build_on(b, 0, 1, plain);
    mt_build_event(b, MT_CUDA_MALLOC, BASE, 8 * MT_MIB, 0);
    mt_build_on(b, 0, 1, named);
    mt_build_event(b, MT_CUDA_MALLOC, BASE + 8 * MT_MIB, 3 * MT_MIB, 0);
    mt_build_on(b, 0, 1, both);
    mt_build_event(b, MT_CUDA_MALLOC, BASE + 16 * MT_MIB, 2 * MT_MIB, 0);
    mt_build_end(b);
}

void mt_scenario_oom(struct mt_builder *b)
{
    describe(b, "command=python big.py");
    uint32_t big = mt_build_stack(b, "/home/user/big.py:3 main",
                                  TORCH "nn/functional.py:2380 embedding", NULL);
    for (int device = 0; device < 2; device++) {
        mt_build_on(b, device, 1, big);
        mt_build_alloc(b, BASE + (unsigned)device * 64 * MT_MIB, (10 + (unsigned)device) * MT_MIB);
    }
    mt_build_event(b, MT_LOST, 3, 0, 0);
    mt_build_event(b, MT_OOM, 5000 * MT_MIB, 11 * MT_MIB, 12 * MT_MIB);
}

/* Autograd's thread has no Python stack: the node that runs knows its line of forward. */
void mt_scenario_oom_in_backward(struct mt_builder *b)
{
    describe(b, "command=python deep.py");
    uint32_t main = mt_build_stack(b, "/home/user/deep.py:3 main", NULL);
    uint32_t line = mt_build_stack(
        b, "/home/user/deep.py:3 main", TORCH "nn/modules/module.py:1750 Module._call_impl",
        "/home/user/deep.py:20 Block.forward", TORCH "nn/functional.py:1700 gelu", NULL);
    uint32_t gelu = mt_build_string(b, "N5torch8autograd9generated13GeluBackward0E");
    mt_build_on(b, 0, 1, main);
    mt_build_alloc(b, BASE, 8 * MT_MIB);
    mt_build_event(b, MT_LEAF, BASE, 0, 0);
    mt_build_on(b, 0, 1, line);
    mt_build_alloc(b, BASE + 8 * MT_MIB, 64 * MT_MIB);
    mt_build_event(b, MT_NODE_NEW, 0x1000, BASE + 8 * MT_MIB, 0);
    mt_build_event(b, MT_SAVED, BASE + 8 * MT_MIB, 0, 0);
    mt_build_on(b, 0, 2, 0);
    mt_build_event(b, MT_NODE_BEGIN, 0x1000, gelu, 0);
    mt_build_event(b, MT_OOM, 64 * MT_MIB, 72 * MT_MIB, 80 * MT_MIB);
    mt_build_end(b);
}

void mt_scenario_oom_in_library(struct mt_builder *b)
{
    describe(b, "command=python serve.py");
    uint32_t stack = mt_build_stack(b, "/home/user/serve.py:3 main", LIBRARY "hub.py:8 load",
                                    LIBRARY "hub.py:7 call", LIBRARY "model.py:6 forward",
                                    LIBRARY "layer.py:5 forward", LIBRARY "attention.py:4 forward",
                                    LIBRARY "rotary.py:3 apply", LIBRARY "rotary.py:2 halves",
                                    LIBRARY "rotary.py:1 half", NULL);
    mt_build_on(b, 0, 1, stack);
    mt_build_alloc(b, BASE, 8 * MT_MIB);
    mt_build_event(b, MT_OOM, 64 * MT_MIB, 8 * MT_MIB, 20 * MT_MIB);
    mt_build_end(b);
}

void mt_scenario_fragmented(struct mt_builder *b)
{
    describe(b, "command=python clips.py");
    uint32_t keep =
        mt_build_stack(b, "/home/user/clips.py:3 main", "/home/user/clips.py:9 keep", NULL);
    uint32_t big = mt_build_stack(b, "/home/user/clips.py:5 main",
                                  TORCH "nn/modules/module.py:1750 Module._call_impl",
                                  "/home/user/clips.py:20 Net.forward", NULL);
    for (unsigned i = 0; i < 3; i++) {
        uint64_t segment = BASE + i * 32ull * MT_MIB;
        mt_build_on(b, 0, 1, big);
        mt_build_event(b, MT_CUDA_MALLOC, segment, 20 * MT_MIB, 0);
        mt_build_alloc(b, segment, 9 * MT_MIB);
        mt_build_on(b, 0, 1, keep);
        mt_build_alloc(b, segment + 9 * MT_MIB, 2 * MT_MIB);
        mt_build_on(b, 0, 1, big);
        mt_build_free(b, segment);
    }
    mt_build_event(b, MT_OOM, 500 * MT_MIB, 6 * MT_MIB, 60 * MT_MIB);
    mt_build_event(b, MT_CUDA_MALLOC, BASE - 4 * MT_MIB, 2 * MT_MIB, 0);
    mt_build_alloc(b, BASE - 4 * MT_MIB, 64 * MT_KIB);
    mt_build_event(b, MT_CUDA_MALLOC, 0, 30 * MT_MIB, 2);
    mt_build_event(b, MT_OOM, 30 * MT_MIB, 6 * MT_MIB + 64 * MT_KIB, 62 * MT_MIB);
}

/* Three times, of which two are live when it is most, and one at the end; a free that fails. */
static void pin_memory(struct mt_builder *b)
{
    uint64_t host = 0x10000000;
    mt_build_on(b, MT_NO_DEVICE, 1, mt_build_stack(b, "/home/user/serve.py:7 load", NULL));
    mt_build_event4(b, MT_CUDA_MALLOC, host, 3 * MT_MIB, 0, MT_API_CUDA_HOST_ALLOC);
    mt_build_event4(b, MT_CUDA_MALLOC, host + 8 * MT_MIB, 2 * MT_MIB, 0, MT_API_CUDA_HOST_REGISTER);
    mt_build_event(b, MT_CUDA_FREE, host, MT_API_CUDA_FREE_HOST, 0);
    mt_build_event(b, MT_CUDA_FREE, host + 8 * MT_MIB, MT_API_CUDA_HOST_UNREGISTER, 0);
    mt_build_event(b, MT_CUDA_FREE_FAILED, host + 8 * MT_MIB, 1, MT_API_CUDA_HOST_UNREGISTER);
    mt_build_event4(b, MT_CUDA_MALLOC, host + 16 * MT_MIB, 1 * MT_MIB, 0, MT_API_CU_MEM_HOST_ALLOC);
}

/* A workspace of cuBLAS next to PyTorch's segment, and the device's totals. */
void mt_scenario_balance(struct mt_builder *b)
{
    describe(b, "command=python serve.py");
    uint32_t segment =
        mt_build_stack(b, "/home/user/serve.py:1 main", TORCH "lib/libc10_cuda.so@20", NULL);
    uint32_t library = mt_build_stack(
        b, "/home/user/serve.py:2 main", TORCH "lib/libtorch_cuda.so@11",
        "/venv/lib/python3.11/site-packages/nvidia/cu13/lib/libcublasLt.so.13@4567", NULL);
    mt_build_on(b, 0, 1, segment);
    mt_build_event(b, MT_CUDA_MALLOC, BASE, 20 * MT_MIB, 0);
    mt_build_on(b, 0, 1, library);
    mt_build_event(b, MT_CUDA_MALLOC, BASE + 128 * MT_MIB, 8 * MT_MIB, 0);
    pin_memory(b);
    mt_build_on(b, 0, 1, segment);
    mt_build_alloc(b, BASE, 20 * MT_MIB);
    mt_build_event(b, MT_CUDA_MALLOC, 0, 100 * MT_MIB, 2);
    mt_build_event(b, MT_OOM, 100 * MT_MIB, 20 * MT_MIB, 20 * MT_MIB);
    mt_build_event4(b, MT_DEVICE_MEMORY, 1000 * MT_MIB, 70 * MT_MIB, 328 * MT_MIB, 590 * MT_MIB);
    mt_build_end(b);
}

void mt_scenario_idle(struct mt_builder *b)
{
    describe(b, "command=python idle.py");
    mt_build_end(b);
}

void mt_scenario_night(struct mt_builder *b, unsigned night, uint64_t activations)
{
    char started[64];
    describe(b, "command=python nightly.py");
    snprintf(started, sizeof started, "start_realtime_ns=%llu",
             (1709175600ull + night * 86400) * 1000000000);
    mt_build_info(b, started);
    mt_build_info(b, "torch=2.15.0+cu132");
    mt_build_on(
        b, 0, 1,
        mt_build_stack(b, USER ":5 main", TORCH "nn/modules/module.py:980 Module._apply", NULL));
    mt_build_alloc(b, BASE, 8 * MT_MIB);
    mt_build_event(b, MT_SET_DATA, BASE, 0, 0);
    mt_build_on(b, 0, 1,
                mt_build_stack(b, USER ":9 main",
                               TORCH "nn/modules/module.py:1750 Module._call_impl",
                               MODEL ":20 Net.forward", NULL));
    mt_build_alloc(b, BASE + 64 * MT_MIB, activations);
    mt_build_event(b, MT_SAVED, BASE + 64 * MT_MIB, 0, 0);
    mt_build_free(b, BASE + 64 * MT_MIB);
    mt_build_end(b);
}

void mt_scenario_rank(struct mt_builder *b, unsigned rank)
{
    describe(b, "command=python ddp.py");
    mt_build_info(b, rank ? "env.RANK=1" : "env.RANK=0");
    mt_build_info(b, "env.WORLD_SIZE=2");
    mt_build_on(b, (int)rank, 1, mt_build_stack(b, "/home/user/ddp.py:3 main", NULL));
    mt_build_alloc(b, BASE, (3 + rank) * MT_MIB);
    mt_build_end(b);
}
