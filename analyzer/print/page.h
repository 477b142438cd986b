/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared by the parts of a page for people (report-text.c, report-phases.c, oom-text.c).
 */
#ifndef MT_PAGE_H
#define MT_PAGE_H

#include "analyzer/findings/analysis.h"
#include "analyzer/model/sums.h"
#include "analyzer/support/text.h"

struct mt_page {
    const struct mt_analysis *analysis;
    const struct mt_definitions *definitions;
    FILE *out;
    const struct mt_style *style;
    unsigned width; /* columns */
};

struct mt_page mt_page_of(const struct mt_analysis *analysis, FILE *out,
                          const struct mt_style *style);

static inline const struct mt_filter *mt_page_filter(const struct mt_page *page)
{
    return &page->analysis->replay.question.filter;
}

/* Print how the run ended, unless it ended normally. */
void mt_page_ended(const struct mt_page *page);

/* Print the sentences of mt_headline, wrapped, and an empty line. */
void mt_page_headline(const struct mt_page *page);

/* Print only its first sentences: lost events, and sizes that depend on values that are not
 * simulated. */
void mt_page_doubts(const struct mt_page *page);

/* Print its last sentence alone: what the workspaces of convolutions on a simulated card are. */
void mt_page_workspaces(const struct mt_page *page);

/* Print the program, and the extent of the recording. */
void mt_page_head(const struct mt_page *page);

/* Print what the recording lacks by design: what came before it, or what it dropped. */
void mt_page_limits(const struct mt_page *page);

/* Print a bar for each category that has bytes, and what the marks before categories mean, here and
 * below. */
void mt_page_categories(const struct mt_page *page, const struct mt_device *device);

/* Print rows of a query by line (query.h): "TITLE: 2.00 MiB in 3 allocations", the largest ones and
 * their callers. Nothing if there are none. */
void mt_page_list(const struct mt_page *page, const char *title, const struct mt_sums *rows);

/* Print the largest call sites, at most that many. */
void mt_page_sites(const struct mt_page *page, const struct mt_device *device, size_t most);

/* Print how many rows of a table are left out, if any. */
void mt_page_rest(const struct mt_page *page, size_t n);

/* Write "train.py:42 main", a stack's innermost frame, in at most that many columns. */
void mt_page_place(const struct mt_page *page, uint32_t stack, char *out, size_t size,
                   size_t columns);

/* Write "step > forward", a path of ranges, in at most that many columns. */
void mt_page_range_text(const struct mt_page *page, uint32_t path, char *out, size_t size,
                        size_t columns);

/* Write where free memory of that kind is, and what it takes to use it, to follow "1.00 GiB is":
 * "in 2 whole segments, which torch.cuda.empty_cache() returns to the card". cached has pools. */
void mt_cached_text(char *out, size_t size, const struct mt_definitions *definitions,
                    const struct mt_cached *cached, enum mt_free_kind kind);

/* Return why free memory did not serve a request: "it was cached for another stream or pool". */
const char *mt_free_kind_words(enum mt_free_kind kind);

/* Print the contradictions in the trace. */
void mt_page_notes(const struct mt_page *page);

/* Print invalid frees, and frees by other threads, of programs without PyTorch. */
void mt_page_frees(const struct mt_page *page);

/* Write a loop as "train.py:12"; return out. */
const char *mt_loop_text(const struct mt_turns *turns, char *out, size_t size);

/* Write "the forward pass of iteration 3", "start-up", "the profile run", "step 5" of a server. */
void mt_span_text(char *out, size_t size, const struct mt_spans *spans, const struct mt_span *span);

/* Write the same for the device's moment, in that span: after the program's loop, "the code after
 * iteration 3" once the span's phase is over. */
void mt_moment_text(char *out, size_t size, const struct mt_device *device,
                    const struct mt_span *span);

/* Print the moment's place in the program's phases; the next lower peaks; growth; a chart. */
void mt_page_phase(const struct mt_page *page, const struct mt_device *device);
void mt_page_movement(const struct mt_page *page, const struct mt_device *device);
void mt_page_growth(const struct mt_page *page, const struct mt_device *device);
/* Print a row of it, a site's; each: "iteration", "step", "forward". */
void mt_page_growth_site(const struct mt_page *page, const struct mt_growth *growth, size_t site,
                         const char *each);
/* Print a line of what keeps most of so many bytes, if it is known: below a row about them. */
void mt_page_held(const struct mt_page *page, const struct mt_held_most *held, uint64_t bytes);
/* Print all paths to a block, after an empty line. */
void mt_page_paths(const struct mt_page *page, const struct mt_block_held *held);
void mt_page_cached(const struct mt_page *page, const struct mt_device *device);
void mt_page_cuda_pools(const struct mt_page *page, const struct mt_device *device);
void mt_page_pins(const struct mt_page *page, const struct mt_pins *pins);
void mt_page_balance(const struct mt_page *page, const struct mt_device *device);
void mt_page_idle(const struct mt_page *page, const struct mt_device *device);
void mt_page_unneeded(const struct mt_page *page, const struct mt_device *device);
/* Print when a live block of the device is used, if that is known. */
void mt_page_uses(const struct mt_page *page, const struct mt_device *device,
                  const struct mt_verdict *verdict);
void mt_page_leaks(const struct mt_page *page, const struct mt_device *device);
void mt_page_modules(const struct mt_page *page, const struct mt_device *device);
void mt_page_serving(const struct mt_page *page, const struct mt_device *device);
void mt_page_ranges(const struct mt_page *page, const struct mt_device *device);
void mt_page_marks(const struct mt_page *page);
void mt_page_host(const struct mt_page *page);
void mt_page_precision(const struct mt_page *page, const struct mt_device *device);
void mt_page_timeline(const struct mt_page *page, const struct mt_device *device);

#endif
