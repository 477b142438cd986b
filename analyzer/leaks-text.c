/* SPDX-License-Identifier: Apache-2.0 */
/* The report's part about what was never freed, or not as it should be. */
#include "page.h"

#define LEAKS_SHOWN 10u
#define BEFORE_PLACE 22u

static void print_count(const struct mt_page *page, uint64_t count, const char *what)
{
    char text[MT_SIZE_TEXT];
    if (count)
        fprintf(page->out, "%s: %s.\n", what, mt_count_text(text, count));
}

void mt_page_leaks(const struct mt_page *page, const struct mt_device *device)
{
    const struct mt_leaks *leaks = &device->leaks;
    char size[MT_SIZE_TEXT], count[MT_SIZE_TEXT], place[1024];
    if (!leaks->blocks)
        return;
    fprintf(page->out, "\nNot freed at the end: %s in %s allocation%s\n",
            mt_size_text(size, leaks->bytes), mt_count_text(count, leaks->blocks),
            leaks->blocks == 1 ? "" : "s");
    for (size_t i = 0; i < leaks->sites.n && i < LEAKS_SHOWN; i++) {
        const struct mt_site *site = &leaks->sites.site[i];
        mt_page_site(page, site, place, sizeof place, page->width - BEFORE_PLACE);
        fprintf(page->out, "%11s %8s  %s\n", mt_size_text(size, site->bytes),
                mt_count_text(count, site->blocks), place);
    }
    if (leaks->sites.n > LEAKS_SHOWN)
        fprintf(page->out, "%20s  and %s smaller ones\n", "",
                mt_count_text(count, leaks->sites.n - LEAKS_SHOWN));
}

void mt_page_frees(const struct mt_page *page)
{
    const struct mt_cuda_level *cuda = &page->analysis->replay.cuda;
    if (mt_info(page->definitions, "torch") || (!cuda->unknown && !cuda->by_others))
        return;
    putc('\n', page->out);
    print_count(page, cuda->unknown, "Freed twice, or allocated before the recording");
    print_count(page, cuda->by_others, "Freed by another thread than had allocated");
}
