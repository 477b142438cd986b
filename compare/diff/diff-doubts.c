/* SPDX-License-Identifier: Apache-2.0 */
/* What a reader must know before comparing two runs. */
#include "diff-words.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static const char *field_of(const struct mt_digest *digest, size_t field)
{
    return *(char *const *)((const char *)digest + field);
}

static bool all_equal(const struct mt_digest *digests, size_t n, size_t field)
{
    for (size_t i = 1; i < n; i++)
        if (strcmp(field_of(digests, field), field_of(&digests[i], field)))
            return false;
    return true;
}

static const char *shown(const char *text)
{
    return *text ? text : "none";
}

/* Write "programs: a.py before, b.py now". The first run of a side stands for it. */
static void put_texts(FILE *out, const struct mt_diff *diff, const char *what, size_t field)
{
    const char *old = field_of(diff->old, field), *now = field_of(diff->now, field);
    if (strcmp(old, now)) {
        fprintf(out, "%s: ", what);
        mt_put_text(out, shown(old), MT_FOR_PLAIN);
        fputs(" before, ", out);
        mt_put_text(out, shown(now), MT_FOR_PLAIN);
        fputs(" now\n", out);
    } else if (!all_equal(diff->old, diff->n_old, field) ||
               !all_equal(diff->now, diff->n_new, field))
        fprintf(out, "%s differ between the runs\n", what);
}

static uint64_t memory_of(const struct mt_digest *digest)
{
    const struct mt_digest_device *device = mt_digest_main_device(digest);
    return device ? device->memory : 0;
}

static void put_devices(FILE *out, const struct mt_diff *diff)
{
    char old[MT_SIZE_TEXT], now[MT_SIZE_TEXT];
    uint64_t before = memory_of(diff->old), after = memory_of(diff->now);
    put_texts(out, diff, "different devices", offsetof(struct mt_digest, device_name));
    if (before && after && before != after)
        fprintf(out, "different devices: %s of memory before, %s now\n", mt_size_text(old, before),
                mt_size_text(now, after));
}

static void put_sizes(FILE *out, const struct mt_diff *diff)
{
    if (diff->old->world_size != diff->now->world_size)
        fprintf(out, "jobs of different sizes: %ld process%s before, %ld now\n",
                labs(diff->old->world_size), labs(diff->old->world_size) == 1 ? "" : "es",
                labs(diff->now->world_size));
}

/* Write a line about one run. */
__attribute__((format(printf, 3, 4))) static void doubt(FILE *out, const struct mt_digest *digest,
                                                        const char *format, ...)
{
    va_list arguments;
    mt_put_text(out, digest->path, MT_FOR_PLAIN);
    fputs(": ", out);
    va_start(arguments, format);
    vfprintf(out, format, arguments);
    va_end(arguments);
    putc('\n', out);
}

/* Report parts that one side lacks. */
static void put_parts(FILE *out, const struct mt_diff *diff)
{
    char text[2 * MT_PART_NAME], size[MT_SIZE_TEXT];
    for (size_t i = 0; i < diff->parts.n; i++) {
        const struct mt_run_part *part = &diff->parts.part[i];
        mt_put_text(out, mt_part_text(text, part), MT_FOR_PLAIN);
        fputs(part->is_missing ? " is missing" : " is new", out);
        if (part->kind == MT_PART_PHASE)
            putc('\n', out);
        else
            fprintf(out, ": %s %s\n",
                    mt_size_text(size, part->device ? part->device->allocated : 0),
                    part->is_missing ? "before" : "now");
    }
}

static void put_damage(FILE *out, const struct mt_digest *digests, size_t n)
{
    char count[MT_SIZE_TEXT], line[MT_ENDED_TEXT];
    for (size_t i = 0; i < n; i++) {
        const struct mt_digest *digest = &digests[i];
        if (!digest->is_sound)
            doubt(out, digest, "%s; comparing what precedes it", digest->fault);
        else if (mt_ended_is_reported(&digest->ended))
            doubt(out, digest, "ended%s", mt_ended_line(line, &digest->ended) + strlen("Ended"));
        else if (!mt_ended_is_plain(&digest->ended))
            doubt(out, digest, "%s", mt_ended_text(line, &digest->ended));
        if (digest->lost)
            doubt(out, digest, "%s events were lost; its numbers may be wrong",
                  mt_count_text(count, digest->lost));
        if (digest->cut_stacks)
            doubt(out, digest, "%s deep %s truncated: \"(N frames)\" marks what was left out",
                  mt_count_text(count, digest->cut_stacks),
                  digest->cut_stacks == 1 ? "stack is" : "stacks are");
    }
}

static char *written(const struct mt_diff *diff, void (*write)(FILE *, const struct mt_diff *))
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return NULL;
    if (diff->n_old && diff->n_new)
        write(out, diff);
    if (!mt_close_memory(out))
        return text;
    free(text);
    return NULL;
}

static void write_doubts(FILE *out, const struct mt_diff *diff)
{
    put_damage(out, diff->old, diff->n_old);
    put_damage(out, diff->now, diff->n_new);
    put_texts(out, diff, "different programs", offsetof(struct mt_digest, program));
    put_devices(out, diff);
    put_sizes(out, diff);
    if (mt_diff_is_of_two_ranks(diff))
        return;
    put_parts(out, diff);
}

static void write_changes(FILE *out, const struct mt_diff *diff)
{
    static const struct {
        const char *what;
        size_t field;
    } texts[] = {
        {"allocator settings", offsetof(struct mt_digest, allocator)},
        {"PyTorch", offsetof(struct mt_digest, torch)},
        {"Python", offsetof(struct mt_digest, python)},
        {"memtap", offsetof(struct mt_digest, memtap)},
    };
    if (mt_diff_is_of_two_ranks(diff))
        fprintf(out, "ranks: %ld before, %ld now\n", diff->old->rank, diff->now->rank);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        put_texts(out, diff, texts[i].what, texts[i].field);
    const struct mt_diff_device *device = mt_diff_main_device(diff);
    if (device && device->old->iterations != device->now->iterations)
        fprintf(out, "iterations: %u before, %u now\n", device->old->iterations,
                device->now->iterations);
}

char *mt_diff_doubts(const struct mt_diff *diff)
{
    return written(diff, write_doubts);
}

char *mt_diff_changes(const struct mt_diff *diff)
{
    return written(diff, write_changes);
}
