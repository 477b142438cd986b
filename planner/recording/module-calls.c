/* SPDX-License-Identifier: Apache-2.0 */
#include "analyzer/support/grow.h"
#include "analyzer/support/to-integer.h"
#include "facts.h"

#include <string.h>

size_t mt_layer_size(const char *path)
{
    for (const char *part = path; *part;) {
        size_t size = strcspn(part, "."), digits = strspn(part, "0123456789");
        if (size && digits == size)
            return (size_t)(part - path) + size;
        part += size + (part[size] == '.');
    }
    return 0;
}

int mt_modules_number(struct mt_by_id *of_frame, const struct mt_recording *recording,
                      size_t (*size_of)(const char *path, const char *pattern), const char *pattern,
                      size_t *n)
{
    uint32_t limit = mt_definitions_frame_limit(recording->definitions),
             *first = calloc(limit + 1, sizeof *first);
    *n = 0;
    if (!first || mt_by_id_make(of_frame, limit, sizeof(uint32_t))) {
        free(first);
        return -ENOMEM;
    }
    for (uint32_t frame = 1; frame < limit; frame++) {
        const char *path = mt_recorded_module(recording, frame);
        size_t size = size_of(path, pattern), other = 0;
        if (!size)
            continue;
        for (; other < *n; other++) {
            const char *known = mt_recorded_module(recording, first[other]);
            if (size_of(known, pattern) == size && !strncmp(known, path, size))
                break;
        }
        if (other == *n)
            first[(*n)++] = frame;
        *(uint32_t *)mt_by_id(of_frame, frame) = (uint32_t)other + 1;
    }
    free(first);
    return 0;
}

static size_t layer_size(const char *path, const char *unused)
{
    (void)unused;
    return mt_layer_size(path);
}

int mt_shard_groups_find(struct mt_shard_groups *groups, const struct mt_recording *recording)
{
    *groups = (struct mt_shard_groups){0};
    int rc = mt_modules_number(&groups->of_frame, recording, layer_size, NULL, &groups->n);
    groups->n++; /* 0: no layer */
    return rc;
}

void mt_shard_groups_clear(struct mt_shard_groups *groups)
{
    mt_by_id_clear(&groups->of_frame);
    *groups = (struct mt_shard_groups){0};
}

static uint32_t group_of(const struct mt_turn *turn, const struct mt_by_id *of_frame)
{
    return turn->module ? *(uint32_t *)mt_by_id(of_frame, turn->module) : 0;
}

/* Return the group's last call in this iteration without a backward, or else the one whose backward
 * is in progress. */
static struct mt_module_call *awaited(const struct mt_module_calls *calls, size_t floor,
                                      uint32_t group, uint64_t event)
{
    struct mt_module_call *goes_on = NULL;
    for (size_t i = calls->n; i > floor; i--) {
        struct mt_module_call *call = &calls->call[i - 1];
        if (call->group != group)
            continue;
        if (!call->backward) {
            call->backward = event;
            return call;
        }
        goes_on = goes_on ? goes_on : call;
    }
    return goes_on;
}

static void end_call(struct mt_module_call *call, uint8_t phase, uint64_t event)
{
    if (call && phase == MT_PHASE_FORWARD)
        call->forward_end = event;
    else if (call)
        call->backward_end = event;
}

int mt_module_calls_find(struct mt_module_calls *calls, const struct mt_recording *recording,
                         const struct mt_by_id *of_frame)
{
    struct mt_module_call *call = NULL;
    uint32_t group = 0;
    uint8_t phase = MT_PHASE_OUTSIDE;
    bool went_back = false;
    size_t floor = 0;
    *calls = (struct mt_module_calls){0};
    for (size_t i = 0; i < recording->n_turns; i++) {
        const struct mt_turn *turn = &recording->turn[i];
        bool is_forward = turn->phase == MT_PHASE_FORWARD,
             is_back = turn->phase == MT_PHASE_BACKWARD;
        uint32_t now = is_forward || is_back ? group_of(turn, of_frame) : 0;
        went_back |= is_back;
        if (now == group && turn->phase == phase)
            continue;
        end_call(call, phase, turn->event);
        group = now;
        phase = turn->phase;
        call = now && is_back ? awaited(calls, floor, now, turn->event) : NULL;
        if (!now || !is_forward)
            continue;
        if (MT_GROW(calls->call, calls->capacity, calls->n))
            return -ENOMEM;
        floor = went_back ? calls->n : floor;
        went_back = false;
        call = &calls->call[calls->n++];
        *call = (struct mt_module_call){.group = now, .forward = turn->event};
    }
    end_call(call, phase, recording->events + 1);
    return 0;
}
