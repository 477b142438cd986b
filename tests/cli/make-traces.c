/* SPDX-License-Identifier: Apache-2.0 */
/* make-traces [NIGHTS]: writes the traces that the cases use into the working directory, and those
 * of a program that ran for so many nights (10), from the seventh on with more memory. */
#include "scenarios.h"
#include "tail-builder.h"
#include "trace-format/cuda-apis.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

static void training(struct mt_builder *builder)
{
    mt_scenario_training(builder, 3);
}

static void keeping(struct mt_builder *builder)
{
    mt_scenario_keeping(builder, 3);
}

/* One use of a block, `ago` ms before a time in ms. */
static void used(struct mt_builder *b, double ms, uint64_t address, double ago, uint32_t stack,
                 uint64_t which)
{
    mt_build_raw(b, &(struct mt_event){.time_ns = (uint64_t)(ms * 1e6),
                                       .kind = MT_USES,
                                       .thread = 1,
                                       .stack = stack,
                                       .arg = {address, (uint64_t)(ago * 1e6), 0, which}});
}

/* Blocks of each kind that is not needed at the peak, at 8 ms: allocated early (48 MiB), unused
 * between two places (40 MiB), freed late (64 MiB), never used (16 MiB); and some that are needed,
 * or could be: 8 MiB last used by the peak's own line, 4 MiB passed. */
static void uses(struct mt_builder *b)
{
    static const uint64_t sizes[] = {32, 16, 48, 40, 64, 4, 8, 128};
    enum { WEIGHTS, NEVER, EARLY, IDLE, LATE, PASSED, OWN, BIG };
    uint32_t line[15];
    char frame[64];
    mt_build_info(b, "command=python uses.py");
    for (unsigned i = 0; i < sizeof line / sizeof *line; i++) {
        snprintf(frame, sizeof frame, "/home/user/uses.py:%u main", i);
        line[i] = mt_build_stack(b, frame, NULL);
    }
#define AT(i) (0x7f0000000000u + (uint64_t)(i) * (256 << 20))
    for (unsigned i = WEIGHTS; i <= BIG; i++) {
        mt_build_on(b, 0, 1, line[i < OWN ? i + 3 : 10]);
        mt_build_alloc(b, AT(i), sizes[i] << 20);
    }
    used(b, 8.9, AT(BIG), 0.4, line[10], MT_USES_FIRST | MT_USES_LAST);
    mt_build_free(b, AT(BIG));
    used(b, 10.5, AT(LATE), 5.3, line[7], MT_USES_FIRST);
    used(b, 10.5, AT(LATE), 5.0, line[8], MT_USES_LAST);
    mt_build_free(b, AT(LATE));
    used(b, 12.0, AT(OWN), 4.7, line[10], MT_USES_FIRST | MT_USES_LAST);
    mt_build_free(b, AT(OWN));
    used(b, 14.0, AT(EARLY), 3.0, line[12], MT_USES_FIRST);
    used(b, 14.0, AT(EARLY), 1.0, line[13], MT_USES_LAST);
    mt_build_free(b, AT(EARLY));
    used(b, 16.0, AT(IDLE), 11.8, line[6], MT_USES_FIRST);
    used(b, 16.0, AT(IDLE), 11.5, line[6], MT_USES_BEFORE_IDLE);
    used(b, 16.0, AT(IDLE), 2.0, line[14], MT_USES_AFTER_IDLE);
    used(b, 16.0, AT(IDLE), 1.5, line[14], MT_USES_LAST);
    mt_build_free(b, AT(IDLE));
    used(b, 17.5, AT(WEIGHTS), 16.0, line[6], MT_USES_FIRST);
    used(b, 17.5, AT(WEIGHTS), 1.0, line[14], MT_USES_LAST);
    used(b, 17.5, AT(NEVER), 0, 0, MT_USES_NONE);
    used(b, 17.5, AT(PASSED), 11.3, line[8], MT_USES_FIRST | MT_USES_LAST | MT_USES_PASSED);
#undef AT
    mt_build_end(b);
}

/* Names that try to break the output. */
static void hostile(struct mt_builder *builder)
{
    mt_build_info(builder, "command=python \033[31mred\n\xff \"quoted\" \u00e9");
    mt_build_on(
        builder, 0, 1,
        mt_build_stack(builder,
                       "/home/user/a_very_long_file_name_for_a_script_that_trains.py:123456 "
                       "AndAVeryLongClassName.and_a_function\t\u00e9\u00e9",
                       NULL));
    mt_build_alloc(builder, 0x7f0000000000, 1000);
    mt_build_end(builder);
}

/* Numbers of a later version's calls and types, and one that JSON's readers do not have. */
static void unknown(struct mt_builder *builder)
{
    mt_build_raw(builder, &(struct mt_event){.time_ns = 1000,
                                             .kind = MT_CUDA_MAP,
                                             .device = MT_NO_DEVICE,
                                             .arg = {(uint64_t)1 << 63 | 5, 4096, 7, 9999}});
    mt_build_raw(builder, &(struct mt_event){.time_ns = 2000,
                                             .kind = MT_LEAF,
                                             .device = MT_NO_DEVICE,
                                             .arg = {0x7f0000000000, 63}});
    mt_build_end(builder);
}

/* What item() has on the host: a number; and in `pinned` a batch too. */
static void numbers(struct mt_builder *builder)
{
    mt_build_alloc(builder, 0x7f0000000000, MT_MIB);
    mt_build_on(builder, MT_NO_DEVICE, 1,
                mt_build_stack(builder, "/home/user/train.py:7 log", NULL));
    mt_build_event4(builder, MT_CUDA_MALLOC, 0x10000000, 1, 0, MT_API_CUDA_HOST_ALLOC);
}

/* A C program whose first call asks for too much. */
static void oom_at_once(struct mt_builder *b)
{
    mt_build_info(b, "command=./big");
    mt_build_on(b, 0, 1, 0);
    mt_build_event(b, MT_CUDA_MALLOC, 0, 900 * MT_MIB, 2);
    mt_build_end(b);
}

/* All memory is freed when the script ends. */
static void held_nothing(struct mt_builder *b)
{
    mt_build_info(b, "command=python search.py");
    mt_build_on(b, 0, 1, mt_build_stack(b, "/home/user/search.py:21 trial", NULL));
    mt_build_alloc(b, 0x7f0000000000, 64 * MT_MIB);
    mt_build_free(b, 0x7f0000000000);
    mt_build_on(b, MT_NO_DEVICE, 0, 0);
    mt_build_event4(b, MT_HOLDERS, MT_HOLDERS_END, MT_HOLDERS_TORCH_UNKNOWN, 1234, 0);
    mt_build_end(b);
}

/* A request that no card of that size serves; before it failed, PyTorch gave back its cache. */
static void oom_larger(struct mt_builder *b)
{
    mt_build_info(b, "command=python distances.py");
    mt_build_info(b, "torch=2.15.0+cu132");
    mt_build_on(b, 0, 1, mt_build_stack(b, "/home/user/distances.py:4 main", NULL));
    mt_build_event(b, MT_CUDA_MALLOC, 0x7f0000000000, 20 * MT_MIB, 0);
    mt_build_alloc(b, 0x7f0000000000, 20 * MT_MIB);
    mt_build_event(b, MT_CUDA_MALLOC, 0x7f0010000000, 24 * MT_MIB, 0);
    mt_build_alloc(b, 0x7f0010000000, 24 * MT_MIB);
    mt_build_free(b, 0x7f0010000000);
    mt_build_event(b, MT_CUDA_MALLOC, 0, 1200 * MT_MIB, 2);
    mt_build_event(b, MT_CUDA_FREE, 0x7f0010000000, MT_API_CUDA_FREE, 0);
    mt_build_event(b, MT_CUDA_MALLOC, 0, 1200 * MT_MIB, 2);
    mt_build_event(b, MT_OOM, 1200 * MT_MIB, 20 * MT_MIB, 20 * MT_MIB);
    mt_build_event4(b, MT_DEVICE_MEMORY, 1000 * MT_MIB, 680 * MT_MIB, 320 * MT_MIB, 0);
    mt_build_end(b);
}

static void pinned(struct mt_builder *builder)
{
    numbers(builder);
    mt_build_on(builder, MT_NO_DEVICE, 1,
                mt_build_stack(builder, "/home/user/train.py:9 load", NULL));
    mt_build_event4(builder, MT_CUDA_MALLOC, 0x20000000, 2 * MT_MIB, 0, MT_API_CUDA_HOST_ALLOC);
    mt_build_end(builder);
}

/* A change that only its sign tells from the least integer. */
static void little(struct mt_builder *builder)
{
    mt_build_on(builder, 0, 1, mt_build_stack(builder, "/home/user/train.py:7 step", NULL));
    mt_build_alloc(builder, 0x7f0000000000, MT_MIB);
    mt_build_end(builder);
}

static void vast(struct mt_builder *builder)
{
    mt_build_on(builder, 0, 1, mt_build_stack(builder, "/home/user/train.py:7 step", NULL));
    mt_build_alloc(builder, 0x7f0000000000, ((uint64_t)1 << 63) + MT_MIB);
    mt_build_end(builder);
}

static void item(struct mt_builder *builder)
{
    numbers(builder);
    mt_build_end(builder);
}

/* Lines that are hard to name: a library's Python frame below a native one of PyTorch's, no Python
 * frame at all, the same line in two stacks, and backward's memory, which counts for its forward
 * line. All of it stays, iteration by iteration. */
static void blamed(struct mt_builder *b)
{
    const char *torch = "/venv/lib/python3.11/site-packages/torch/";
    char worker[96], native[96], call[96];
    snprintf(worker, sizeof worker, "%sutils/data/worker.py:7 fetch", torch);
    snprintf(native, sizeof native, "%slib/libtorch_cuda.so@4096", torch);
    snprintf(call, sizeof call, "%snn/modules/module.py:1750 Module._call_impl|Net|layer", torch);
    const uint32_t stacks[] = {
        mt_build_stack(b, worker, native, NULL),
        mt_build_stack(b, "/opt/app/solve@401136", native, NULL),
        mt_build_stack(b, "/home/user/train.py:5 main", "/home/user/net.py:20 keep", NULL),
        mt_build_stack(b, "/home/user/train.py:6 main", "/home/user/net.py:20 keep", native, NULL),
        mt_build_stack(b, "/home/user/train.py:6 main", call, "/home/user/net.py:30 forward", NULL),
        0,
    };
    uint32_t step =
        mt_build_stack(b, "/home/user/train.py:9 main",
                       "/venv/lib/python3.11/site-packages/torch/optim/optimizer.py:500 "
                       "Optimizer.profile_hook_step.<locals>.wrapper",
                       NULL);
    uint64_t address = 0x7f0000000000;
    for (unsigned iteration = 0; iteration < 6; iteration++) {
        for (size_t i = 0; i < sizeof stacks / sizeof *stacks; i++, address += 4 * MT_MIB) {
            mt_build_on(b, 0, 1, stacks[i]);
            mt_build_alloc(b, address, MT_MIB * (i + 1));
        }
        mt_build_on(b, 0, 1, step);
        mt_build_alloc(b, address, MT_MIB);
        mt_build_free(b, address);
    }
    mt_build_end(b);
}

static void first_rank(struct mt_builder *builder)
{
    mt_scenario_rank(builder, 0);
}

static void second_rank(struct mt_builder *builder)
{
    mt_scenario_rank(builder, 1);
}

/* Ranks of two runs of a job, an hour apart. */
static void rank_of_first_run(struct mt_builder *builder)
{
    mt_build_info(builder, "host=node1");
    mt_build_info(builder, "start_realtime_ns=1700000000000000000");
    mt_scenario_rank(builder, 0);
}

static void rank_of_second_run(struct mt_builder *builder)
{
    mt_build_info(builder, "host=node1");
    mt_build_info(builder, "start_realtime_ns=1700003600000000000");
    mt_scenario_rank(builder, 1);
}

/* As a server names its workers. */
static void first_worker(struct mt_builder *builder)
{
    mt_build_info(builder, "title=VLLM::Worker_TP0");
    mt_scenario_rank(builder, 0);
}

static void second_worker(struct mt_builder *builder)
{
    mt_build_info(builder, "title=VLLM::Worker_TP1");
    mt_scenario_rank(builder, 1);
}

/* A block of PyTorch's, in a segment that CUDA gives for it or one that is there. */
static uint64_t planned_alloc(struct mt_builder *builder, uint64_t address, uint64_t requested,
                              uint64_t size, uint64_t allocated, uint64_t reserved)
{
    mt_build_event(builder, MT_REQUEST, size - requested, 0, 0);
    mt_build_event4(builder, MT_ALLOC, address, size, allocated + size, reserved);
    return allocated + size;
}

/* Three segments, each pinned by a block; what is free in them does not make one for the last
 * request, with PyTorch 2.15 on a card of 100 MiB. */
static void planned(struct mt_builder *builder)
{
    enum { BLOCK = 20971520, PIN = 12000256, SEGMENTS = 3 };
    const uint64_t base = 0x7f0000000000, reserved = (uint64_t)SEGMENTS * BLOCK;
    uint64_t allocated = 0;
    mt_build_info(builder, "command=python pins.py");
    mt_build_info(builder, "torch=2.15.0+cu132");
    mt_build_on(builder, 0, 0, 0);
    mt_build_event4(builder, MT_DEVICE_MEMORY, 100 * MT_MIB, 84 * MT_MIB, 16 * MT_MIB, 0);
    mt_build_on(builder, 0, 1, mt_build_stack(builder, "/home/user/pins.py:3 main", NULL));
    mt_build_event(builder, MT_REQUEST_STREAM, 0, 0, 0);
    for (unsigned i = 0; i < SEGMENTS; i++) {
        uint64_t address = base + (uint64_t)i * BLOCK;
        mt_build_event4(builder, MT_CUDA_MALLOC, address, BLOCK, 0, MT_API_CUDA_MALLOC);
        allocated =
            planned_alloc(builder, address, 20000000, BLOCK, allocated, (uint64_t)(i + 1) * BLOCK);
    }
    for (unsigned i = 0; i < SEGMENTS; i++) {
        allocated -= BLOCK;
        mt_build_event4(builder, MT_FREE, base + (uint64_t)i * BLOCK, BLOCK, allocated, reserved);
    }
    for (unsigned i = 0; i < SEGMENTS; i++)
        allocated =
            planned_alloc(builder, base + (uint64_t)i * BLOCK, 12000000, PIN, allocated, reserved);
    mt_build_on(builder, 0, 1, mt_build_stack(builder, "/home/user/pins.py:9 main", NULL));
    mt_build_event4(builder, MT_CUDA_MALLOC, 0, 27262976, 2, MT_API_CUDA_MALLOC);
    mt_build_event(builder, MT_OOM, 26000384, allocated, reserved);
    mt_build_end(builder);
}

/* A program that was killed: its trace ends in the middle, the rest is in the tail. */
static void killed(struct mt_builder *builder)
{
    mt_build_info(builder, "command=python train.py");
    mt_build_alloc(builder, 0x7f0000000000, 4096);
}

static void write_tail(const char *trace, size_t trace_size)
{
    struct mt_tail_builder *tail = mt_tail_builder_create(MT_BUILDER_TRACE_ID, trace_size, 2, 1000);
    mt_tail_build_definition(
        tail, &(struct mt_definition){MT_DEF_STRING, 1, .text = "f", .text_size = 1});
    for (uint32_t i = 0; i < 4; i++)
        mt_tail_build_event(tail, &(struct mt_event){.time_ns = 2000000 + i * 1000,
                                                     .thread = 1 + i % 2,
                                                     .kind = MT_LEAF,
                                                     .arg = {0x7f0000000000}});
    mt_tail_builder_write(tail, trace);
    mt_tail_builder_destroy(tail);
}

static void write_night(unsigned night)
{
    char name[32];
    struct mt_builder *builder = mt_builder_create();
    snprintf(name, sizeof name, "nights/%02u.mtap", night);
    mt_scenario_night(builder, night, (4 + (night >= 7)) * MT_MIB);
    mt_builder_write(builder, name);
    mt_builder_destroy(builder);
}

int main(int argc, char **argv)
{
    unsigned nights = argc > 1 ? (unsigned)atoi(argv[1]) : 10;
    mkdir("nights", 0777);
    mkdir("vast", 0777);
    mkdir("workers", 0777);
    mkdir("runs-apart", 0777);
    for (unsigned night = 1; night <= nights; night++)
        write_night(night);
    static const struct {
        const char *name;
        void (*make)(struct mt_builder *builder);
    } traces[] = {{"training.mtap", training},
                  {"keeping.mtap", keeping},
                  {"c-program.mtap", mt_scenario_c_program},
                  {"copies.mtap", mt_scenario_copies},
                  {"native.mtap", mt_scenario_native},
                  {"blamed.mtap", blamed},
                  {"layers.mtap", mt_scenario_layers},
                  {"mixed.mtap", mt_scenario_mixed},
                  {"phases.mtap", mt_scenario_phases},
                  {"oom-backward.mtap", mt_scenario_oom_in_backward},
                  {"oom-library.mtap", mt_scenario_oom_in_library},
                  {"oom.mtap", mt_scenario_oom},
                  {"oom-at-once.mtap", oom_at_once},
                  {"oom-larger.mtap", oom_larger},
                  {"fragmented.mtap", mt_scenario_fragmented},
                  {"held.mtap", mt_scenario_held},
                  {"held-nothing.mtap", held_nothing},
                  {"held-oom.mtap", mt_scenario_held_oom},
                  {"balance.mtap", mt_scenario_balance},
                  {"idle.mtap", mt_scenario_idle},
                  {"uses.mtap", uses},
                  {"hostile.mtap", hostile},
                  {"unknown.mtap", unknown},
                  {"planned.mtap", planned},
                  {"item.mtap", item},
                  {"pinned.mtap", pinned},
                  {"vast/old.mtap", little},
                  {"vast/new.mtap", vast},
                  {"rank0.mtap", first_rank},
                  {"rank1.mtap", second_rank},
                  {"runs-apart/0.mtap", rank_of_first_run},
                  {"runs-apart/1.mtap", rank_of_second_run},
                  {"workers/0.mtap", first_worker},
                  {"workers/1.mtap", second_worker},
                  {"killed.mtap", killed}};
    for (size_t i = 0; i < sizeof traces / sizeof *traces; i++) {
        struct mt_builder *builder = mt_builder_create();
        traces[i].make(builder);
        mt_builder_write(builder, traces[i].name);
        if (traces[i].make == killed) {
            size_t size;
            mt_builder_bytes(builder, &size);
            write_tail(traces[i].name, size);
        }
        mt_builder_destroy(builder);
    }
    return 0;
}
