/* SPDX-License-Identifier: Apache-2.0 */
/* The report's part on idle memory: no copy or set used it at the moment. */
#include "analyzer/print/page.h"

static const char *const titles[] = {
    [MT_IDLE_NEVER] = "never copied or set (is it needed?)",
    [MT_IDLE_AFTER] = "copied or set before, but not later (is it freed late?)",
    [MT_IDLE_UNTIL] = "copied or set later only (is it allocated early?)",
};

static void print_kind(const struct mt_page *page, const char *title,
                       const struct mt_origins *origins)
{
    char size[MT_SIZE_TEXT], count[MT_SIZE_TEXT];
    fprintf(page->out, "  %s: %s in %s allocation%s\n", title, mt_size_text(size, origins->bytes),
            mt_count_text(count, origins->blocks), origins->blocks == 1 ? "" : "s");
    mt_page_origins(page, origins, 0);
}

void mt_page_idle(const struct mt_page *page, const struct mt_device *device)
{
    const struct mt_idle *idle = &device->idle;
    bool is_any = false;
    for (enum mt_idle_kind kind = 0; kind < MT_IDLE_KINDS; kind++)
        is_any |= idle->kind[kind].blocks != 0;
    if (idle->unseen)
        fprintf(page->out,
                "\nIn use at that moment? Unknown: memtap did not record what %s touched.\n",
                idle->unseen);
    if (!is_any)
        return;
    fputs("\nIn use at that moment? By copies and memsets; memtap does not see kernels:\n",
          page->out);
    for (enum mt_idle_kind kind = 0; kind < MT_IDLE_KINDS; kind++)
        if (idle->kind[kind].blocks)
            print_kind(page, titles[kind], &idle->kind[kind]);
}
