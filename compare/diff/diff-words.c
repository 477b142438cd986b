/* SPDX-License-Identifier: Apache-2.0 */
#include "diff-words.h"
#include "analyzer/support/text.h"
#include "analyzer/support/to-integer.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

const char *mt_signed_size_text(char out[MT_SIZE_TEXT], int64_t bytes)
{
    char size[MT_SIZE_TEXT];
    mt_size_text(size, mt_magnitude(bytes));
    snprintf(out, MT_SIZE_TEXT, "%s%.24s", bytes > 0 ? "+" : bytes < 0 ? "-" : "", size);
    return out;
}

#define MOST_PERCENT 9999.0 /* above this, there was next to nothing before */

const char *mt_percent_text(char out[MT_SIZE_TEXT], const struct mt_change *change)
{
    double percent = 100.0 * (double)mt_change_of(change) / (double)change->old;
    if (change->old)
        snprintf(out, MT_SIZE_TEXT, percent < MOST_PERCENT ? "%+.*f %%" : ">%.*f %%",
                 percent < 1000 ? 1 : 0, percent < MOST_PERCENT ? percent : MOST_PERCENT);
    else
        *out = '\0';
    return out;
}

void mt_site_place_text(char *out, size_t size, const char *file, uint32_t line,
                        const char *function, const char *operator_name)
{
    char number[16] = "";
    if (line)
        snprintf(number, sizeof number, ":%u", line);
    if (!strcmp(function, "?") && !strcmp(file, "?"))
        snprintf(out, size, "an unknown line");
    else if (!strcmp(function, mt_last_part(file))) /* native code without symbols */
        snprintf(out, size, "%s%s", function, number);
    else
        snprintf(out, size, "%s%s %s", mt_last_part(file), number, function);
    if (*operator_name)
        mt_text_append(out, size, " (%s)", operator_name);
}

void mt_line_text(char *out, size_t size, const struct mt_line *line)
{
    mt_site_place_text(out, size, line->file, line->line, line->function, "");
}

void mt_diff_held_text(char out[MT_DIFF_HELD_TEXT], const struct mt_diff_site *site)
{
    char bytes[MT_SIZE_TEXT];
    const struct mt_held_most *held = site->held;
    *out = '\0';
    if (!held || site->bytes.is_noise)
        return;
    mt_text_append(out, MT_DIFF_HELD_TEXT, "now ");
    if (held->bytes < site->bytes.now)
        mt_text_append(out, MT_DIFF_HELD_TEXT, "%s of it ", mt_size_text(bytes, held->bytes));
    mt_text_append(out, MT_DIFF_HELD_TEXT, "%s %s", mt_holder_verb(held->root), held->path);
}

void mt_saver_text(char *out, size_t size, const struct mt_diff_site *site)
{
    const struct mt_digest_saver *saver = site->saver;
    *out = '\0';
    if (saver)
        mt_site_place_text(out, size, saver->file, saver->line, saver->function, "");
}

void mt_renamed_text(char *out, size_t size, const struct mt_diff_site *site)
{
    const struct mt_line *line = site->line;
    *out = '\0';
    if (site->was) {
        size_t n = (size_t)snprintf(out, size, "was ");
        mt_line_text(out + n, size - n, site->was);
    } else if (line->old_file || line->old_function) {
        snprintf(out, size, "was %s%s%s", line->old_file ? mt_last_part(line->old_file) : "",
                 line->old_file && line->old_function ? " " : "",
                 line->old_function ? line->old_function : "");
    }
}

void mt_blame_text(char *out, size_t size, const struct mt_diff_site *site)
{
    char own[MT_SIZE_TEXT], counted[MT_SIZE_TEXT];
    int64_t change = mt_change_of(&site->bytes), blame = mt_to_int64(fabs(site->blame) + 0.5);
    mt_signed_size_text(own, change);
    mt_signed_size_text(counted, change < 0 ? -blame : blame);
    *out = '\0';
    if (site->bytes.is_noise || !strcmp(own, counted))
        return;
    if (blame)
        snprintf(out, size, "contributes %s", counted);
    else if (!site->part && mt_change_of(&site->unused) == change)
        snprintf(out, size, "not requested: %s blocks", change > 0 ? "larger" : "smaller");
    else
        snprintf(out, size, "%s",
                 site->part > 0 ? "follows the parameters" : "offset by other changes");
}

void mt_peak_text(char *out, size_t size, const struct mt_digest_device *device)
{
    const char *where = *device->where ? device->where : mt_phase_names[MT_PHASE_OUTSIDE].label;
    bool is_named = !strncmp(where, "the ", 4) || !strncmp(where, "iteration ", 10) ||
                    !strcmp(where, mt_phase_names[MT_PHASE_OUTSIDE].label);
    snprintf(out, size, "%s%s", is_named ? "" : "the ", where);
}

void mt_compared_text(char *out, size_t size, const struct mt_diff_device *device)
{
    char old[MT_SIZE_TEXT], now[MT_SIZE_TEXT];
    *out = '\0';
    if (device->in_phase >= 0)
        snprintf(out, size,
                 "Categories and lines are from the peak of the %s,\n"
                 "  %s before and %s now.",
                 mt_phase_names[device->in_phase].label, mt_size_text(old, device->compared.old),
                 mt_size_text(now, device->compared.now));
}

static void put_number(FILE *out, const char *before, const char *what,
                       const struct mt_change *change)
{
    char size[MT_SIZE_TEXT], percent[MT_SIZE_TEXT];
    fprintf(out, "%s%s %s", before, what, mt_signed_size_text(size, mt_change_of(change)));
    if (change->old)
        fprintf(out, " (%s)", mt_percent_text(percent, change));
    if (change->is_noise)
        fputs(", within noise", out);
}

/* Write how much of the compared change was not requested, if it is most of it. */
static void put_unused(FILE *out, const struct mt_diff_device *device)
{
    char size[MT_SIZE_TEXT];
    double part = (double)device->unused / (double)(mt_change_of(&device->compared) ?: 1);
    if (part > 0.5)
        fprintf(out, ", %s%s in blocks larger than requested",
                mt_signed_size_text(size, device->unused), part <= 1 ? " of it" : "");
}

/* Write "peak +1.20 GiB (+3.1 %)", and what else has changed if the peak has not. */
static void put_change(FILE *out, const struct mt_diff_device *device)
{
    char size[MT_SIZE_TEXT], where[128];
    const struct mt_change *peak = &device->allocated;
    if (mt_change_of(peak))
        put_number(out, "", "peak", peak);
    else
        fprintf(out, "peak unchanged at %s", mt_size_text(size, peak->now));
    mt_peak_text(where, sizeof where, device->now);
    if (device->peak_moved)
        fprintf(out, " and moved to %s", where);
    else if (device->in_phase >= 0)
        put_number(out, ", ", mt_phase_names[device->in_phase].label,
                   &device->phase[device->in_phase]);
    else if (!mt_change_of(peak) && mt_change_of(&device->reserved))
        put_number(out, ", ", "reserved", &device->reserved);
    else if (!mt_change_of(peak) && mt_change_of(&device->growth))
        put_number(out, ", ", "growth per iteration", &device->growth);
    put_unused(out, device);
}

static void put_site(FILE *out, const struct mt_diff_device *device,
                     const struct mt_diff_site *site)
{
    char size[MT_SIZE_TEXT], place[512], saver[512];
    mt_line_text(place, sizeof place, site->line);
    mt_saver_text(saver, sizeof saver, site);
    fprintf(out, ": %s %s%s%s%s at %s", mt_categories[site->category].label,
            mt_signed_size_text(size, mt_change_of(&site->bytes)),
            *saver ? " now saved for backward at " : "", saver, *saver ? ", allocated" : "", place);
    if (*site->operator_name)
        fprintf(out, " (%s)", site->operator_name);
    if (*saver)
        return;
    if (site->kind != MT_DIFF_GROWN && site->kind != MT_DIFF_SHRUNK)
        fprintf(out, ", %s", mt_diff_kind_names[site->kind]);
    if (site->category == MT_CATEGORY_PARAMETERS && device->following)
        fprintf(out, ", with gradients and optimizer state %s",
                mt_signed_size_text(size, device->following));
}

void mt_scale_text(char *out, size_t size, double scale, uint64_t lines)
{
    char count[MT_SIZE_TEXT];
    snprintf(out, size, "batch or length × %.4g (%s lines)", scale, mt_count_text(count, lines));
}

static void put_scale(FILE *out, const struct mt_diff_device *device)
{
    char text[128], bytes[MT_SIZE_TEXT];
    mt_scale_text(text, sizeof text, device->scale, device->n_scaled);
    fprintf(out, ": %s %s", text, mt_signed_size_text(bytes, mt_change_of(&device->scaled)));
}

static bool has_other_settings(const struct mt_diff *diff)
{
    return diff->n_old && diff->n_new && strcmp(diff->old->allocator, diff->now->allocator);
}

#define PARTS_SHOWN 3u

/* Write "rank 3 is missing; ". Return whether there was anything to write. */
static bool put_parts(FILE *out, const struct mt_diff *diff)
{
    char text[2 * MT_PART_NAME];
    for (size_t i = 0; i < diff->parts.n && i < PARTS_SHOWN; i++)
        fprintf(out, "%s is %s; ", mt_part_text(text, &diff->parts.part[i]),
                diff->parts.part[i].is_missing ? "missing" : "new");
    if (diff->parts.n > PARTS_SHOWN)
        fprintf(out, "%zu more are missing or new; ", diff->parts.n - PARTS_SHOWN);
    return diff->parts.n;
}

void mt_diff_verdict(char *text, size_t size, const struct mt_diff *diff)
{
    char bytes[MT_SIZE_TEXT], more[MT_SIZE_TEXT];
    const struct mt_diff_device *device = mt_diff_main_device(diff);
    FILE *out = fmemopen(text, size, "w");
    *text = '\0';
    if (!out)
        return;
    bool has_parts = put_parts(out, diff);
    if (!device) {
        fputs("neither run allocated device memory", out);
    } else if (mt_diff_is_same(device)) {
        fprintf(out, "no %sdifference%s: peak %s allocated, %s reserved", has_parts ? "other " : "",
                has_other_settings(diff) ? " with other allocator settings" : "",
                mt_size_text(bytes, device->allocated.now),
                mt_size_text(more, device->reserved.now));
    } else {
        const struct mt_diff_site *site = device->site;
        put_change(out, device);
        if (has_other_settings(diff))
            fputs(" with other allocator settings", out);
        if (device->scale)
            put_scale(out, device);
        else if (device->n_sites && mt_change_of(&site->bytes) && !site->bytes.is_noise)
            put_site(out, device, site);
    }
    fclose(out);
    text[size - 1] = '\0';
}
