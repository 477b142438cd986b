/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heat [STEPS]: the memory of a small simulation in CUDA C, without its kernels: two fields that
 * take turns, a page-locked buffer for what is written out, scratch memory for each step. It has
 * two faults, see README.md:
 *
 * - each tenth step takes a snapshot, and forgets those that are not the newest;
 * - the table of material constants is made, and never used.
 */
#include <cuda_runtime_api.h>
#include <memtap.h>
#include <stdio.h>
#include <stdlib.h>

enum { CELLS = 1 << 22, MATERIALS = 1 << 18, SNAPSHOT_STEPS = 10 };
#define FIELD_BYTES (CELLS * sizeof(float))
#define TABLE_BYTES (MATERIALS * sizeof(double))

struct simulation {
    float *now, *next, *snapshot, *staging;
    double *materials;
};

static void check(cudaError_t error, const char *doing)
{
    if (error == cudaSuccess)
        return;
    fprintf(stderr, "heat: %s: %s\n", doing, cudaGetErrorString(error));
    exit(1);
}

static void *device_memory(size_t bytes, const char *name)
{
    void *memory;
    check(cudaMalloc(&memory, bytes), name);
    memtap_name(memory, name);
    return memory;
}

static void begin(struct simulation *heat)
{
    memtap_range_push("begin");
    heat->now = device_memory(FIELD_BYTES, "field");
    heat->next = device_memory(FIELD_BYTES, "next field");
    heat->materials = device_memory(TABLE_BYTES, "materials");
    check(cudaMallocHost((void **)&heat->staging, FIELD_BYTES), "staging buffer");
    check(cudaMemset(heat->now, 0, FIELD_BYTES), "first field");
    memtap_range_pop();
}

static void take_snapshot(struct simulation *heat)
{
    memtap_range_push("snapshot");
    heat->snapshot = device_memory(FIELD_BYTES, "snapshot"); /* and the one before? */
    check(cudaMemcpy(heat->snapshot, heat->now, FIELD_BYTES, cudaMemcpyDeviceToDevice), "snapshot");
    check(cudaMemcpy(heat->staging, heat->snapshot, FIELD_BYTES, cudaMemcpyDeviceToHost), "output");
    memtap_range_pop();
}

static void step(struct simulation *heat)
{
    void *scratch;
    float *before = heat->now;
    check(cudaMallocAsync(&scratch, FIELD_BYTES / 4, NULL), "scratch");
    /* A kernel would compute heat->next from heat->now here. */
    check(cudaMemcpy(heat->next, heat->now, FIELD_BYTES, cudaMemcpyDeviceToDevice), "step");
    check(cudaFreeAsync(scratch, NULL), "scratch");
    heat->now = heat->next;
    heat->next = before;
}

static void end(struct simulation *heat)
{
    memtap_range_push("end");
    check(cudaFree(heat->now), "field");
    check(cudaFree(heat->next), "next field");
    check(cudaFree(heat->snapshot), "snapshot");
    check(cudaFree(heat->materials), "materials");
    check(cudaFreeHost(heat->staging), "staging buffer");
    memtap_range_pop();
}

int main(int argc, char **argv)
{
    struct simulation heat = {0};
    int steps = argc > 1 ? atoi(argv[1]) : 50;
    begin(&heat);
    for (int i = 0; i < steps; i++) {
        memtap_range_push("step");
        step(&heat);
        if (i % SNAPSHOT_STEPS == 0)
            take_snapshot(&heat);
        memtap_range_pop();
    }
    end(&heat);
    return 0;
}
