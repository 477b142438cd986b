/* SPDX-License-Identifier: Apache-2.0 */
/* The report's parts about ranges and marks named by the program. */
#include "analyzer/print/page.h"
#include "analyzer/support/search.h"

#include <stdlib.h>

#define ROWS_SHOWN 10u
#define NAME_WIDTH 40u

void mt_page_range_text(const struct mt_page *page, uint32_t path, char *out, size_t size,
                        size_t columns)
{
    char text[1024];
    mt_range_text(text, sizeof text, page->definitions, &page->analysis->replay.tracker.ranges,
                  path);
    mt_safe_text(out, size, text, columns, MT_CUT_BEGIN, page->style);
}

struct row {
    uint32_t path;
    const struct mt_range_most *most;
    uint64_t captures; /* number of CUDA graph captures in this row; 0: a range */
};

MT_ORDER(by_most, struct row, MT_FALLING(most->bytes) ?: MT_RISING(path))

/* Collect the ranges directly inside a path that used the device. */
static size_t inside(const struct mt_ranges *ranges, unsigned slot, uint32_t parent,
                     struct row *rows)
{
    size_t n = 0;
    for (size_t path = 1; path < ranges->device[slot].n; path++)
        if (ranges->range[path].parent == parent && ranges->device[slot].most[path].event)
            rows[n++] = (struct row){(uint32_t)path, &ranges->device[slot].most[path], 0};
    return n;
}

/* Choose the outermost level with several ranges, since a single range around all of them shows
 * nothing. */
static size_t choose(const struct mt_ranges *ranges, unsigned slot, uint32_t *around,
                     struct row *rows)
{
    *around = 0;
    size_t n = inside(ranges, slot, 0, rows);
    while (n == 1) {
        struct row only = rows[0];
        if (!inside(ranges, slot, only.path, rows)) {
            rows[0] = only;
            break;
        }
        *around = only.path;
        n = inside(ranges, slot, only.path, rows);
    }
    return n;
}

/* Join captures: a server captures hundreds of graphs, which share one row, that of the highest. */
static size_t join_captures(const struct mt_page *page, struct row *rows, size_t n)
{
    const struct mt_ranges *ranges = &page->analysis->replay.tracker.ranges;
    struct row *graphs = NULL;
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        const struct mt_range *range = &ranges->range[rows[i].path];
        bool is_graph = mt_range_is_graph(page->definitions, range);
        if (is_graph && graphs) {
            graphs->captures += range->times;
            continue;
        }
        rows[kept] = rows[i];
        if (is_graph) {
            graphs = &rows[kept];
            graphs->captures = range->times;
        }
        kept++;
    }
    return kept;
}

static void print_range(const struct mt_page *page, const struct row *row)
{
    const struct mt_range *range = &page->analysis->replay.tracker.ranges.range[row->path];
    uint64_t n = row->captures > 1 ? row->captures : range->times;
    char text[512], name[NAME_WIDTH * 4 + 1], size[MT_SIZE_TEXT], times[MT_SIZE_TEXT],
        time[MT_SIZE_TEXT];
    if (row->captures > 1)
        snprintf(text, sizeof text, "CUDA: captures of graphs");
    else
        mt_range_name_text(text, sizeof text, page->definitions, range->name, range->domain);
    mt_safe_text(name, sizeof name, text, NAME_WIDTH, MT_CUT_END, page->style);
    fprintf(page->out, "%11s %9s %8s  %s\n", mt_size_text(size, row->most->bytes),
            mt_time_text(time, row->most->time_ns), mt_count_text(times, n), name);
}

void mt_page_ranges(const struct mt_page *page, const struct mt_device *device)
{
    const struct mt_ranges *ranges = &page->analysis->replay.tracker.ranges;
    unsigned slot = mt_device_slot(device->device);
    uint32_t around;
    char text[256], count[MT_SIZE_TEXT];
    struct row *rows = calloc(ranges->device[slot].n + 1, sizeof *rows);
    size_t n = rows ? choose(ranges, slot, &around, rows) : 0;
    if (n) {
        qsort(rows, n, sizeof *rows, by_most);
        n = join_captures(page, rows, n);
        fprintf(page->out, "\n%11s %9s %8s  %s", "highest", "at", "times",
                "range named by the "
                "program");
        if (around) {
            mt_page_range_text(page, around, text, sizeof text, 24);
            fprintf(page->out, " in %s", text);
        }
        putc('\n', page->out);
    }
    while (n && rows[n - 1].most->bytes < mt_page_filter(page)->least)
        n--;
    size_t shown = mt_filter_rows(mt_page_filter(page), n, ROWS_SHOWN);
    for (size_t i = 0; i < shown; i++)
        print_range(page, &rows[i]);
    if (n > shown)
        fprintf(page->out, "%30s  and %s lower ones\n", "", mt_count_text(count, n - shown));
    free(rows);
}

void mt_page_marks(const struct mt_page *page)
{
    const struct mt_ranges *ranges = &page->analysis->replay.tracker.ranges;
    char text[512], name[NAME_WIDTH * 4 + 1], first[MT_SIZE_TEXT], last[MT_SIZE_TEXT],
        times[MT_SIZE_TEXT];
    if (ranges->n_marks)
        fprintf(page->out, "\n%11s %9s %8s  %s\n", "first", "last", "times",
                "mark set by the "
                "program");
    for (size_t i = 0; i < ranges->n_marks && i < ROWS_SHOWN; i++) {
        const struct mt_range_mark *mark = &ranges->mark[i];
        mt_range_name_text(text, sizeof text, page->definitions, mark->name, mark->domain);
        mt_safe_text(name, sizeof name, text, NAME_WIDTH, MT_CUT_END, page->style);
        fprintf(page->out, "%11s %9s %8s  %s\n", mt_time_text(first, mark->first_ns),
                mt_time_text(last, mark->last_ns), mt_count_text(times, mark->times), name);
    }
    if (ranges->n_marks > ROWS_SHOWN)
        fprintf(page->out, "%30s  and %s later ones\n", "",
                mt_count_text(times, ranges->n_marks - ROWS_SHOWN));
}
