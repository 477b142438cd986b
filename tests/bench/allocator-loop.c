/* SPDX-License-Identifier: Apache-2.0 */
/*
 * allocator-loop [FILE]: feeds the model of PyTorch's allocator with requests from memory, under
 * many settings; prints lines of `name value unit`: millions of requests in a second of the
 * processor. The requests are those of training steps (as many blocks live as in a model of 48
 * layers), and random ones; or those of a file that tests/planner/drive.py wrote.
 */
#include "planner/allocator/model.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define REQUESTS 4000000
#define LAYERS 48
#define OF_LAYER 40 /* blocks that forward keeps */
#define TURNS 3

struct pattern {
    const char *name;
    struct mt_request *request;
    size_t count;
};

static uint64_t state = 1;

static uint64_t any(uint64_t below)
{
    state = state * 6364136223846793005 + 1442695040888963407;
    return (state >> 33) % below;
}

static void add(struct pattern *pattern, unsigned kind, uint32_t block, uint64_t size)
{
    if (pattern->count < REQUESTS)
        pattern->request[pattern->count++] =
            (struct mt_request){.kind = kind & 15, .block = block, .size = size};
}

/* A layer's blocks, and temporaries that come and go between them. */
static void forward(struct pattern *pattern, uint32_t layer, const uint64_t *sizes)
{
    for (uint32_t i = 0; i < OF_LAYER; i++) {
        uint32_t temporary = LAYERS * OF_LAYER + i % 4;

        add(pattern, MT_REQUEST_ALLOCATE, layer * OF_LAYER + i, sizes[i]);
        add(pattern, MT_REQUEST_ALLOCATE, temporary, sizes[(i * 7) % OF_LAYER]);
        add(pattern, MT_REQUEST_FREE, temporary, 0);
    }
}

static void backward(struct pattern *pattern, uint32_t layer, const uint64_t *sizes)
{
    for (uint32_t i = OF_LAYER; i-- > 0;) {
        uint32_t gradient = LAYERS * OF_LAYER + 8 + i % 16;

        add(pattern, MT_REQUEST_ALLOCATE, gradient, sizes[i]);
        add(pattern, MT_REQUEST_FREE, layer * OF_LAYER + i, 0);
        add(pattern, MT_REQUEST_FREE, gradient, 0);
    }
}

static void make_steps(struct pattern *pattern)
{
    uint64_t sizes[OF_LAYER];

    for (unsigned i = 0; i < OF_LAYER; i++)
        sizes[i] = i % 3 ? 512 + any(1 << 20) : 1 + any(40 << 20);
    while (pattern->count < REQUESTS - 2 * 3 * LAYERS * OF_LAYER) {
        for (uint32_t layer = 0; layer < LAYERS; layer++)
            forward(pattern, layer, sizes);
        for (uint32_t layer = LAYERS; layer-- > 0;)
            backward(pattern, layer, sizes);
    }
}

static void make_random(struct pattern *pattern)
{
    static bool live[4000];

    while (pattern->count < REQUESTS) {
        uint32_t block = (uint32_t)any(4000);

        if (live[block])
            add(pattern, MT_REQUEST_FREE, block, 0);
        else
            add(pattern, MT_REQUEST_ALLOCATE, block, 1 + any(UINT64_C(512) << any(16)));
        live[block] = !live[block];
    }
}

static void read_requests(struct pattern *pattern, const char *path)
{
    FILE *file = fopen(path, "rb");

    if (file) {
        pattern->count = fread(pattern->request, sizeof(struct mt_request), REQUESTS, file);
        fclose(file);
    }
}

static double now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* Seconds of one turn. */
static double feed(const struct pattern *pattern, const char *settings)
{
    struct mt_torch_release release = {2, 15};
    struct mt_allocator_card card = {UINT64_C(80) << 30, 0};
    struct mt_alloc_conf_error error;
    struct mt_allocator *allocator;
    struct mt_alloc_conf conf;
    double begin;

    mt_alloc_conf_init(&conf);
    if (mt_alloc_conf_read(&conf, release, settings, &error))
        exit(2);
    allocator = mt_allocator_create(&conf, release, &card);
    begin = now();
    if (!allocator || mt_allocator_feed(allocator, pattern->request, pattern->count))
        exit(2);
    begin = now() - begin;
    mt_allocator_destroy(allocator);
    return begin;
}

static int by_size(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;

    return (a > b) - (a < b);
}

static void measure(const struct pattern *pattern)
{
    static const char *const settings[] = {
        "",
        "expandable_segments:True",
        "max_split_size_mb:64",
        "roundup_power2_divisions:4",
        "garbage_collection_threshold:0.8,per_process_memory_fraction:0.9",
        "backend:cudaMallocAsync",
    };

    for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++) {
        double seconds[TURNS];

        for (unsigned turn = 0; turn < TURNS; turn++)
            seconds[turn] = feed(pattern, settings[i]);
        qsort(seconds, TURNS, sizeof(seconds[0]), by_size);
        printf("allocator.%s.%s %.2f million/s\n", pattern->name, i ? settings[i] : "default",
               (double)pattern->count / seconds[TURNS / 2] / 1e6);
    }
}

int main(int argc, char **argv)
{
    struct pattern steps = {.name = "steps"}, random = {.name = "random"}, file = {.name = "file"};
    struct pattern *patterns[] = {&steps, &random, &file};

    for (unsigned i = 0; i < 3; i++) {
        patterns[i]->request = malloc(REQUESTS * sizeof(struct mt_request));
        if (!patterns[i]->request)
            return 1;
    }
    make_steps(&steps);
    make_random(&random);
    if (argc > 1)
        read_requests(&file, argv[1]);
    for (unsigned i = 0; i < 3; i++) {
        if (patterns[i]->count)
            measure(patterns[i]);
        free(patterns[i]->request);
    }
    return 0;
}
