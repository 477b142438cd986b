/* SPDX-License-Identifier: Apache-2.0 */
/* The report's part about what was live at the moment and not needed then. */
#include "analyzer/print/page.h"

#define ROWS 3u
#define BEFORE_USE 22 /* columns of a row before its second line */

static const char *const titles[] = {
    [MT_UNNEEDED_NEVER] = "never used",
    [MT_UNNEEDED_AFTER] = "last used before, freed after",
    [MT_UNNEEDED_UNTIL] = "allocated before, first used after",
    [MT_UNNEEDED_BETWEEN] = "unused for the longest time around it",
};

static void print_use(const struct mt_page *page, enum mt_unneeded_kind kind,
                      const struct mt_sum *sum)
{
    char where[1024];
    if (kind == MT_UNNEEDED_NEVER)
        return;
    mt_page_place(page, sum->key[1], where, sizeof where, page->width - BEFORE_USE - 16);
    fprintf(page->out, "%*s%s %s\n", BEFORE_USE, "",
            kind == MT_UNNEEDED_UNTIL ? "first used" : "last used",
            sum->key[1]   ? where
            : sum->key[2] ? "in backward"
                          : "at an unknown line");
}

static void print_kind(const struct mt_page *page, enum mt_unneeded_kind kind,
                       const struct mt_sums *sums)
{
    char size[MT_SIZE_TEXT], count[MT_SIZE_TEXT], where[1024];
    if (!sums->blocks)
        return;
    fprintf(page->out, "  %s: %s\n", titles[kind], mt_size_text(size, sums->bytes));
    for (size_t i = 0; i < sums->n && i < ROWS; i++) {
        const struct mt_sum *sum = &sums->sum[i];
        mt_page_place(page, sum->stack, where, sizeof where, page->width - BEFORE_USE);
        fprintf(page->out, "%11s %8s  %s\n", mt_size_text(size, sum->bytes),
                mt_count_text(count, sum->blocks), where);
        print_use(page, kind, sum);
    }
    mt_page_rest(page, sums->n > ROWS ? sums->n - ROWS : 0);
}

/* Print what is not in the list, though it may not be needed either. */
static void print_apart(const struct mt_page *page, const char *what, uint64_t bytes)
{
    char size[MT_SIZE_TEXT];
    if (bytes)
        fprintf(page->out, "  not counted: %s, %s\n", mt_size_text(size, bytes), what);
}

void mt_page_unneeded(const struct mt_page *page, const struct mt_device *device)
{
    const struct mt_unneeded *unneeded = &device->unneeded;
    const char *when = device->is_peak ? "at the peak" : "at that moment";
    char size[MT_SIZE_TEXT];
    if (unneeded->is_unseen)
        fprintf(page->out, "\nNot needed %s: unknown; memtap did not see all launched work.\n",
                when);
    if (!unneeded->bytes && !unneeded->passed && !unneeded->unknown)
        return;
    fprintf(page->out, "\nNot needed %s, judging by launched kernels, copies and fills: %s\n", when,
            unneeded->bytes ? mt_size_text(size, unneeded->bytes) : "nothing known");
    if (unneeded->bytes)
        fprintf(page->out, "  (unless a kernel computed or loaded the address)\n");
    for (enum mt_unneeded_kind kind = 0; kind < MT_UNNEEDED_KINDS; kind++)
        print_kind(page, kind, &unneeded->kind[kind]);
    print_apart(page, "last used before, by the line that allocates at that moment",
                unneeded->of_own_line);
    print_apart(page, "unknown: their addresses were passed in memory", unneeded->passed);
    print_apart(page, "unknown: the recording ended before their uses were written",
                unneeded->unknown);
}
