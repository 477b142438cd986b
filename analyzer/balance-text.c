/* SPDX-License-Identifier: Apache-2.0 */
/* The pages' table of all memory of a device. */
#include "page.h"

#define PART_WIDTH 40u

static void print_row(const struct mt_page *page, const char *name, uint64_t bytes, uint64_t whole)
{
    char size[MT_SIZE_TEXT];
    fprintf(page->out, "  %-*s %11s", (int)PART_WIDTH, name, mt_size_text(size, bytes));
    if (whole)
        fprintf(page->out, "  %5.1f %%", 100.0 * (double)bytes / (double)whole);
    putc('\n', page->out);
}

static void print_parts(const struct mt_page *page, const struct mt_balance *balance)
{
    uint64_t rest = balance->cuda;
    char name[PART_WIDTH * 4 + 1], text[sizeof balance->part->name + 16];
    for (size_t i = 0; i < balance->n_parts && balance->part[i].bytes <= rest; i++) {
        snprintf(text, sizeof text, "  %s", balance->part[i].name);
        mt_safe_text(name, sizeof name, text, PART_WIDTH, MT_CUT_END, page->style);
        print_row(page, name, balance->part[i].bytes, balance->used);
        rest -= balance->part[i].bytes;
    }
    if (rest && rest < balance->cuda)
        print_row(page, "  others", rest, balance->used);
}

static void print_sample(const struct mt_page *page, const struct mt_device *device)
{
    const struct mt_balance *balance = &device->balance;
    char used[MT_SIZE_TEXT], total[MT_SIZE_TEXT], time[MT_SIZE_TEXT];
    uint64_t at = device->at.time_ns, sample = balance->sample_time_ns;
    fprintf(page->out, "\nThe whole device: %s of %s in use (it was asked %s %s)\n",
            mt_size_text(used, balance->used), mt_size_text(total, balance->total),
            mt_time_text(time, sample > at ? sample - at : at - sample),
            sample > at ? "later" : "before");
}

void mt_page_balance(const struct mt_page *page, const struct mt_device *device)
{
    const struct mt_balance *balance = &device->balance;
    if (balance->known)
        print_sample(page, device);
    else if (device->of_cuda)
        return; /* nothing but what is said already */
    else
        fputs(
            "\nThe device was not asked what it holds: contexts, other processes are not known.\n",
            page->out);
    if (balance->known && balance->pytorch)
        print_row(page, "PyTorch's segments", balance->pytorch, balance->used);
    if (balance->cuda)
        print_row(page, device->of_cuda ? "CUDA allocations" : "other CUDA allocations",
                  balance->cuda, balance->used);
    print_parts(page, balance);
    if (!balance->known)
        return;
    print_row(page,
              balance->knows_own ? "context and modules" : "context, modules, other processes",
              balance->runtime, balance->used);
    if (balance->others)
        print_row(page, "other processes", balance->others, balance->used);
    if (balance->unexplained)
        print_row(page, "not explained", balance->unexplained, balance->used);
}
