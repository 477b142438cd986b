/* SPDX-License-Identifier: Apache-2.0 */
#include "job-report.h"

#include "analyzer/findings/job.h"
#include "analyzer/print/page.h"
#include "analyzer/support/search.h"
#include "report.h"

#include <stdlib.h>
#include <string.h>

#define MOST_ROWS 16 /* ranks that have a row each, or kinds of them */
#define MOST_NAMED 8 /* processes of one card */

/* Return whether titles say more than hosts: there is one host, and a process has a title. A line
 * has no room for both. */
static bool find_titles(const struct mt_job_rank *ranks, size_t n)
{
    bool has_titles = false;
    for (size_t i = 0; i < n; i++) {
        has_titles |= *ranks[i].title != '\0';
        if (strcmp(ranks[i].host, ranks->host) || ranks[i].stands_for > 0)
            return false;
    }
    return has_titles;
}

static enum mt_category largest(const struct mt_job_rank *rank)
{
    unsigned best = 0;
    for (unsigned i = 1; i < mt_n_categories; i++)
        if (rank->category[i] > rank->category[best])
            best = i;
    return (enum mt_category)best;
}

static void print_line(const struct mt_job_rank *rank, long stands_for, bool has_titles,
                       enum mt_certainty *least, FILE *out, const struct mt_style *style)
{
    char size[MT_SIZE_TEXT], of[MT_SIZE_TEXT], host[64];
    if (stands_for > 0)
        snprintf(host, sizeof host, "%s", mt_count_text(size, (uint64_t)stands_for));
    else if (has_titles)
        mt_safe_text(host, sizeof host, rank->title, 11, MT_CUT_BEGIN, style);
    else
        mt_safe_text(host, sizeof host, rank->host, 11, MT_CUT_END, style);
    if (rank->rank >= 0)
        fprintf(out, "%4ld  %-11s", rank->rank, host);
    else
        fprintf(out, "%4s  %-11s", "?", host);
    if (!rank->has_device) {
        fputs("  no device memory was allocated\n", out);
        return;
    }
    enum mt_category most = largest(rank);
    fprintf(out, " %6d %11s  %-14s %s %c%s\n", rank->device, mt_size_text(size, rank->allocated),
            rank->phase, mt_size_text(of, rank->category[most]),
            mt_certainty_row(least, rank->certainty[most]), mt_categories[most].label);
}

/* Print how many processes there are, or ranks for which they stand. Return whether all stand for
 * ranks. */
static bool print_count(const struct mt_job_rank *ranks, size_t n, FILE *out)
{
    uint64_t stands_for = 0, all = strtoull(ranks[0].world_size, NULL, 10);
    char count[MT_SIZE_TEXT], whole[MT_SIZE_TEXT];
    for (size_t i = 0; i < n; i++) {
        if (ranks[i].stands_for <= 0) {
            fprintf(out, all > n ? "%s of the %s processes of one job" : "%s processes of one job",
                    mt_count_text(count, n), mt_count_text(whole, all));
            return false;
        }
        stands_for += (uint64_t)ranks[i].stands_for;
    }
    fprintf(out, "%zu process%s, run alone, for %s ranks of %.12s", n, n == 1 ? "" : "es",
            mt_count_text(count, stands_for), ranks[0].world_size);
    return true;
}

/* Print the end of a process that did not end normally, and how many more ended like it. */
static void print_ended(const struct mt_job_rank *rank, size_t more, FILE *out,
                        const struct mt_style *style)
{
    char text[MT_ENDED_TEXT], safe[MT_ENDED_TEXT], count[MT_SIZE_TEXT];
    mt_safe_text(safe, sizeof safe, mt_ended_text(text, &rank->ended), 0, MT_CUT_END, style);
    if (!rank->ended.is_by_starter)
        mt_colour(out, style, 160);
    if (rank->rank >= 0)
        fprintf(out, "Rank %ld", rank->rank);
    else
        fprintf(out, "Process %ld", strtol(rank->pid, NULL, 10));
    if (more)
        fprintf(out, " and %s more", mt_count_text(count, more));
    fprintf(out, " ended: %s.", safe);
    mt_colour(out, style, 0);
    putc('\n', out);
}

#define MOST_GROWING 4u

/* Print which other ranks grow than the one that the report is about. */
static void print_growth(const struct mt_job_rank *ranks, size_t n, long but, FILE *out,
                         const struct mt_style *style)
{
    char bytes[MT_SIZE_TEXT], line[160];
    size_t shown = 0, more = 0;
    for (size_t i = 0; i < n; i++) {
        const struct mt_job_rank *rank = &ranks[i];
        if (!rank->growth || rank->rank == but || rank->rank < 0)
            continue;
        if (shown == MOST_GROWING) {
            more++;
            continue;
        }
        shown++;
        mt_size_text(bytes, rank->growth);
        if (rank->growth_every > 1)
            fprintf(out, "Rank %ld grows: every %u iterations leave %s behind", rank->rank,
                    rank->growth_every, bytes);
        else
            fprintf(out, "Rank %ld grows: each iteration leaves %s behind", rank->rank, bytes);
        if (*rank->growth_line) {
            mt_safe_text(line, sizeof line, rank->growth_line, 78, MT_CUT_BEGIN, style);
            fprintf(out, ", mostly from\n  %s", line);
        }
        fputs(".\n", out);
    }
    if (more)
        fprintf(out, "%zu more rank%s grow%s.\n", more, more == 1 ? "" : "s", more == 1 ? "s" : "");
    if (shown)
        putc('\n', out);
}

static bool ended_alike(const struct mt_job_rank *a, const struct mt_job_rank *b)
{
    char of_a[MT_ENDED_TEXT], of_b[MT_ENDED_TEXT];
    return !strcmp(mt_ended_text(of_a, &a->ended), mt_ended_text(of_b, &b->ended));
}

/* Print the ends of processes that did not end normally, before everything else: of many, those
 * that ended alike together. */
static void print_ends(const struct mt_job_rank *ranks, size_t n, FILE *out,
                       const struct mt_style *style)
{
    const struct mt_job_rank *first[MOST_ROWS];
    size_t like[MOST_ROWS] = {0}, kinds = 0, others = 0, at;
    char count[MT_SIZE_TEXT];
    for (size_t i = 0; i < n; i++) {
        if (!mt_ended_is_reported(&ranks[i].ended))
            continue;
        for (at = n > MOST_ROWS ? 0 : kinds; at < kinds && !ended_alike(first[at], &ranks[i]);)
            at++;
        if (at == MOST_ROWS) {
            others++;
            continue;
        }
        if (at == kinds)
            first[kinds++] = &ranks[i];
        else
            like[at]++;
    }
    for (size_t i = 0; i < kinds; i++)
        print_ended(first[i], like[i], out, style);
    if (others)
        fprintf(out, "%s more ended abnormally in other ways.\n", mt_count_text(count, others));
}

/* Compare what makes a kind: 0 if the peaks are the same, of the same categories in the same phase.
 * The highest comes first. */
static int compare_kinds(const struct mt_job_rank *a, const struct mt_job_rank *b)
{
    return MT_FALLING(allocated) ?: MT_FALLING(has_device)
                                 ?: memcmp(a->category, b->category, sizeof a->category)
                                 ?: strcmp(a->phase, b->phase);
}

MT_ORDER_OF_POINTERS(by_kind, struct mt_job_rank, compare_kinds(a, b) ?: MT_RISING(rank))

/* Print the kinds of many ranks: the first rank of each, and how many are of it. */
static void print_kinds(const struct mt_job_rank *ranks, size_t n, enum mt_certainty *least,
                        FILE *out, const struct mt_style *style)
{
    const struct mt_job_rank **sorted = malloc(n * sizeof *sorted);
    size_t kinds = 0, left = 0;
    char count[MT_SIZE_TEXT], size[MT_SIZE_TEXT];
    if (!sorted)
        return;
    for (size_t i = 0; i < n; i++)
        sorted[i] = &ranks[i];
    qsort(sorted, n, sizeof *sorted, by_kind);
    for (size_t i = 0, next; i < n; i = next, kinds++) {
        for (next = i + 1; next < n && !compare_kinds(sorted[i], sorted[next]);)
            next++;
        if (kinds < MOST_ROWS)
            print_line(sorted[i], (long)(next - i), false, least, out, style);
        else
            left += next - i;
    }
    if (left)
        fprintf(out, "   and %s ranks down to %s\n", mt_count_text(count, left),
                mt_size_text(size, sorted[n - 1]->allocated));
    fputs(" identical ranks share a row; -f json lists each\n", out);
    free(sorted);
}

/* Name a process in a sentence. */
static const char *name_of(char out[64], const struct mt_job_rank *rank,
                           const struct mt_style *style)
{
    if (rank->rank >= 0)
        snprintf(out, 64, "rank %ld", rank->rank);
    else if (*rank->title)
        mt_safe_text(out, 64, rank->title, 24, MT_CUT_BEGIN, style);
    else
        snprintf(out, 64, "process %.20s", rank->pid);
    return out;
}

/* Append what each of the processes had when the card had the most. */
static void append_each(char *text, size_t size, const struct mt_card_share *share,
                        const struct mt_job_rank *ranks, size_t n, const struct mt_style *style)
{
    char name[64], bytes[MT_SIZE_TEXT];
    const char *before = " (";
    for (size_t i = share->first; i < n; i++)
        if (mt_card_share_has(share, ranks, i)) {
            mt_text_append(text, size, "%s%s %s", before, name_of(name, &ranks[i], style),
                           mt_size_text(bytes, ranks[i].together));
            before = ", ";
        }
    mt_text_append(text, size, ")");
}

/* Print which processes shared a card, and the most that they had there at one time. */
static void print_shared(const struct mt_job_rank *ranks, size_t n, FILE *out,
                         const struct mt_style *style)
{
    char text[1024], host[64], together[MT_SIZE_TEXT], count[MT_SIZE_TEXT];
    struct mt_card_share share;
    for (size_t i = 0; i < n; i++) {
        if (!mt_card_share_find(&share, ranks, n, i))
            continue;
        mt_safe_text(host, sizeof host, ranks[i].host, 40, MT_CUT_END, style);
        snprintf(text, sizeof text, "%s processes shared device %d of %s. ",
                 mt_count_text(count, share.n), ranks[i].device, host);
        if (share.most) {
            mt_text_append(text, sizeof text, "Together they used at most %s at any one time",
                           mt_size_text(together, share.most));
            if (share.n <= MOST_NAMED)
                append_each(text, sizeof text, &share, ranks, n, style);
            mt_text_append(text, sizeof text, "; their peaks add up to %s.",
                           mt_size_text(together, share.peaks));
        } else {
            mt_text_append(text, sizeof text, "Their peaks, which may not coincide, add up to %s.",
                           mt_size_text(together, share.peaks));
        }
        if (ranks[i].is_simulated)
            mt_text_append(text, sizeof text,
                           " Each ran on its own simulated card, so memory that one used was "
                           "free for the others.");
        putc('\n', out);
        mt_put_lines(out, style, text);
    }
}

/* Compare with the median rank: a mean would hide an outlier. */
static void print_imbalance(const struct mt_job_rank *ranks, size_t n, FILE *out,
                            const struct mt_style *style)
{
    char text[256], more[96] = "", above[MT_SIZE_TEXT], middle[MT_SIZE_TEXT], most[MT_SIZE_TEXT];
    struct mt_imbalance imbalance;
    if (mt_imbalance_find(&imbalance, ranks, n, mt_job_highest(ranks, n)))
        return;
    bool is_one = true;
    for (size_t i = 0; i < n; i++)
        is_one &= !ranks[i].has_device || ranks[i].allocated == imbalance.median;
    if (is_one) {
        fputs("\nAll ranks have the same peak.\n", out);
        return;
    }
    if (!imbalance.above) {
        fprintf(out, "\nNo rank is above the median rank's peak, %s.\n",
                mt_size_text(middle, imbalance.median));
        return;
    }
    if (imbalance.category[imbalance.most] > 0)
        snprintf(more, sizeof more, ", with %s more %s",
                 mt_size_text(most, (uint64_t)imbalance.category[imbalance.most]),
                 mt_category_noun(imbalance.most));
    snprintf(text, sizeof text, "The highest peak is %s above the median rank's %s%s.",
             mt_size_text(above, imbalance.above), mt_size_text(middle, imbalance.median), more);
    putc('\n', out);
    mt_put_lines(out, style, text);
}

void mt_job_text(const struct mt_job_rank *ranks, size_t n, const struct mt_analysis *highest,
                 FILE *out, const struct mt_style *style)
{
    struct mt_page page = mt_page_of(highest, out, style);
    print_ends(ranks, n, out, style);
    mt_page_headline(&page);
    print_growth(ranks, n, mt_rank(highest), out, style);
    bool stand_for_ranks = print_count(ranks, n, out);
    bool are_many = n > MOST_ROWS && !stand_for_ranks;
    bool has_titles = !are_many && find_titles(ranks, n);
    fprintf(out, "\n\n%4s  %-11s %6s %11s  %-14s %s\n", "rank",
            stand_for_ranks ? "stands for"
            : are_many      ? "alike"
            : has_titles    ? "title"
                            : "host",
            "device", "peak", "in", "mostly");
    enum mt_certainty least = MT_CERTAIN;
    if (are_many)
        print_kinds(ranks, n, &least, out, style);
    else
        for (size_t i = 0; i < n; i++)
            print_line(&ranks[i], ranks[i].stands_for, has_titles, &least, out, style);
    mt_certainty_legend(out, " ", least);
    print_shared(ranks, n, out, style);
    print_imbalance(ranks, n, out, style);
    fputs("\nThe process with the highest peak:\n\n", out);
    mt_page_ended(&page);
    mt_report_details(highest, out, style);
}
