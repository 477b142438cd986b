/* SPDX-License-Identifier: Apache-2.0 */
/* The pages' parts about free pieces in segments. */
#include "page.h"

#define PINS_SHOWN 5u
#define WORTH_PINS 10u /* the part of what is reserved that must lie free in pieces */

void mt_page_pins(const struct mt_page *page, const struct mt_pins *pins)
{
    char a[MT_SIZE_TEXT], b[MT_SIZE_TEXT], c[MT_SIZE_TEXT], place[1024];
    if (!pins->n)
        return;
    fprintf(page->out, "\n%11s  %8s  %11s  %-15s %s\n", "kept free", "segments", "by blocks of",
            "category", "of this line");
    for (size_t i = 0; i < pins->n && i < PINS_SHOWN; i++) {
        const struct mt_pin *pin = &pins->pin[i];
        mt_page_place(page, pin->stack, place, sizeof place, page->width - 54);
        fprintf(page->out, "%11s  %8s  %12s  ", mt_size_text(a, pin->free),
                mt_count_text(b, pin->segments), mt_size_text(c, pin->bytes));
        mt_colour(page->out, page->style, mt_categories[pin->category].colour);
        fprintf(page->out, "%-15s", mt_categories[pin->category].label);
        mt_colour(page->out, page->style, 0);
        fprintf(page->out, " %s\n", place);
    }
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
    fprintf(page->out, "\nFragmentation: %.1f %% of what is reserved is free",
            100.0 * (double)device->cached / (double)device->at.reserved);
    if (!device->segments.n || device->segments.unplaced) {
        fputs(".\n", page->out);
        return;
    }
    fprintf(page->out, ", of it %s in %s pieces\nbetween blocks, the largest %s.\n",
            mt_size_text(free_text, in_pieces), mt_count_text(count, small->pieces + large->pieces),
            mt_size_text(largest, most));
    if (in_pieces > device->at.reserved / WORTH_PINS)
        mt_page_pins(page, &device->pins);
}
