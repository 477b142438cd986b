/* SPDX-License-Identifier: Apache-2.0 */
/* The pages' parts on free pieces in segments. */
#include "analyzer/print/page.h"
#include "analyzer/support/demangle.h"

#define PINS_SHOWN 5u
#define WORTH_PINS 10u /* one in so many reserved bytes must be free in pieces */

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

/* Print the worst moment of the run: PyTorch reserved more while enough memory was free. */
static void print_worst(const struct mt_page *page, const struct mt_device *device)
{
    char a[MT_SIZE_TEXT], b[MT_SIZE_TEXT], c[MT_SIZE_TEXT], name[256] = "", place[1024];
    const struct mt_worst *worst = device->worst;
    if (!worst->times)
        return;
    if (worst->node_name)
        mt_short_type_name(mt_string(page->definitions, worst->node_name), name, sizeof name);
    fprintf(page->out,
            "%s time%s PyTorch reserved more although enough memory was free, because the\n"
            "free memory was fragmented.\n",
            mt_count_text(a, worst->times), worst->times == 1 ? "" : "s");
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
        fprintf(page->out, "Free at %s %u's peak: %.1f %%; at %s %u's peak: %.1f %%.\n", word,
                trend.first, 100 * trend.first_part, word, trend.last, 100 * trend.last_part);
}

void mt_page_fragmentation(const struct mt_page *page, const struct mt_device *device)
{
    char free_text[MT_SIZE_TEXT], count[MT_SIZE_TEXT], largest[MT_SIZE_TEXT];
    const struct mt_pool_state *small = &device->segments.pool[MT_POOL_SMALL];
    const struct mt_pool_state *large = &device->segments.pool[MT_POOL_LARGE];
    uint64_t in_pieces = small->free + large->free;
    uint64_t most =
        small->largest_free > large->largest_free ? small->largest_free : large->largest_free;
    if (device->of_cuda || !device->cached || !device->at.reserved)
        return;
    fprintf(page->out, "\nFragmentation: %.1f %% of the reserved memory is free",
            100.0 * (double)device->cached / (double)device->at.reserved);
    /* More free in pieces than at all: what PyTorch says of itself and its segments disagree. */
    if (!device->segments.n || device->segments.unplaced || in_pieces > device->cached) {
        fputs(".\n", page->out);
        print_worst(page, device);
        print_trend(page, device);
        return;
    }
    uint64_t pieces = small->pieces + large->pieces;
    fprintf(page->out, ",\n%s of it in ", mt_size_text(free_text, in_pieces));
    if (pieces == 1)
        fputs("one piece between blocks.\n", page->out);
    else
        fprintf(page->out, "%s pieces between blocks; the largest piece is %s.\n",
                mt_count_text(count, pieces), mt_size_text(largest, most));
    print_worst(page, device);
    print_trend(page, device);
    if (in_pieces > device->at.reserved / WORTH_PINS)
        mt_page_pins(page, &device->pins);
}
