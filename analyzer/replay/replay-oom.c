/* SPDX-License-Identifier: Apache-2.0 */
/* The replay's part for out-of-memory events and samples of devices. */
#include "replay.h"

void mt_replay_add_oom(struct mt_replay *replay, const struct mt_oom *oom)
{
    const struct mt_thread_state *thread = replay->present.thread;
    const struct mt_oom *last = mt_replay_last_oom(replay);
    bool is_again = last && last->wanted == oom->wanted && last->of_library == oom->of_library,
         is_reported = last && last->of_cuda && !oom->of_cuda && !oom->of_library; /* by PyTorch */
    if (last && (last->of_cuda || last->of_library) && !last->went_on &&
        last->device == oom->device && (is_again || is_reported))
        replay->ooms.n--;
    else
        mt_ooms_went_on(&replay->ooms);
    struct mt_oom *kept = &replay->ooms.kept[replay->ooms.n++ % MT_OOMS_KEPT];
    *kept = *oom;
    replay->tracker.full = replay->tracker.phases.now.epoch + UINT64_C(1);
    if (thread->at.n_nodes) {
        kept->node_name = thread->at.nodes[thread->at.n_nodes - 1].name;
        kept->forward_stack = thread->at.nodes[thread->at.n_nodes - 1].forward_stack;
    }
    if (replay->question.moment.kind == MT_AT_OOM)
        mt_replay_take_all(replay);
}

/* Note an out-of-memory, and what PyTorch reserves then: it may have just freed its cache. The
 * program may be in another phase than at the last allocation: if backward's first allocation
 * fails, nothing else shows that backward has begun. */
static int note_oom(struct mt_replay *replay, unsigned slot, uint64_t reserved)
{
    struct mt_totals *now = &replay->of_torch.now[slot];
    mt_timeline_reserve(&replay->timeline[slot], reserved - now->reserved, now->event);
    now->reserved = reserved;
    now->when = replay->tracker.phases.now;
    int rc = mt_spans_note(&replay->spans[slot], &now->when, replay->visits.parts, replay->events,
                           replay->time_ns, now->allocated, now->reserved);
    mt_spans_fail(&replay->spans[slot], &now->when);
    return rc;
}

int mt_replay_oom(struct mt_replay *replay, const struct mt_event *event)
{
    unsigned slot = mt_device_slot(event->device);
    struct mt_request_stream *of = mt_requests_of(&replay->present.thread->requests, slot);
    if (of && !of->number && mt_stream_pools_number(&replay->reserved.pools, of, &of->number))
        return -ENOMEM;
    if (replay->of_torch.now[slot].event && note_oom(replay, slot, event->OOM.reserved))
        return -ENOMEM;
    mt_replay_add_oom(replay, &(struct mt_oom){.time_ns = event->time_ns,
                                               .wanted = event->OOM.size,
                                               .allocated = event->OOM.allocated,
                                               .reserved = event->OOM.reserved,
                                               .limit = replay->reserved.limit[slot],
                                               .stack = event->stack,
                                               .device = event->device,
                                               .pool = of ? of->number : 0});
    return 0;
}

int mt_replay_library_oom(struct mt_replay *replay, const struct mt_event *event)
{
    unsigned slot = mt_device_slot(event->device);
    const struct mt_totals *now = &replay->of_torch.now[slot];
    if (note_oom(replay, slot, now->reserved))
        return -ENOMEM;
    mt_replay_add_oom(replay, &(struct mt_oom){.time_ns = event->time_ns,
                                               .wanted = event->size,
                                               .allocated = now->allocated,
                                               .reserved = now->reserved,
                                               .stack = event->stack,
                                               .device = event->device,
                                               .of_library = 1});
    return 0;
}

uint64_t mt_sample_besides(const struct mt_sample *sample)
{
    uint64_t used = sample->total > sample->free ? sample->total - sample->free : 0;
    uint64_t others = sample->others + sample->cuda_bytes;
    if (sample->own)
        return sample->own > sample->cuda_bytes ? sample->own - sample->cuda_bytes : 0;
    return used > others ? used - others : 0;
}

bool mt_sample_has_bytes_twice(const struct mt_sample *sample, const struct mt_sample *other)
{
    return mt_sample_besides(other) < mt_sample_besides(sample) &&
           other->objects.contexts >= sample->objects.contexts &&
           other->objects.modules >= sample->objects.modules;
}

/* Return whether memory ran out at the moment, and CUDA allocated something between the sample
 * before and it, and nothing between it and the one after: that one says what was free. */
static bool is_of_the_moment(const struct mt_replay *replay, unsigned slot)
{
    const struct mt_samples *samples = &replay->samples;
    uint64_t then = replay->of_torch.at[slot].cuda_bytes;
    return replay->question.moment.kind == MT_AT_OOM && samples->at[slot].cuda_bytes != then &&
           samples->last[slot].cuda_bytes == then;
}

/* Take a sample. Of those before and after the moment the nearer one counts, if it can be relied
 * on. */
void mt_replay_sample(struct mt_replay *replay, const struct mt_event *event)
{
    unsigned slot = mt_device_slot(event->device);
    replay->samples.last[slot] =
        (struct mt_sample){.time_ns = event->time_ns,
                           .total = event->DEVICE_MEMORY.total,
                           .free = event->DEVICE_MEMORY.free,
                           .own = event->DEVICE_MEMORY.own,
                           .others = event->DEVICE_MEMORY.others,
                           .cuda_bytes = replay->cuda.heap.total[slot].bytes,
                           .objects = mt_cuda_objects_on(&replay->objects, slot)};
    if (!replay->samples.first[slot].time_ns)
        replay->samples.first[slot] = replay->samples.last[slot];
    const struct mt_sample *before = &replay->samples.at[slot];
    uint64_t moment_ns = replay->at_moment.device_ns[slot];
    if (replay->samples.awaited[slot] &&
        (!before->time_ns || event->time_ns - moment_ns <= moment_ns - before->time_ns ||
         is_of_the_moment(replay, slot) ||
         mt_sample_has_bytes_twice(before, &replay->samples.last[slot])))
        replay->samples.at[slot] = replay->samples.last[slot];
    replay->samples.awaited[slot] = 0;
}
