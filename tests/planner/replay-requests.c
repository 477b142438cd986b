/* SPDX-License-Identifier: Apache-2.0 */
/*
 * replay-requests CONF RELEASE TOTAL OTHERS REQUESTS [STATES]: feeds the model of the allocator
 * with a file of requests, and compares it after each with what PyTorch's own allocator had, by a
 * file that drive.py wrote. Prints the first difference and exits with 1, or what was compared.
 */
#include "planner/allocator/model.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* After one request: six numbers of drive.py, all UINT64_MAX where nothing was looked at. */
struct real {
    uint64_t allocated, reserved, active, requested, inactive_split, ooms;
};

struct file {
    void *content;
    size_t count;
};

struct comparison {
    const struct real *real;
    bool totals_only; /* cudaMallocAsync has no other counters */
    uint64_t differs; /* the first request that does, from 1; 0: none */
};

static struct file read_file(const char *path, size_t element)
{
    FILE *stream = fopen(path, "rb");
    struct file file = {NULL, 0};
    long size;

    if (!stream || fseek(stream, 0, SEEK_END) || (size = ftell(stream)) < 0 ||
        fseek(stream, 0, SEEK_SET)) {
        perror(path);
        exit(2);
    }
    file.count = (size_t)size / element;
    file.content = malloc(file.count * element + 1);
    if (!file.content || fread(file.content, element, file.count, stream) != file.count) {
        perror(path);
        exit(2);
    }
    fclose(stream);
    return file;
}

static bool is_other(const char *what, uint64_t model, uint64_t real)
{
    if (model == real)
        return false;
    printf("  %s: the model has %" PRIu64 ", PyTorch %" PRIu64 "\n", what, model, real);
    return true;
}

static void compare(void *context, size_t index, const struct mt_request *request,
                    const struct mt_allocator_state *now, bool out_of_memory)
{
    struct comparison *comparison = context;
    const struct real *real = &comparison->real[index];
    bool differs;

    (void)out_of_memory;
    if (comparison->differs || real->allocated == UINT64_MAX || /* not known */
        (now->allocated == real->allocated && now->reserved == real->reserved &&
         now->active == real->active && now->requested == real->requested &&
         now->inactive_split == real->inactive_split && now->ooms == real->ooms))
        return;
    differs = is_other("allocated", now->allocated, real->allocated);
    differs |= is_other("reserved", now->reserved, real->reserved);
    if (comparison->totals_only && !differs)
        return;
    differs |= is_other("active", now->active, real->active);
    differs |= is_other("requested", now->requested, real->requested);
    differs |= is_other("inactive split", now->inactive_split, real->inactive_split);
    differs |= is_other("out of memory", now->ooms, real->ooms);
    if (!differs)
        return;
    comparison->differs = index + 1;
    printf("  after request %zu: kind %u, block %u, size %" PRIu64 ", stream %u, pool %u\n", index,
           request->kind, request->block, request->size, request->stream, request->pool);
}

static struct mt_allocator *create(char **argv)
{
    struct mt_torch_release release;
    struct mt_alloc_conf_error error;
    struct mt_alloc_conf conf;
    struct mt_allocator_card card = {.total = strtoull(argv[3], NULL, 10),
                                     .others = strtoull(argv[4], NULL, 10),
                                     .has_streams = true}; /* drive.py has made some by then */

    mt_alloc_conf_init(&conf);
    if (!mt_torch_read_release(argv[2], &release) ||
        mt_alloc_conf_read(&conf, release, argv[1], &error)) {
        fprintf(stderr, "%s: %s\n", argv[1], error.text);
        exit(2);
    }
    return mt_allocator_create(&conf, release, &card);
}

int main(int argc, char **argv)
{
    struct file requests, states = {NULL, 0};
    struct comparison comparison = {0};
    struct mt_allocator *allocator;
    const struct mt_allocator_state *peak;
    int error;

    if (argc < 6)
        return 2;
    allocator = create(argv);
    comparison.totals_only = strstr(argv[1], "cudaMallocAsync");
    requests = read_file(argv[5], sizeof(struct mt_request));
    if (argc > 6) {
        states = read_file(argv[6], sizeof(struct real));
        comparison.real = states.content;
        if (states.count != requests.count)
            return 2;
    }
    error = mt_allocator_feed_watched(allocator, requests.content, requests.count,
                                      argc > 6 ? compare : NULL, &comparison);
    if (error)
        printf("  request %" PRIu64 ": %s\n", mt_allocator_fed(allocator), strerror(-error));
    peak = mt_allocator_peak(allocator);
    printf("%zu requests, peak %" PRIu64 " reserved, %" PRIu64 " allocated, %" PRIu64
           " out of memory, %" PRIu64 " retries\n",
           requests.count, peak->reserved, peak->allocated, peak->ooms, peak->retries);
    mt_allocator_destroy(allocator);
    free(requests.content);
    free(states.content);
    return error || comparison.differs;
}
