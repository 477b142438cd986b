/* SPDX-License-Identifier: Apache-2.0 */
/* The report's part on leaks and invalid frees. */
#include "analyzer/print/page.h"

static void print_list(const struct mt_page *page, const char *what,
                       const struct mt_origins *origins)
{
    char size[MT_SIZE_TEXT], count[MT_SIZE_TEXT];
    if (!origins->blocks)
        return;
    fprintf(page->out, "\n%s: %s in %s allocation%s\n", what, mt_size_text(size, origins->bytes),
            mt_count_text(count, origins->blocks), origins->blocks == 1 ? "" : "s");
    mt_page_origins(page, origins, 0);
}

void mt_page_leaks(const struct mt_page *page, const struct mt_device *device)
{
    print_list(page, "Not freed at the end", &device->leaks);
}

void mt_page_frees(const struct mt_page *page)
{
    const struct mt_cuda_level *cuda = &page->analysis->replay.cuda;
    char count[MT_SIZE_TEXT];
    if (mt_info(page->definitions, "torch"))
        return;
    print_list(page, "Freed twice", &cuda->twice);
    print_list(page, "Freed by a thread that had not allocated it", &cuda->by_others);
    if (cuda->unknown)
        fprintf(page->out, "\nFreed, but allocated before recording began: %s.\n",
                mt_count_text(count, cuda->unknown));
}
