/* SPDX-License-Identifier: Apache-2.0 */
#include "diff-report.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define WIDTH 80u
#define BEFORE_PLACE 41u
#define BEFORE_HELD 14u /* paths are long */
#define SITES_SHOWN 15u
#define SHARES_SHOWN 5u

struct page {
    FILE *out;
    const struct mt_style *style;
    unsigned width;
};

bool mt_diff_is_shown(const struct mt_diff_site *site)
{
    if (site->is_scaled)
        return false;
    return mt_change_of(&site->bytes) || mt_change_of(&site->blocks) || site->was ||
           site->line->old_file || site->line->old_function;
}

static bool is_empty(const struct mt_change *change)
{
    return !change->old && !change->now;
}

static void add(struct mt_diff_total *totals, size_t *n, struct mt_diff_total total)
{
    if (!is_empty(total.change))
        totals[(*n)++] = total;
}

size_t mt_diff_totals(struct mt_diff_total *totals, const struct mt_diff_device *d)
{
    size_t n = 0, section;
    add(totals, &n, (struct mt_diff_total){"allocated", "peak allocated", &d->allocated});
    add(totals, &n, (struct mt_diff_total){"reserved", "peak reserved", &d->reserved});
    add(totals, &n, (struct mt_diff_total){"cached", "unused cache at peak", &d->cached});
    add(totals, &n, (struct mt_diff_total){"at_end", "allocated at the end", &d->at_end});
    add(totals, &n, (struct mt_diff_total){"growth", "growth per iteration", &d->growth});
    section = n;
    for (unsigned i = 0; i < mt_n_categories; i++)
        add(totals, &n,
            (struct mt_diff_total){mt_categories[i].name, mt_categories[i].label, &d->category[i],
                                   mt_categories[i].colour, n == section, d->certainty[i]});
    add(totals, &n, (struct mt_diff_total){"unseen", "not recorded", &d->unseen});
    section = n;
    for (unsigned i = 0; i < MT_PHASE_COUNT; i++)
        add(totals, &n,
            (struct mt_diff_total){mt_phase_names[i].name, mt_phase_names[i].label, &d->phase[i], 0,
                                   n == section});
    return n;
}

/* Print a change: growth is red, a decrease is green, noise is neither. */
static void print_change(const struct page *page, const struct mt_change *change)
{
    char size[MT_SIZE_TEXT];
    int64_t bytes = mt_change_of(change);
    unsigned colour = !bytes || change->is_noise ? 0 : bytes > 0 ? 160 : 34;
    mt_put_coloured(page->out, page->style, colour, "%12s",
                    bytes ? mt_signed_size_text(size, bytes) : "=");
}

static void print_total(const struct page *page, const struct mt_diff_total *total,
                        enum mt_certainty *least)
{
    char old[MT_SIZE_TEXT], now[MT_SIZE_TEXT], percent[MT_SIZE_TEXT];
    const struct mt_change *change = total->change;
    if (total->begins_section)
        putc('\n', page->out);
    fprintf(page->out, " %c", mt_certainty_row(least, total->certainty));
    mt_put_coloured(page->out, page->style, total->colour, "%-20s", total->label);
    fprintf(page->out, "%12s%12s", mt_size_text(old, change->old), mt_size_text(now, change->now));
    print_change(page, change);
    if (change->is_noise)
        fputs("   noise", page->out);
    else if (mt_change_of(change) && change->old)
        fprintf(page->out, "%10s", mt_percent_text(percent, change));
    putc('\n', page->out);
}

static void print_totals(const struct page *page, const struct mt_diff_device *device)
{
    struct mt_diff_total totals[MT_DIFF_TOTALS];
    size_t n = mt_diff_totals(totals, device);
    enum mt_certainty least = MT_CERTAIN;
    fprintf(page->out, "\n%-22s%12s%12s%12s\n", "", "before", "now", "change");
    for (size_t i = 0; i < n; i++)
        print_total(page, &totals[i], &least);
    mt_certainty_legend(page->out, " ", least);
}

static void print_below(const struct page *page, const char *before, const char *text)
{
    char safe[WIDTH * 4 + 1];
    size_t room = WIDTH - BEFORE_PLACE - strlen(before);
    mt_safe_text(safe, sizeof safe, text, room, MT_CUT_END, page->style);
    fprintf(page->out, "%*s%s%s\n", (int)BEFORE_PLACE, "", before, safe);
}

static void print_site(const struct page *page, const struct mt_diff_site *site,
                       enum mt_certainty *least)
{
    char place[512], was[512], saver[512], blame[64], safe[WIDTH * 4 + 1], now[MT_SIZE_TEXT];
    char held[MT_DIFF_HELD_TEXT];
    print_change(page, &site->bytes);
    fprintf(page->out, "%11s %c", mt_size_text(now, site->bytes.now),
            mt_certainty_row(least, site->certainty));
    mt_put_category(page->out, page->style, site->category, 16);
    mt_line_text(place, sizeof place, site->line);
    mt_renamed_text(was, sizeof was, site);
    mt_blame_text(blame, sizeof blame, site);
    mt_safe_text(safe, sizeof safe, place, WIDTH - BEFORE_PLACE, MT_CUT_END, page->style);
    fprintf(page->out, "%s\n", safe);
    if (*site->operator_name)
        print_below(page, "for ", site->operator_name);
    if (*site->module)
        print_below(page, "in ", site->module);
    if (site->guess)
        print_below(page, "guess: ", site->guess);
    mt_saver_text(saver, sizeof saver, site);
    if (site->bytes.is_noise)
        print_below(page, "", "noise");
    else if (*saver)
        print_below(page, "now saved by ", saver);
    else if (site->kind != MT_DIFF_GROWN && site->kind != MT_DIFF_SHRUNK &&
             site->kind != MT_DIFF_SAME)
        print_below(page, "", mt_diff_kind_names[site->kind]);
    mt_diff_held_text(held, site);
    if (*held) {
        mt_safe_text(safe, sizeof safe, held, WIDTH - BEFORE_HELD, MT_CUT_END, page->style);
        fprintf(page->out, "%*s%s\n", BEFORE_HELD, "", safe);
    }
    if (*was)
        print_below(page, "", was);
    if (*blame)
        print_below(page, "", blame);
}

static void print_scale(const struct page *page, const struct mt_diff_device *device)
{
    char text[128], safe[4 * sizeof text], now[MT_SIZE_TEXT];
    mt_scale_text(text, sizeof text, device->scale, device->n_scaled);
    mt_safe_text(safe, sizeof safe, text, sizeof text, MT_CUT_END, page->style);
    print_change(page, &device->scaled);
    fprintf(page->out, "%11s  %s\n", mt_size_text(now, device->scaled.now), safe);
}

static void print_sites(const struct page *page, const struct mt_diff_device *device)
{
    char count[MT_SIZE_TEXT];
    size_t shown = 0, all = 0;
    enum mt_certainty least = MT_CERTAIN;
    for (size_t i = 0; i < device->n_sites; i++)
        all += (size_t)mt_diff_is_shown(&device->site[i]);
    if (!all && !device->scale)
        return;
    fprintf(page->out, "\n%12s%11s  %-16s%s\n", "change", "now", "category",
            "call sites, largest contribution first");
    if (device->scale)
        print_scale(page, device);
    for (size_t i = 0; i < device->n_sites && shown < SITES_SHOWN; i++)
        if (mt_diff_is_shown(&device->site[i])) {
            print_site(page, &device->site[i], &least);
            shown++;
        }
    if (shown < all)
        fprintf(page->out, "%25sand %s more\n", "", mt_count_text(count, all - shown));
    for (unsigned i = 0; i < mt_n_categories; i++)
        if (device->certainty[i] > MT_CERTAIN && !is_empty(&device->category[i]))
            least = MT_CERTAIN; /* the totals have explained the marks */
    mt_certainty_legend(page->out, " ", least);
}

static void print_shares(const struct page *page, const struct mt_diff_shares *shares,
                         const char *what)
{
    char now[MT_SIZE_TEXT], safe[WIDTH * 4 + 1], count[MT_SIZE_TEXT];
    struct mt_diff_shares folded;
    int rc = mt_diff_fold(&folded, shares);
    if (!rc && folded.n)
        fprintf(page->out, "\n%12s%11s  %s\n", "change", "now", what);
    for (size_t i = 0; i < folded.n && i < SHARES_SHOWN && !rc; i++) {
        const struct mt_diff_share *share = &folded.share[i];
        print_change(page, &share->bytes);
        mt_safe_text(safe, sizeof safe, share->name, WIDTH - 25, MT_CUT_END, page->style);
        fprintf(page->out, "%11s  %s\n", mt_size_text(now, share->bytes.now), safe);
    }
    if (!rc && folded.n > SHARES_SHOWN)
        fprintf(page->out, "%25sand %s more\n", "", mt_count_text(count, folded.n - SHARES_SHOWN));
    mt_diff_shares_clear(&folded);
}

static void print_peak(const struct page *page, const struct mt_diff_device *device)
{
    char old[128], now[128];
    mt_peak_text(old, sizeof old, device->old);
    mt_peak_text(now, sizeof now, device->now);
    if (device->peak_moved)
        fprintf(page->out, "\nThe peak moved from %s\n  to %s.\n", old, now);
    else if (device->now->iterations)
        fprintf(page->out, "\nThe peak is in %s.\n", now);
    mt_compared_text(old, sizeof old, device);
    if (*old)
        fprintf(page->out, "%s\n", old);
}

/* Print a sentence, broken between words; the lines after its first are indented. */
static void print_sentence(const struct page *page, const char *before, const char *text)
{
    char safe[4 * MT_WORDS + 1];
    mt_safe_text(safe, sizeof safe, text, MT_WORDS, MT_CUT_END, page->style);
    fputs(before, page->out);
    size_t column = strlen(before);
    for (const char *word = safe; *word;) {
        size_t n = strcspn(word, " ");
        bool is_over = word > safe && column + 1 + n > WIDTH;
        fputs(is_over ? "\n  " : word > safe ? " " : "", page->out);
        column = is_over ? 2 + n : column + (word > safe) + n;
        if (is_over && mt_safe_colon(word) == word) /* only now at the start of a line */
            fprintf(page->out, "?%.*s", (int)n - 1, word + 1);
        else
            fprintf(page->out, "%.*s", (int)n, word);
        word += n + (word[n] == ' ');
    }
    putc('\n', page->out);
}

static void print_lines(const struct page *page, const char *before, const char *lines)
{
    while (*lines) {
        size_t n = strcspn(lines, "\n");
        char line[MT_WORDS];
        snprintf(line, sizeof line, "%.*s", (int)n, lines);
        print_sentence(page, before, line);
        lines += n + (lines[n] == '\n');
    }
}

static void print_verdict(const struct page *page, const struct mt_diff *diff)
{
    char verdict[MT_WORDS];
    mt_diff_verdict(verdict, sizeof verdict, diff);
    print_sentence(page, "", verdict);
    putc('\n', page->out);
}

static void print_run(const struct page *page, const char *before, const struct mt_digest *digest,
                      size_t n)
{
    char safe[WIDTH * 4 + 1], more[64] = "";
    if (n > 1)
        snprintf(more, sizeof more, " and %zu more", n - 1);
    mt_safe_text(safe, sizeof safe, digest->path, WIDTH - 8 - strlen(more), MT_CUT_BEGIN,
                 page->style);
    fprintf(page->out, "%-8s%s%s\n", before, safe, more);
}

/* Print a line for each device of each rank, if there are several. */
static void print_ranks(const struct page *page, const struct mt_diff *diff)
{
    char old[MT_SIZE_TEXT], now[MT_SIZE_TEXT], safe[4 * 24 + 1];
    bool has_ranks = false;
    if (diff->n_devices < 2)
        return;
    for (size_t i = 0; i < diff->n_devices; i++)
        has_ranks |= diff->device[i].rank >= 0;
    fprintf(page->out, "\n%s%8s%14s%12s%12s\n", has_ranks ? "  rank" : "", "device", "before",
            "now", "change");
    for (size_t i = 0; i < diff->n_devices; i++) {
        const struct mt_diff_device *device = &diff->device[i];
        if (has_ranks && device->rank < 0)
            fprintf(page->out, "%6s", "?");
        else if (has_ranks)
            fprintf(page->out, "%6ld", device->rank);
        fprintf(page->out, "%8d%14s%12s", device->device, mt_size_text(old, device->allocated.old),
                mt_size_text(now, device->allocated.now));
        if (mt_diff_only(device))
            fprintf(page->out, "%12s", mt_diff_only(device) < 0 ? "only before" : "only now");
        else
            print_change(page, &device->allocated);
        fputs(device->allocated.is_noise && !mt_diff_only(device) ? "   noise" : "", page->out);
        mt_safe_text(safe, sizeof safe, device->process, 24, MT_CUT_END, page->style);
        fprintf(page->out, "%s%s\n", *safe ? "  " : "", safe);
    }
}

static void print_device(const struct page *page, const struct mt_diff *diff,
                         const struct mt_diff_device *device)
{
    if (diff->n_devices > 1 && device->rank >= 0)
        fprintf(page->out, "\nRank %ld, device %d\n", device->rank, device->device);
    else if (diff->n_devices > 1) {
        fprintf(page->out, "\nDevice %d", device->device);
        mt_put_text(page->out, *device->process ? " of " : "", MT_FOR_PLAIN);
        mt_put_text(page->out, device->process, MT_FOR_PLAIN);
        putc('\n', page->out);
    }
    print_peak(page, device);
    print_totals(page, device);
    print_sites(page, device);
    print_shares(page, &device->modules, "modules");
    print_shares(page, &device->operators, "operators of backward");
}

int mt_diff_text(const struct mt_diff *diff, FILE *out, const struct mt_style *style)
{
    const struct page page = {out, style, WIDTH};
    const struct mt_diff_device *device = mt_diff_main_device(diff);
    char *doubts = mt_diff_doubts(diff), *changes = mt_diff_changes(diff);
    if (doubts && changes) {
        print_lines(&page, "Note: ", doubts);
        print_verdict(&page, diff);
        print_run(&page, "before", diff->old, diff->n_old);
        print_run(&page, "now", diff->now, diff->n_new);
        print_lines(&page, "other   ", changes);
        print_ranks(&page, diff);
        if (device)
            print_device(&page, diff, device);
    }
    int rc = doubts && changes ? 0 : -ENOMEM;
    free(doubts);
    free(changes);
    return rc;
}
