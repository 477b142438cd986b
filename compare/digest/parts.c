/* SPDX-License-Identifier: Apache-2.0 */
/* Parts that one side of a comparison has and the other lacks. */
#include "analyzer/support/glob.h"
#include "analyzer/support/grow.h"
#include "processes.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const mt_part_kind_names[MT_PART_KINDS] = {
    [MT_PART_PROCESS] = "process",
    [MT_PART_RANK] = "rank",
    [MT_PART_DEVICE] = "device",
    [MT_PART_PHASE] = "phase",
};

static int add(struct mt_part_list *list, const struct mt_run_part *part)
{
    for (size_t i = 0; i < list->n; i++)
        if (list->part[i].kind == part->kind && list->part[i].has == part->has &&
            list->part[i].is_missing == part->is_missing && !strcmp(list->part[i].name, part->name))
            return 0; /* a phase of several devices */
    if (MT_GROW(list->part, list->capacity, list->n))
        return -ENOMEM;
    list->part[list->n++] = *part;
    return 0;
}

static const struct mt_digest *side_of(const struct mt_process *process, bool is_old)
{
    return is_old ? process->old : process->now;
}

void mt_process_name(char out[MT_PART_NAME], const struct mt_processes *processes,
                     const struct mt_process *of, bool is_old)
{
    const struct mt_digest *digest = side_of(of, is_old);
    size_t n = 0, number = 0;
    for (size_t i = 0; i < processes->n; i++) {
        const struct mt_digest *other = side_of(&processes->process[i], is_old);
        if (!other || strcmp(mt_digest_text(other->program), mt_digest_text(digest->program)) ||
            other->rank != digest->rank)
            continue;
        n++;
        number += &processes->process[i] != of &&
                  (other->pid < digest->pid || (other->pid == digest->pid && other < digest));
    }
    const char *program = *mt_digest_text(digest->program) ? mt_digest_text(digest->program) : "?";
    snprintf(out, MT_PART_NAME, "%.160s", program);
    if (n > 1)
        snprintf(out, MT_PART_NAME, "%.160s#%zu", program, number + 1);
}

static int add_process(struct mt_part_list *list, const struct mt_processes *processes,
                       const struct mt_process *process, bool is_missing)
{
    const struct mt_digest *has = side_of(process, is_missing);
    struct mt_run_part part = {MT_PART_PROCESS,           "", is_missing, has, NULL,
                               mt_digest_main_device(has)};
    bool is_rank =
        has->rank >= 0 && has->world_size != 1 && !process->parent && !process->is_renamed;
    if (is_rank) {
        part.kind = MT_PART_RANK;
        snprintf(part.name, sizeof part.name, "%ld", has->rank);
    } else {
        mt_process_name(part.name, processes, process, is_missing);
    }
    return add(list, &part);
}

/* The old digests of one group are one run; the newest one's process. */
static bool is_required(const struct mt_processes *processes, size_t process)
{
    const struct mt_digest *newest = NULL;
    for (size_t i = 0; i < processes->n_old; i++) {
        const struct mt_digest *digest = &processes->old_digest[i];
        if (digest->group &&
            (!newest || digest->started_unix_ns > newest->started_unix_ns ||
             (digest->started_unix_ns == newest->started_unix_ns && digest->group > newest->group)))
            newest = digest;
    }
    for (size_t i = 0; i < processes->n_old; i++)
        if (processes->old[i] == process &&
            (!newest || processes->old_digest[i].group == newest->group))
            return true;
    return false;
}

static const struct mt_digest_device *device_of(const struct mt_digest *digest, int index)
{
    for (size_t i = 0; i < digest->n_devices; i++)
        if (digest->devices[i].device == index)
            return &digest->devices[i];
    return NULL;
}

bool mt_has_only_device(const struct mt_digest *a, const struct mt_digest *b)
{
    return a->n_devices == 1 && b->n_devices == 1;
}

static bool has_phase(const struct mt_digest_device *device, unsigned phase)
{
    return device->most_event[phase] || device->most_in_phase[phase];
}

static bool has_range(const struct mt_digest_device *device, const char *name)
{
    for (size_t i = 0; i < device->ranges.n; i++)
        if (!strcmp(device->ranges.share[i].name, name))
            return true;
    return false;
}

/* List the phases and named ranges that one device has and the other lacks. */
static int add_phases(struct mt_part_list *list, struct mt_run_part part,
                      const struct mt_digest_device *other)
{
    int rc = 0;
    part.kind = MT_PART_PHASE;
    for (unsigned i = MT_PHASE_OUTSIDE + 1; i < MT_PHASE_COUNT && !rc; i++)
        if (has_phase(part.device, i) && !has_phase(other, i)) {
            snprintf(part.name, sizeof part.name, "%s", mt_phase_names[i].name);
            rc = add(list, &part);
        }
    for (size_t i = 0; i < part.device->ranges.n && !rc; i++)
        if (!has_range(other, part.device->ranges.share[i].name)) {
            snprintf(part.name, sizeof part.name, "%s", part.device->ranges.share[i].name);
            rc = add(list, &part);
        }
    return rc;
}

/* List the devices and phases that one digest of a process has and the other lacks. */
static int add_inside(struct mt_part_list *list, const struct mt_digest *has,
                      const struct mt_digest *lacks, bool is_missing)
{
    int rc = 0;
    if (lacks->ended.how != MT_ENDED_WHOLE) /* the reason is known */
        return 0;
    for (size_t i = 0; i < has->n_devices && !rc; i++) {
        const struct mt_digest_device *device = &has->devices[i];
        const struct mt_digest_device *other = device_of(lacks, device->device);
        struct mt_run_part part = {MT_PART_DEVICE, "", is_missing, has, lacks, device};
        if (!other && (is_missing || lacks->n_devices)) {
            if (device->device == MT_NO_DEVICE)
                snprintf(part.name, sizeof part.name, "unknown");
            else
                snprintf(part.name, sizeof part.name, "%d", device->device);
            rc = add(list, &part);
        }
        other = !other && mt_has_only_device(has, lacks) ? lacks->devices : other;
        if (!rc && other)
            rc = add_phases(list, part, other);
    }
    return rc;
}

/* Compare every new run of a process with its newest old one. */
static int add_insides(struct mt_part_list *list, const struct mt_processes *processes,
                       size_t process, bool is_missing)
{
    const struct mt_digest *old = processes->process[process].old;
    int rc = 0;
    for (size_t i = 0; i < processes->n_new && !rc; i++) {
        const struct mt_digest *now = &processes->new_digest[i];
        if (processes->now[i] == process)
            rc = is_missing ? add_inside(list, old, now, true) : add_inside(list, now, old, false);
    }
    return rc;
}

static int add_all(struct mt_part_list *list, const struct mt_processes *processes, bool is_missing)
{
    int rc = 0;
    for (size_t i = 0; i < processes->n && !rc; i++) {
        const struct mt_process *process = &processes->process[i];
        const struct mt_digest *has = side_of(process, is_missing);
        bool is_alone = !side_of(process, !is_missing) || process->is_renamed;
        if (has && is_alone && (!is_missing || is_required(processes, i)))
            rc = add_process(list, processes, process, is_missing);
    }
    for (size_t i = 0; i < processes->n && !rc; i++)
        if (processes->process[i].now && processes->process[i].old)
            rc = add_insides(list, processes, i, is_missing);
    return rc;
}

int mt_parts_find(struct mt_part_list *parts, const struct mt_processes *processes)
{
    *parts = (struct mt_part_list){0};
    int rc = processes->n_old && processes->n_new ? add_all(parts, processes, true) : 0;
    return rc || !processes->n_old || !processes->n_new ? rc : add_all(parts, processes, false);
}

const char *mt_part_text(char out[2 * MT_PART_NAME], const struct mt_run_part *part)
{
    const struct mt_digest *has = part->has;
    int n = snprintf(out, 2 * MT_PART_NAME, "%s %s", mt_part_kind_names[part->kind], part->name);
    size_t at = (size_t)n;
    if (part->kind == MT_PART_PROCESS && has->rank >= 0)
        snprintf(out + at, 2 * MT_PART_NAME - at, " of rank %ld", has->rank);
    else if (part->lacks && has->rank >= 0 && has->world_size != 1)
        snprintf(out + at, 2 * MT_PART_NAME - at, " of rank %ld", has->rank);
    else if (part->lacks && *mt_digest_text(has->program))
        snprintf(out + at, 2 * MT_PART_NAME - at, " of %.150s", mt_digest_text(has->program));
    return out;
}

static bool is_allowed(const struct mt_run_part *part, const char *pattern)
{
    const char *kind = mt_part_kind_names[part->kind];
    size_t n = strlen(kind);
    return !strncmp(pattern, kind, n) && pattern[n] == ':' && mt_glob(pattern + n + 1, part->name);
}

bool mt_part_is_allowed(const struct mt_run_part *part, const char *const *allowed, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (is_allowed(part, allowed[i]))
            return true;
    return false;
}

bool mt_part_is_pattern(const char *text)
{
    const char *colon = strchr(text, ':');
    for (int kind = 0; colon && colon[1] && kind < MT_PART_KINDS; kind++)
        if (strlen(mt_part_kind_names[kind]) == (size_t)(colon - text) &&
            !strncmp(text, mt_part_kind_names[kind], (size_t)(colon - text)))
            return true;
    return colon && colon[1] && !strncmp(text, "test:", 5);
}
