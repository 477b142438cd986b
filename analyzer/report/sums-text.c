/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of allocations by their stack, for people and as JSON: leaks and invalid frees, page-locked
 * memory of the host, idle memory. */
#include "analyzer/print/json.h"
#include "analyzer/print/page.h"
#include "report.h"

#include <string.h>

#define SHOWN 10u
#define CALLERS 3u
#define BEFORE_PLACE 22u

/* Print "from main.c:3 run, main.c:9 main" */
static void print_callers(const struct mt_page *page, uint32_t stack)
{
    char place[1024], line[4096] = "";
    uint32_t caller = mt_stack(page->definitions, stack)->parent;
    for (unsigned i = 0; i < CALLERS && caller; i++) {
        mt_page_place(page, caller, place, sizeof place, page->width);
        mt_text_append(line, sizeof line, "%s%s", *line ? ", " : "", place);
        caller = mt_stack(page->definitions, caller)->parent;
    }
    if (!*line)
        return;
    mt_safe_text(place, sizeof place, line, page->width - BEFORE_PLACE - 5, MT_CUT_END,
                 page->style);
    fprintf(page->out, "%*sfrom %s\n", (int)BEFORE_PLACE, "", place);
}

/* Print a list of the places of allocations, without places of fewer bytes than `least`. */
static void page_sums(const struct mt_page *page, const struct mt_sums *sums, uint64_t least)
{
    char size[MT_SIZE_TEXT], count[MT_SIZE_TEXT], place[1024];
    const struct mt_filter *filter = mt_page_filter(page);
    size_t n = sums->n;
    least = least > filter->least ? least : filter->least;
    while (n && sums->sum[n - 1].bytes < least) /* the largest come first */
        n--;
    size_t rows = mt_filter_rows(filter, n, SHOWN);
    for (size_t i = 0; i < rows; i++) {
        const struct mt_sum *sum = &sums->sum[i];
        uint32_t begin = mt_stack_line(page->definitions, sum->stack);
        mt_page_place(page, begin, place, sizeof place, page->width - BEFORE_PLACE);
        fprintf(page->out, "%11s %8s  %s\n", mt_size_text(size, sum->bytes),
                mt_count_text(count, sum->blocks), place);
        print_callers(page, begin);
    }
    if (n > rows)
        fprintf(page->out, "%20s  and %s smaller ones\n", "", mt_count_text(count, n - rows));
}

json_t *mt_json_sum(const struct mt_definitions *definitions, const struct mt_sum *sum)
{
    uint32_t begin = mt_stack_line(definitions, sum->stack);
    return json_pack("{s:o, s:o, s:o, s:o}", "bytes", mt_json_number(sum->bytes), "blocks",
                     mt_json_number(sum->blocks), "line", mt_json_frame(definitions, begin),
                     "callers", mt_json_frames(definitions, mt_stack(definitions, begin)->parent));
}

json_t *mt_json_sums_with(const struct mt_sums *sums, json_t *sites)
{
    return json_pack("{s:o, s:o, s:o}", "bytes", mt_json_number(sums->bytes), "blocks",
                     mt_json_number(sums->blocks), "sites", sites);
}

json_t *mt_json_sums(const struct mt_definitions *definitions, const struct mt_sums *sums)
{
    json_t *sites = json_array();
    for (size_t i = 0; i < sums->n; i++)
        json_array_append_new(sites, mt_json_sum(definitions, &sums->sum[i]));
    return mt_json_sums_with(sums, sites);
}

/* Print "WHAT: 2.00 MiB in 3 allocations". */
static void print_sum(const struct mt_page *page, const char *what, const struct mt_sums *sums)
{
    char size[MT_SIZE_TEXT], count[MT_SIZE_TEXT];
    fprintf(page->out, "%s: %s in %s allocation%s", what, mt_size_text(size, sums->bytes),
            mt_count_text(count, sums->blocks), sums->blocks == 1 ? "" : "s");
}

void mt_page_list(const struct mt_page *page, const char *title, const struct mt_sums *rows)
{
    if (!rows->blocks)
        return;
    print_sum(page, title, rows);
    putc('\n', page->out);
    page_sums(page, rows, 0);
}

void mt_page_leaks(const struct mt_page *page, const struct mt_device *device)
{
    mt_page_list(page, "\nNever freed", &device->leaks);
}

void mt_page_frees(const struct mt_page *page)
{
    const struct mt_cuda_level *cuda = &page->analysis->replay.cuda;
    char count[MT_SIZE_TEXT];
    if (mt_info(page->definitions, "torch"))
        return;
    mt_page_list(page, "\nFreed twice", &cuda->twice);
    mt_page_list(page, "\nFreed by a thread that did not allocate it", &cuda->by_others);
    if (cuda->unknown)
        fprintf(page->out, "\nFreed, but allocated before recording began: %s.\n",
                mt_count_text(count, cuda->unknown));
}

#define PAGE_BYTES 4096u /* places with less are not worth a line */

#define WORTH_ROUNDING 16u /* as the part of the bytes */

static void page_rounding(const struct mt_page *page, struct mt_host_rounding of, uint64_t bytes)
{
    char known[MT_SIZE_TEXT], requested[MT_SIZE_TEXT], more[MT_SIZE_TEXT], count[MT_SIZE_TEXT];
    if (of.known - of.requested > bytes / WORTH_ROUNDING)
        fprintf(page->out,
                "PyTorch allocated %s of these for requests of %s. It rounds page-locked\n"
                "memory up to powers of two, here by %s.\n",
                mt_size_text(known, of.known), mt_size_text(requested, of.requested),
                mt_size_text(more, of.known - of.requested));
    if (mt_info(page->definitions, "torch") && of.powers > bytes / 2)
        fprintf(page->out,
                "%s of these have power-of-two sizes. PyTorch rounds requests for page-locked\n"
                "memory up to a power of two, so up to %s may be rounding.\n",
                mt_count_text(count, of.n_powers), mt_size_text(more, of.powers / 2));
}

void mt_page_host(const struct mt_page *page)
{
    const struct mt_host *host = &page->analysis->replay.host;
    const struct mt_sums *sums = &page->analysis->host;
    char most[MT_SIZE_TEXT], time[MT_SIZE_TEXT];
    if (host->most < PAGE_BYTES)
        return; /* PyTorch's item() has one number there */
    print_sum(page, "\nPage-locked host memory", sums);
    if (host->has_moment)
        fprintf(page->out, ",\nat most %s at %s\n", mt_size_text(most, host->most),
                mt_time_text(time, host->most_ns));
    else
        fprintf(page->out, " at %s,\nits peak; %s at the end\n", mt_time_text(time, host->most_ns),
                mt_size_text(most, host->heap.total[0].bytes));
    page_sums(page, sums, PAGE_BYTES);
    page_rounding(page, mt_host_rounding_find(host), sums->bytes);
}

json_t *mt_json_host(const struct mt_analysis *analysis)
{
    const struct mt_host *host = &analysis->replay.host;
    json_t *object = mt_json_sums(analysis->replay.definitions, &analysis->host);
    json_object_set_new(object, "most", mt_json_number(host->most));
    json_object_set_new(object, "most_time_ns", mt_json_number(host->most_ns));
    json_object_set_new(object, "most_event", mt_json_number(host->most_event));
    struct mt_host_rounding of = mt_host_rounding_find(host);
    bool is_torch = mt_info(analysis->replay.definitions, "torch");
    json_object_set_new(object, "rounded_at_most",
                        is_torch ? mt_json_number(of.known - of.requested + of.powers / 2)
                                 : json_null());
    json_object_set_new(object, "rounded",
                        is_torch ? json_pack("{s:o, s:o}", "allocated", mt_json_number(of.known),
                                             "requested", mt_json_number(of.requested))
                                 : json_null());
    json_object_set_new(object, "end", mt_json_number(host->heap.total[0].bytes));
    return object;
}

static const char *const titles[] = {
    [MT_IDLE_NEVER] = "  never copied or set (is it needed?)",
    [MT_IDLE_AFTER] = "  copied or set before, not later (freed too late?)",
    [MT_IDLE_UNTIL] = "  copied or set only later (allocated too early?)",
};

void mt_page_idle(const struct mt_page *page, const struct mt_device *device)
{
    const struct mt_idle *idle = &device->idle;
    bool is_any = false;
    for (enum mt_idle_kind kind = 0; kind < MT_IDLE_KINDS; kind++)
        is_any |= idle->kind[kind].blocks != 0;
    if (idle->unseen)
        fprintf(page->out,
                "\nUsed at that moment: unknown; the memory that %s touched was not recorded.\n",
                idle->unseen);
    if (!is_any)
        return;
    fputs("\nUsed at that moment, judged by copies and memsets (not by kernels):\n", page->out);
    for (enum mt_idle_kind kind = 0; kind < MT_IDLE_KINDS; kind++)
        mt_page_list(page, titles[kind], &idle->kind[kind]);
}
