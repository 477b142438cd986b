/* SPDX-License-Identifier: Apache-2.0 */
/*
 * make-c-run FILE EVENTS SEED [EACH]: the trace of a made-up program that asks CUDA itself for
 * memory, on two devices: short and long lives, other threads that free, frees that fail or come
 * twice, copies, phases, page-locked memory, memory that runs out. The same for the same seed.
 */
#include "trace-builder.h"
#include "trace-format/cuda-apis.h"

#include <stdio.h>
#include <stdlib.h>

#define SLOTS 64u /* allocations live at a time, at most */
#define LINES 16u
#define BASE 0x7f0000000000ull
#define HOST 0x550000000000ull
#define SLOT (1ull << 30)

static struct mt_builder *builder;
static uint64_t state;
static uint32_t line[LINES];
static struct {
    uint64_t size;
    int device, is_async;
} slot[SLOTS];
static uint64_t host_size;
static unsigned depth;

static uint64_t chance(uint64_t of)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state % of;
}

static uint64_t address_of(unsigned i)
{
    return BASE + i * SLOT;
}

static void on(int device)
{
    mt_build_on(builder, device, 1 + (uint32_t)chance(2), line[chance(LINES)]);
}

/* A few slots hold for long; the others come and go. */
static void take(unsigned i)
{
    slot[i].size = (1 + chance(1000)) << (i % 8 ? 12 : 18);
    slot[i].device = i % 3 ? 0 : 1;
    slot[i].is_async = i % 5 == 4;
    on(slot[i].device);
    if (slot[i].is_async)
        mt_build_event4(builder, MT_CUDA_MALLOC_ASYNC, address_of(i), slot[i].size, 7,
                        MT_API_CUDA_MALLOC_ASYNC);
    else
        mt_build_event4(builder, MT_CUDA_MALLOC, address_of(i), slot[i].size, 0,
                        MT_API_CUDA_MALLOC);
}

static void give_back(unsigned i)
{
    int fails = chance(500) == 0, twice = chance(500) == 0;
    if (i % 8 == 0 && chance(50))
        return;
    on(slot[i].device);
    if (slot[i].is_async) {
        mt_build_event(builder, MT_CUDA_FREE_ASYNC, address_of(i), 7, MT_API_CUDA_FREE_ASYNC);
    } else {
        mt_build_event(builder, MT_CUDA_FREE, address_of(i), MT_API_CUDA_FREE, 0);
        if (fails) {
            mt_build_event(builder, MT_CUDA_FREE_FAILED, address_of(i), 1, MT_API_CUDA_FREE);
            return;
        }
        if (twice)
            mt_build_event(builder, MT_CUDA_FREE, address_of(i), MT_API_CUDA_FREE, 0);
    }
    slot[i].size = 0;
}

static void touch(void)
{
    unsigned to = (unsigned)chance(SLOTS), from = (unsigned)chance(SLOTS);
    on(0);
    if (chance(2))
        mt_build_event4(builder, MT_CUDA_COPY, address_of(to) + 64, address_of(from) + 4, 64,
                        MT_API_CUDA_COPY);
    else
        mt_build_event(builder, MT_CUDA_SET, address_of(to), 64, MT_API_CUDA_SET);
}

static void range(uint32_t name)
{
    mt_build_on(builder, MT_NO_DEVICE, 1, 0);
    if (depth && (depth == 3 || chance(2))) {
        mt_build_event(builder, MT_RANGE_POP, 0, 0, 0);
        depth--;
    } else {
        mt_build_event(builder, MT_RANGE_PUSH, name, 0, 0);
        depth++;
    }
}

static void on_host(void)
{
    on(MT_NO_DEVICE);
    if (host_size)
        mt_build_event(builder, MT_CUDA_FREE, HOST, MT_API_CUDA_FREE_HOST, 0);
    host_size = host_size ? 0 : (1 + chance(100)) << 12;
    if (host_size)
        mt_build_event4(builder, MT_CUDA_MALLOC, HOST, host_size, 0, MT_API_CUDA_MALLOC_HOST);
}

static void one(const uint32_t *names)
{
    unsigned i = (unsigned)chance(SLOTS);
    uint64_t what = chance(2000);
    if (what == 0) {
        on(0);
        mt_build_event4(builder, MT_CUDA_MALLOC, 0, 1ull << 40, 2, MT_API_CUDA_MALLOC);
    } else if (what < 3) {
        mt_build_on(builder, (int)chance(2), 1, 0);
        mt_build_event4(builder, MT_DEVICE_MEMORY, 80ull << 30, (40ull << 30) + chance(1 << 30),
                        (30ull << 30) + chance(1 << 30), 0);
    } else if (what < 20) {
        range(names[chance(3)]);
    } else if (what < 30) {
        on_host();
    } else if (what < 500) {
        touch();
    } else if (slot[i].size) {
        give_back(i);
    } else {
        take(i);
    }
}

int main(int argc, char **argv)
{
    if (argc < 4)
        return 2;
    uint32_t names[3];
    uint64_t events = strtoull(argv[2], NULL, 10);
    state = 88172645463325252u + strtoull(argv[3], NULL, 10) * 7919;
    builder = mt_builder_create();
    mt_build_info(builder, "command=./solver --steps 9");
    for (unsigned i = 0; i < 3; i++)
        names[i] = mt_build_string(builder, (const char *[]){"load", "solve", "write"}[i]);
    for (unsigned i = 0; i < LINES; i++) {
        char text[64];
        snprintf(text, sizeof text, "solver.c:%u step_%u", 10 * i, i);
        line[i] = mt_build_stack(builder, "solver.c:5 main", text, NULL);
    }
    uint64_t each = argc > 4 ? strtoull(argv[4], NULL, 10) : UINT64_MAX; /* events of a block */
    for (uint64_t i = 0; i < events; i++) {
        size_t size;
        one(names);
        if (i % each == each - 1)
            mt_builder_bytes(builder, &size); /* which ends the block */
    }
    mt_build_end(builder);
    mt_builder_write(builder, argv[1]);
    mt_builder_destroy(builder);
    return 0;
}
