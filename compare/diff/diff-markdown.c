/* SPDX-License-Identifier: Apache-2.0 */
/* For a comment on a change: tables in GitHub's and GitLab's Markdown. */
#include "diff-report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SITES_SHOWN 10u

/* Write a program's text, with all markup escaped. */
static void put(FILE *out, const char *text)
{
    mt_put_text(out, text, MT_FOR_MARKDOWN);
}

static void put_lines(FILE *out, const char *before, const char *lines)
{
    while (*lines) {
        size_t n = strcspn(lines, "\n");
        char line[MT_WORDS];
        snprintf(line, sizeof line, "%.*s", (int)n, lines);
        fputs(before, out);
        put(out, line);
        putc('\n', out);
        lines += n + (lines[n] == '\n');
    }
}

static void put_change(FILE *out, const struct mt_change *change)
{
    char old[MT_SIZE_TEXT], now[MT_SIZE_TEXT], size[MT_SIZE_TEXT], percent[MT_SIZE_TEXT];
    int64_t bytes = mt_change_of(change);
    fprintf(out, " %s | %s | %s | %s |\n", mt_size_text(old, change->old),
            mt_size_text(now, change->now), bytes ? mt_signed_size_text(size, bytes) : "=",
            change->is_noise ? "noise"
            : bytes          ? mt_percent_text(percent, change)
                             : "");
}

static const char *certainty_text(enum mt_certainty certainty)
{
    return certainty == MT_GUESS ? " (guess)" : certainty == MT_LIKELY ? " (likely)" : "";
}

static void put_totals(FILE *out, const struct mt_diff_device *device)
{
    struct mt_diff_total totals[MT_DIFF_TOTALS];
    size_t n = mt_diff_totals(totals, device);
    fputs("| | before | now | change | |\n|---|--:|--:|--:|--:|\n", out);
    for (size_t i = 0; i < n; i++) {
        fprintf(out, "| %s%s |", totals[i].label, certainty_text(totals[i].certainty));
        put_change(out, totals[i].change);
    }
}

static void put_site(FILE *out, const struct mt_diff_site *site)
{
    char size[MT_SIZE_TEXT], now[MT_SIZE_TEXT], place[512], was[512], saver[512], blame[64];
    char held[MT_DIFF_HELD_TEXT];
    fprintf(out, "| %s | %s | %s%s | ", mt_signed_size_text(size, mt_change_of(&site->bytes)),
            mt_size_text(now, site->bytes.now), mt_categories[site->category].label,
            certainty_text(site->certainty));
    mt_line_text(place, sizeof place, site->line);
    mt_renamed_text(was, sizeof was, site);
    put(out, place);
    if (*site->operator_name) {
        fputs(" for ", out);
        put(out, site->operator_name);
    }
    if (*site->module) {
        fputs(" in ", out);
        put(out, site->module);
    }
    if (*was) {
        fputs(", ", out);
        put(out, was);
    }
    mt_saver_text(saver, sizeof saver, site);
    if (*saver) {
        fputs(", now saved by ", out);
        put(out, saver);
    }
    mt_diff_held_text(held, site);
    if (*held) {
        fputs(", ", out);
        put(out, held);
    }
    mt_blame_text(blame, sizeof blame, site);
    fprintf(out, " | %s%s%s |\n", site->bytes.is_noise ? "noise" : mt_diff_kind_names[site->kind],
            *blame ? ", " : "", blame);
}

static void put_sites(FILE *out, const struct mt_diff_device *device)
{
    size_t shown = 0, all = 0;
    for (size_t i = 0; i < device->n_sites; i++)
        all += (size_t)mt_diff_is_shown(&device->site[i]);
    if (!all && !device->scale)
        return;
    fputs("\n| change | now | category | call site | |\n|--:|--:|---|---|---|\n", out);
    if (device->scale) {
        char text[128], size[MT_SIZE_TEXT], now[MT_SIZE_TEXT];
        mt_scale_text(text, sizeof text, device->scale, device->n_scaled);
        fprintf(out, "| %s | %s | | %s | |\n",
                mt_signed_size_text(size, mt_change_of(&device->scaled)),
                mt_size_text(now, device->scaled.now), text);
    }
    for (size_t i = 0; i < device->n_sites && shown < SITES_SHOWN; i++)
        if (mt_diff_is_shown(&device->site[i])) {
            put_site(out, &device->site[i]);
            shown++;
        }
    if (shown < all)
        fprintf(out, "\n%zu more call sites have changed.\n", all - shown);
}

static void put_device(FILE *out, const struct mt_diff *diff, const struct mt_diff_device *device)
{
    char old[128], now[128];
    mt_peak_text(old, sizeof old, device->old);
    mt_peak_text(now, sizeof now, device->now);
    if (diff->n_devices > 1 && device->rank >= 0)
        fprintf(out, "Rank %ld, device %d, with the largest change of %zu:\n\n", device->rank,
                device->device, diff->n_devices);
    if (device->peak_moved)
        fprintf(out, "The peak moved from %s to %s.\n\n", old, now);
    mt_compared_text(old, sizeof old, device);
    if (*old)
        fprintf(out, "%s\n\n", old);
    put_totals(out, device);
    put_sites(out, device);
}

int mt_diff_markdown(const struct mt_diff *diff, FILE *out)
{
    char verdict[MT_WORDS];
    const struct mt_diff_device *device = mt_diff_main_device(diff);
    char *doubts = mt_diff_doubts(diff), *changes = mt_diff_changes(diff);
    if (doubts && changes) {
        mt_diff_verdict(verdict, sizeof verdict, diff);
        put_lines(out, "> **Note:** ", doubts);
        fputs(*doubts ? "\n**" : "**", out);
        put(out, verdict);
        fputs("**\n\n", out);
        put_lines(out, "- ", changes);
        if (*changes)
            putc('\n', out);
        if (device)
            put_device(out, diff, device);
    }
    int rc = doubts && changes ? 0 : -ENOMEM;
    free(doubts);
    free(changes);
    return rc;
}
