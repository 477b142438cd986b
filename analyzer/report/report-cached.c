/* SPDX-License-Identifier: Apache-2.0 */
/* The report's parts about memory that PyTorch's allocator has reserved but not allocated. */
#include "analyzer/print/page.h"
#include "analyzer/support/demangle.h"

#include <stdlib.h>
#include <string.h>

#define PINS_SHOWN 5u
#define POOLS_SHOWN 10u
#define WORTH_PINS 10u /* this part of the reserved bytes must be free in pieces */

void mt_page_pins(const struct mt_page *page, const struct mt_pins *pins)
{
    char a[MT_SIZE_TEXT], b[MT_SIZE_TEXT], c[MT_SIZE_TEXT], place[1024];
    if (!pins->n)
        return;
    fprintf(page->out, "\n%11s  %8s  %11s  %-15s %s\n", "free", "segments", "pinned by", "category",
            "call site");
    for (size_t i = 0; i < pins->n && i < PINS_SHOWN; i++) {
        const struct mt_pin *pin = &pins->pin[i];
        mt_page_place(page, pin->stack, place, sizeof place, page->width - 54);
        fprintf(page->out, "%11s  %8s  %12s %c", mt_size_text(a, pin->free),
                mt_count_text(b, pin->segments), mt_size_text(c, pin->bytes),
                mt_certainty_mark(pin->certainty));
        mt_put_category(page->out, page->style, pin->category, 15);
        fprintf(page->out, " %s\n", place);
    }
}

/* Print the worst moment at which PyTorch reserved more while enough memory was free. */
static void print_worst(const struct mt_page *page, const struct mt_device *device,
                        enum mt_free_kind kind)
{
    char a[MT_SIZE_TEXT], b[MT_SIZE_TEXT], c[MT_SIZE_TEXT], name[256] = "", place[1024];
    const struct mt_worst *worst = device->worst[kind];
    if (!worst->times)
        return;
    if (worst->node_name)
        mt_short_type_name(mt_string(page->definitions, worst->node_name), name, sizeof name);
    fprintf(page->out, "PyTorch reserved more %s time%s although enough was free:\n%s.\n",
            mt_count_text(a, worst->times), worst->times == 1 ? "" : "s", mt_free_kind_words(kind));
    fprintf(page->out, "Worst at %s: %s was free when this line requested %s:\n",
            mt_time_text(a, worst->time_ns), mt_size_text(b, worst->lay_free),
            mt_size_text(c, worst->wanted));
    if (*name) {
        mt_safe_text(place, sizeof place, name, page->width - 8, MT_CUT_END, page->style);
        fprintf(page->out, "        %s\n", place);
    }
    if (*name && !mt_stack(page->definitions, worst->stack)->depth)
        return;
    mt_page_place(page, worst->stack, place, sizeof place, page->width - 11);
    fprintf(page->out, "        %s%s\n", *name ? "of " : "", place);
}

/* Print the first and the last iteration, each at its peak. */
static void print_trend(const struct mt_page *page, const struct mt_device *device)
{
    struct mt_free_trend trend = mt_spans_free_trend(device->spans);
    const char *word = device->spans->serves ? "step" : "iteration";
    if (trend.first && trend.last > trend.first)
        fprintf(page->out, "Free at the peak of %s %u: %.1f %%; of %s %u: %.1f %%.\n", word,
                trend.first, 100 * trend.first_part, word, trend.last, 100 * trend.last_part);
}

/* Print wrapped text with a hanging indent. */
static void put_hanging(const struct mt_page *page, const char *text, unsigned columns)
{
    char *lines = NULL, *rest;
    size_t size;
    FILE *memory = open_memstream(&lines, &size);
    if (!memory)
        return;
    mt_put_wrapped(memory, text, page->width - columns, page->style);
    if (mt_close_memory(memory)) {
        free(lines);
        return;
    }
    for (char *line = strtok_r(lines, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
        fprintf(page->out, "%*s%s\n", line == lines ? 0 : (int)columns, "", line);
    free(lines);
}

/* Print "  1.00 GiB in 4 whole segments, ...", wrapped. */
static void print_kind(const struct mt_page *page, const struct mt_device *device,
                       enum mt_free_kind kind, uint64_t bytes)
{
    char size[MT_SIZE_TEXT], where[400];
    if (!bytes)
        return;
    mt_cached_text(where, sizeof where, page->definitions, &device->cached_by, kind);
    fprintf(page->out, "%11s  ", mt_size_text(size, bytes));
    put_hanging(page, where, 13);
}

static void print_cached(const struct mt_page *page, const struct mt_device *device)
{
    const struct mt_cached *cached = &device->cached_by;
    char size[MT_SIZE_TEXT];
    fprintf(page->out, "\nFree in PyTorch's cache: %s, %.1f %% of the reserved memory",
            mt_size_text(size, device->cached),
            100.0 * (double)device->cached / (double)device->at.reserved);
    fputs(cached->n ? "\n" : ".\n", page->out);
    if (!cached->n)
        return;
    print_kind(page, device, MT_FREE_OTHERS, cached->others);
    print_kind(page, device, MT_FREE_WHOLE, cached->whole);
    print_kind(page, device, MT_FREE_PIECES, cached->in_pieces);
}

/* Print the pools at the peak of reserved memory, if there are several. */
static void print_pools(const struct mt_page *page, const struct mt_cached *cached)
{
    char a[MT_SIZE_TEXT], b[MT_SIZE_TEXT], name[sizeof cached->pool->name], place[1024];
    if (cached->n < 2)
        return;
    fprintf(page->out, "%11s %11s  %-30s %s\n", "reserved", "free", "pool", "largest segment");
    for (size_t i = 0; i < cached->n && i < POOLS_SHOWN; i++) {
        const struct mt_cached_pool *pool = &cached->pool[i];
        mt_safe_text(name, sizeof name, pool->name, 30, MT_CUT_END, page->style);
        mt_page_place(page, pool->stack, place, sizeof place, page->width - 56);
        fprintf(page->out, "%11s %11s  %-30s %s\n", mt_size_text(a, pool->reserved),
                mt_size_text(b, pool->reserved - pool->allocated), name, pool->stack ? place : "");
    }
    if (cached->n > POOLS_SHOWN)
        mt_page_rest(page, cached->n - POOLS_SHOWN);
}

/* Print the peak of reserved memory. */
static void print_most(const struct mt_page *page, const struct mt_device *device)
{
    char size[MT_SIZE_TEXT], idle[MT_SIZE_TEXT], time[MT_SIZE_TEXT];
    const struct mt_totals *most = device->most_reserved;
    if (most->reserved <= device->at.reserved && device->most_cached_by.n < 2)
        return;
    fprintf(page->out, "\nPeak of reserved memory: %s at %s, %s of it free\n",
            mt_size_text(size, most->reserved), mt_time_text(time, most->time_ns),
            mt_size_text(idle, most->reserved - most->allocated));
    print_pools(page, &device->most_cached_by);
}

void mt_page_cached(const struct mt_page *page, const struct mt_device *device)
{
    if (device->of_cuda)
        return;
    if (device->cached && device->at.reserved) {
        print_cached(page, device);
        for (enum mt_free_kind kind = 0; kind < MT_FREE_KINDS; kind++)
            print_worst(page, device, kind);
        print_trend(page, device);
        if (device->cached_by.in_pieces > device->at.reserved / WORTH_PINS)
            mt_page_pins(page, &device->pins);
    }
    print_most(page, device);
}
