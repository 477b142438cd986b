/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PyTorch's snapshot: {"device_traces": [[entry, ...], ...], "segments": [...], ...}. The entries
 * of each device are written as its events are read, and then what is left at the end.
 */
#include "analyzer/print/page.h"
#include "analyzer/support/search.h"
#include "viz.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SMALL_SEGMENT (UINT64_C(2) << 20)

MT_ORDER_OF_POINTERS(by_address, struct mt_torch_block, MT_RISING(address))

static void put_pair(struct mt_viz *viz, const char *key, uint64_t number)
{
    mt_pickle_key(viz->pickle, key);
    mt_pickle_number(viz->pickle, number);
}

static void put_block(struct mt_viz *viz, struct mt_pickle_list *list, uint64_t address,
                      uint64_t size, const struct mt_torch_block *request)
{
    struct mt_pickle *pickle = viz->pickle;
    mt_pickle_item(pickle, list);
    mt_pickle_dict(pickle);
    put_pair(viz, "address", address);
    put_pair(viz, "size", size);
    put_pair(viz, "requested_size", request ? size - request->unused : 0);
    mt_pickle_key(pickle, "state");
    mt_pickle_key(pickle, !request         ? "inactive"
                          : request->waits ? "active_pending_free"
                                           : "active_allocated");
    mt_viz_frames(viz, "frames", request ? request->stack : 0);
    if (request)
        mt_viz_category(viz, mt_pass_rule(viz->pass, request->event));
    mt_pickle_dict_end(pickle);
}

struct sums {
    uint64_t allocated, active, requested;
};

static struct sums sum_up(struct mt_torch_block *const *request, size_t n)
{
    struct sums sums = {0};
    for (size_t i = 0; i < n; i++) {
        sums.active += request[i]->size;
        sums.allocated += request[i]->waits ? 0 : request[i]->size;
        sums.requested += request[i]->size - request[i]->unused;
    }
    return sums;
}

static void put_segment(struct mt_viz *viz, struct mt_pickle_list *list,
                        const struct mt_torch_segment *segment,
                        struct mt_torch_block *const *request, size_t n)
{
    struct mt_pickle *pickle = viz->pickle;
    struct sums sums = sum_up(request, n);
    bool is_small = segment->size == SMALL_SEGMENT ||
                    (n && request[0]->size <= SMALL_SEGMENT / 2 && segment->is_expandable);
    mt_pickle_item(pickle, list);
    mt_pickle_dict(pickle);
    put_pair(viz, "device", viz->slot ? viz->slot - 1 : 0);
    put_pair(viz, "address", segment->address);
    put_pair(viz, "total_size", segment->size);
    put_pair(viz, "allocated_size", sums.allocated);
    put_pair(viz, "active_size", sums.active);
    put_pair(viz, "requested_size", sums.requested);
    put_pair(viz, "stream", segment->stream);
    mt_pickle_key(pickle, "segment_type");
    mt_pickle_key(pickle, is_small ? "small" : "large");
    mt_viz_pool(viz, "segment_pool_id", segment->pool_number);
    mt_pickle_key(pickle, "is_expandable");
    mt_pickle_bool(pickle, segment->is_expandable);
    mt_viz_frames(viz, "frames", segment->stack);
    mt_pickle_key(pickle, "blocks");
    struct mt_pickle_list blocks;
    uint64_t at = segment->address, end = segment->address + segment->size;
    mt_pickle_list(pickle, &blocks);
    for (size_t i = 0; i < n; i++) {
        if (request[i]->address > at)
            put_block(viz, &blocks, at, request[i]->address - at, NULL);
        put_block(viz, &blocks, request[i]->address, request[i]->size, request[i]);
        at = request[i]->address + request[i]->size;
    }
    if (at < end)
        put_block(viz, &blocks, at, end - at, NULL);
    mt_pickle_list_end(pickle, &blocks);
    mt_pickle_dict_end(pickle);
}

/* Join adjacent pieces of an expandable segment. */
static void join(struct mt_viz *viz)
{
    struct mt_torch_memory *memory = &viz->memory;
    size_t n = 0;
    for (size_t i = 0; i < memory->n_segments; i++) {
        struct mt_torch_segment *last = n ? &memory->segment[n - 1] : NULL;
        const struct mt_torch_segment *next = &memory->segment[i];
        if (next->slot != viz->slot)
            continue;
        if (last && last->is_expandable && next->is_expandable && last->stream == next->stream &&
            last->pool_number == next->pool_number && last->address + last->size == next->address)
            last->size += next->size;
        else
            memory->segment[n++] = *next;
    }
    memory->n_segments = n;
}

/* Write the segments, which PyTorch holds from CUDA, with the blocks that tile them, after
 * mt_viz_trace. Blocks outside all segments (the trace lacks its beginning) become segments
 * of their own. */
static int put_segments(struct mt_viz *viz, struct mt_pickle_list *list)
{
    struct mt_torch_memory *memory = &viz->memory;
    struct mt_torch_block **live = calloc(memory->n_blocks + 1, sizeof *live);
    size_t n = 0, next = 0;
    if (!live)
        return -ENOMEM;
    for (size_t i = 0; i < memory->n_blocks; i++)
        if (memory->block[i].event && memory->block[i].slot == viz->slot)
            live[n++] = &memory->block[i];
    qsort(live, n, sizeof(struct mt_torch_block *), by_address);
    join(viz);
    for (size_t i = 0; i <= memory->n_segments; i++) {
        const struct mt_torch_segment *segment =
            i < memory->n_segments ? &memory->segment[i] : NULL;
        for (; next < n && (!segment || live[next]->address < segment->address); next++)
            put_segment(viz, list,
                        &(struct mt_torch_segment){.address = live[next]->address,
                                                   .size = live[next]->size,
                                                   .stream = live[next]->stream,
                                                   .pool_number = live[next]->pool_number},
                        &live[next], 1);
        size_t first = next;
        while (segment && next < n && live[next]->address < segment->address + segment->size &&
               live[next]->size <= segment->address + segment->size - live[next]->address &&
               (next == first ||
                live[next]->address >= live[next - 1]->address + live[next - 1]->size))
            next++;
        if (segment)
            put_segment(viz, list, segment, &live[first], next - first);
    }
    free(live);
    return viz->rc;
}

static int make_memos(struct mt_viz *viz)
{
    const struct mt_definitions *d = viz->pass->replay.definitions;
    uint32_t stacks = mt_definitions_stack_limit(d);
    return mt_by_id_make(&viz->stacks, stacks, sizeof(uint32_t)) ||
                   mt_by_id_make(&viz->forward, stacks, sizeof(uint32_t)) ||
                   mt_by_id_make(&viz->frames, mt_definitions_frame_limit(d), sizeof(uint32_t))
               ? -ENOMEM
               : 0;
}

/* Return how many entries there are, for the newest of them. */
static int count(struct mt_viz *viz, struct mt_export_error *error)
{
    struct mt_pickle *pickle = viz->pickle;
    viz->pickle = NULL;
    viz->skip = 0;
    int rc = mt_viz_trace(viz, error);
    viz->pickle = pickle;
    viz->skip = viz->entries > viz->export->newest ? viz->entries - viz->export->newest : 0;
    mt_torch_memory_clear(&viz->memory);
    viz->entries = 0;
    return rc;
}

/* Write an entry like the last one of PyTorch's recorder; here it gives memory_viz its category
 * "unknown". */
static void put_last(struct mt_viz *viz)
{
    mt_pickle_item(viz->pickle, &viz->list);
    mt_pickle_dict(viz->pickle);
    mt_pickle_key(viz->pickle, "action");
    mt_pickle_key(viz->pickle, "snapshot");
    mt_pickle_key(viz->pickle, "addr");
    mt_pickle_number(viz->pickle, 0);
    mt_pickle_key(viz->pickle, "size");
    mt_pickle_number(viz->pickle, 0);
    mt_pickle_key(viz->pickle, "stream");
    mt_pickle_number(viz->pickle, 0);
    mt_pickle_key(viz->pickle, "time_us");
    mt_pickle_number(viz->pickle, viz->start_us + viz->pass->replay.time_ns / 1000);
    mt_viz_frames(viz, "frames", 0);
    mt_viz_category(viz, -1);
    mt_pickle_dict_end(viz->pickle);
}

/* Write a device. A single moment has no entries: all are left out, and only the segments
 * remain. */
static int put_device(struct mt_viz *viz, unsigned slot, struct mt_export_error *error)
{
    int rc = 0;
    viz->slot = slot;
    viz->skip = viz->export->has_moment ? UINT64_MAX : 0;
    if (viz->export->newest && !viz->export->has_moment)
        rc = count(viz, error);
    mt_pickle_list(viz->pickle, &viz->list);
    if (!rc)
        rc = mt_viz_trace(viz, error);
    if (!rc && !viz->export->has_moment)
        put_last(viz);
    mt_pickle_list_end(viz->pickle, &viz->list);
    return rc;
}

static bool is_chosen(const struct mt_viz *viz, unsigned slot)
{
    const struct mt_question *question = &viz->export->question;
    return viz->pass->replay.of_torch.peak[slot].event &&
           (!question->one_device || mt_device_slot(question->device) == slot);
}

/* Write the devices. The segments of each follow from its entries but come after all entries in the
 * file, so the devices' states are kept, which are as large as what is live. */
static int put_devices(struct mt_viz *viz, const struct mt_analysis *analysis,
                       struct mt_export_error *error)
{
    struct mt_viz *stories = calloc(MT_DEVICES, sizeof *stories);
    struct mt_pickle_list devices, segments;
    unsigned last = 1;
    int rc = stories ? 0 : -ENOMEM;
    for (unsigned slot = 0; slot < MT_DEVICES; slot++)
        last = is_chosen(viz, slot) && slot > last ? slot : last;
    mt_pickle_key(viz->pickle, "device_traces");
    mt_pickle_list(viz->pickle, &devices);
    for (unsigned slot = 1; slot <= last && !rc; slot++) {
        mt_pickle_item(viz->pickle, &devices);
        if (is_chosen(viz, slot)) {
            const struct mt_device *device =
                analysis ? mt_analysis_device(analysis, (int)slot - 1) : NULL;
            viz->until = device ? device->at.event : analysis ? 0 : UINT64_MAX;
            rc = put_device(viz, slot, error);
        } else {
            mt_pickle_list(viz->pickle, &segments);
        }
        stories[slot] = *viz;
        *viz = (struct mt_viz){.export = viz->export,
                               .pass = viz->pass,
                               .path = viz->path,
                               .pickle = viz->pickle,
                               .start_us = viz->start_us,
                               .stacks = viz->stacks,
                               .frames = viz->frames,
                               .forward = viz->forward,
                               .texts = viz->texts,
                               .text_memos = viz->text_memos,
                               .text_memos_capacity = viz->text_memos_capacity};
    }
    mt_pickle_list_end(viz->pickle, &devices);
    mt_pickle_key(viz->pickle, "segments");
    mt_pickle_list(viz->pickle, &segments);
    for (unsigned slot = 1; slot <= last && stories; slot++) {
        if (!rc && is_chosen(viz, slot))
            rc = put_segments(&stories[slot], &segments);
        mt_torch_memory_clear(&stories[slot].memory);
    }
    mt_pickle_list_end(viz->pickle, &segments);
    free(stories);
    return rc;
}

static void put_annotation(struct mt_viz *viz, struct mt_pickle_list *list, const char *stage,
                           const char *name, unsigned slot, uint64_t time_ns)
{
    struct mt_pickle *pickle = viz->pickle;
    mt_pickle_item(pickle, list);
    mt_pickle_dict(pickle);
    mt_pickle_key(pickle, "stage");
    mt_pickle_key(pickle, stage);
    mt_pickle_key(pickle, "name");
    mt_pickle_text(pickle, name);
    mt_pickle_key(pickle, "device");
    mt_pickle_number(pickle, slot ? slot - 1 : 0);
    mt_pickle_key(pickle, "time_us");
    mt_pickle_number(pickle, viz->start_us + time_ns / 1000);
    mt_pickle_dict_end(pickle);
}

/* Put the run's phases: "iteration 3 forward", "evaluation after iteration 3". */
static void put_annotations(struct mt_viz *viz)
{
    const struct mt_replay *replay = &viz->pass->replay;
    struct mt_pickle_list list;
    mt_pickle_key(viz->pickle, "external_annotations");
    mt_pickle_list(viz->pickle, &list);
    for (unsigned slot = 1; slot < MT_DEVICES; slot++)
        for (size_t i = 0; i < replay->spans[slot].n && is_chosen(viz, slot); i++) {
            const struct mt_span *span = &replay->spans[slot].span[i];
            bool is_last = i + 1 == replay->spans[slot].n;
            char name[64] = "start-up", where[64];
            mt_span_text(where, sizeof where, &replay->spans[slot], span);
            if (mt_span_is_beside(&replay->spans[slot], span))
                snprintf(name, sizeof name, "%s", where + strlen("the "));
            else if (span->iteration)
                snprintf(name, sizeof name, "iteration %u %s", span->iteration,
                         mt_span_evaluates(span) ? "evaluation" : mt_phase_names[span->phase].name);
            put_annotation(viz, &list, "START", name, slot, span->time_ns);
            put_annotation(viz, &list, "END", name, slot,
                           is_last ? replay->time_ns : span[1].time_ns);
        }
    mt_pickle_list_end(viz->pickle, &list);
}

/* Put the settings as far as the trace knows them: the variable that the program was started with.
 */
static void put_settings(struct mt_viz *viz)
{
    static const char *const names[] = {"PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF"};
    const struct mt_definitions *d = viz->pass->replay.definitions;
    mt_pickle_key(viz->pickle, "allocator_settings");
    mt_pickle_dict(viz->pickle);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char key[64];
        snprintf(key, sizeof key, "env.%s", names[i]);
        const char *setting = mt_info(d, key);
        if (setting) {
            mt_pickle_key(viz->pickle, names[i]);
            mt_pickle_text(viz->pickle, setting);
        }
    }
    mt_pickle_dict_end(viz->pickle);
}

/* Check that there are blocks: memory_viz breaks on a snapshot of nothing. */
static int check_blocks(const struct mt_viz *viz, struct mt_export_error *error)
{
    for (unsigned slot = 1; slot < MT_DEVICES; slot++)
        if (is_chosen(viz, slot))
            return 0;
    error->path = viz->path;
    snprintf(error->text, sizeof error->text,
             "has no memory of PyTorch's allocator; use --format perfetto or csv");
    return -ENODATA;
}

static int put_snapshot(struct mt_viz *viz, struct mt_export_error *error)
{
    struct mt_analysis analysis;
    int rc = check_blocks(viz, error);
    if (rc)
        return rc;
    rc = make_memos(viz);
    if (rc)
        return rc;
    if (viz->export->has_moment)
        rc = mt_export_analyze(viz->export, viz->path, &analysis, error);
    if (!rc) {
        mt_pickle_dict(viz->pickle);
        rc = put_devices(viz, viz->export->has_moment ? &analysis : NULL, error);
        put_annotations(viz);
        put_settings(viz);
        mt_pickle_dict_end(viz->pickle);
    }
    if (viz->export->has_moment)
        mt_analysis_destroy(&analysis);
    return rc;
}

int mt_export_memory_viz(const struct mt_export *export, struct mt_sink *sink,
                         struct mt_export_error *error)
{
    const char *path = export->paths[0];
    struct mt_texts texts = {0};
    struct mt_pickle pickle;
    int rc;
    struct mt_pass *pass = mt_pass_open(export, path, &rc, error);
    if (!pass)
        return rc;
    const char *start = mt_info(pass->replay.definitions, "start_realtime_ns");
    struct mt_viz viz = {.export = export,
                         .pass = pass,
                         .path = path,
                         .pickle = &pickle,
                         .start_us = start ? strtoull(start, NULL, 10) / 1000 : 0,
                         .texts = &texts};
    mt_pickle_begin(&pickle, sink);
    rc = put_snapshot(&viz, error);
    mt_pickle_end(&pickle);
    mt_by_id_clear(&viz.stacks);
    mt_by_id_clear(&viz.frames);
    mt_by_id_clear(&viz.forward);
    free(viz.text_memos);
    mt_texts_clear(&texts);
    mt_pass_close(pass);
    return rc;
}
