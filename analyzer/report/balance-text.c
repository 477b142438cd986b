/* SPDX-License-Identifier: Apache-2.0 */
/* The report's table of a device's whole memory. */
#include "analyzer/print/page.h"

#include <string.h>

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
    uint64_t rest = balance->cuda, communicators = balance->nccl.communicators;
    char name[PART_WIDTH * 4 + 1], text[sizeof balance->part->name + 16], count[MT_SIZE_TEXT];
    for (size_t i = 0; i < balance->n_parts && balance->part[i].bytes <= rest; i++) {
        if (communicators && mt_balance_is_nccl(&balance->part[i]))
            snprintf(text, sizeof text, "  NCCL, %s communicator%s",
                     mt_count_text(count, communicators), communicators == 1 ? "" : "s");
        else
            snprintf(text, sizeof text, "  %s", balance->part[i].name);
        mt_safe_text(name, sizeof name, text, PART_WIDTH, MT_CUT_END, page->style);
        print_row(page, name, balance->part[i].bytes, balance->used);
        rest -= balance->part[i].bytes;
    }
    if (rest && rest < balance->cuda)
        print_row(page, "  others", rest, balance->used);
}

/* Name "  since: 3 modules (18.00 MiB)": CUDA modules, with the bytes of their images. */
static void name_since(char *text, size_t size, const struct mt_cuda_object_counts *since)
{
    const struct {
        uint64_t n, bytes;
        const char *what;
    } parts[] = {{since->contexts, 0, "context"},
                 {since->modules, since->code, "module"},
                 {since->communicators, 0, "NCCL communicator"},
                 {since->streams, 0, "stream"}};
    const char *separator = ": ";
    char number[MT_SIZE_TEXT];
    snprintf(text, size, "  since");
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        if (!parts[i].n)
            continue;
        mt_text_append(text, size, "%s%s %s%s", separator, mt_count_text(number, parts[i].n),
                       parts[i].what, parts[i].n == 1 ? "" : "s");
        if (parts[i].bytes)
            mt_text_append(text, size, " (%s)", mt_size_text(number, parts[i].bytes));
        separator = ", ";
    }
}

/* Name NCCL's communicators where their memory is in the CUDA runtime's. */
static void print_communicators(const struct mt_page *page, const struct mt_balance *balance)
{
    uint64_t n = balance->nccl.communicators;
    char count[MT_SIZE_TEXT];
    if (n && !balance->nccl.bytes && !balance->since.communicators)
        fprintf(page->out, "  including %s NCCL communicator%s\n", mt_count_text(count, n),
                n == 1 ? "" : "s");
}

/* Print the CUDA runtime's memory. The first sample has the context; later ones add new objects,
 * and code loaded at its first use. */
static void print_runtime(const struct mt_page *page, const struct mt_balance *balance)
{
    char text[128], name[PART_WIDTH * 4 + 1];
    if (balance->first == balance->runtime)
        return;
    print_row(page, "  at the first sample", balance->first, balance->used);
    name_since(text, sizeof text, &balance->since);
    mt_safe_text(name, sizeof name, text, PART_WIDTH, MT_CUT_END, page->style);
    print_row(page, name, balance->runtime - balance->first, balance->used);
}

static void print_sample(const struct mt_page *page, const struct mt_device *device)
{
    const struct mt_balance *balance = &device->balance;
    char used[MT_SIZE_TEXT], sampled[MT_SIZE_TEXT], total[MT_SIZE_TEXT], time[MT_SIZE_TEXT];
    uint64_t at = device->at.time_ns, sample = balance->sample_time_ns;
    mt_time_text(time, sample > at ? sample - at : at - sample);
    const char *when = sample > at ? "later" : "earlier";
    fprintf(page->out, "\nWhole device: %s of %s in use", mt_size_text(used, balance->used),
            mt_size_text(total, balance->total));
    if (balance->sampled == balance->used)
        fprintf(page->out, " (sampled %s %s)\n", time, when);
    else
        fprintf(page->out, ",\n%s when sampled %s %s\n", mt_size_text(sampled, balance->sampled),
                time, when);
}

/* Print segments in which PyTorch has no block. */
static void print_empty(const struct mt_page *page, const struct mt_balance *balance)
{
    char name[PART_WIDTH * 4 + 1], text[sizeof balance->empty->name + 16];
    for (size_t i = 0; i < balance->n_empty; i++) {
        snprintf(text, sizeof text, "  empty: %s", balance->empty[i].name);
        mt_safe_text(name, sizeof name, text, PART_WIDTH, MT_CUT_END, page->style);
        print_row(page, name, balance->empty[i].bytes, balance->used);
    }
}

static void print_imported(const struct mt_page *page, const struct mt_imported *imported)
{
    char size[MT_SIZE_TEXT], count[MT_SIZE_TEXT];
    if (!imported->blocks)
        return;
    fprintf(page->out, "\nImported (counted where allocated): %s allocation%s",
            mt_count_text(count, imported->blocks), imported->blocks == 1 ? "" : "s");
    if (imported->bytes)
        fprintf(page->out, ", %s", mt_size_text(size, imported->bytes));
    if (imported->unsized)
        fprintf(page->out, ", %s of other processes", mt_count_text(count, imported->unsized));
    putc('\n', page->out);
}

static void print_balance(const struct mt_page *page, const struct mt_device *device)
{
    const struct mt_balance *balance = &device->balance;
    if (balance->known)
        print_sample(page, device);
    else if (device->of_cuda)
        return; /* already reported above */
    else
        fputs("\nThe device was not sampled; contexts and other processes are unknown.\n",
              page->out);
    if (balance->pytorch && (balance->known || balance->n_empty)) {
        print_row(page, "PyTorch's segments", balance->pytorch, balance->used);
        print_empty(page, balance);
    }
    if (balance->cuda)
        print_row(page, device->of_cuda ? "CUDA allocations" : "other CUDA allocations",
                  balance->cuda, balance->used);
    print_parts(page, balance);
    if (!balance->known)
        return;
    print_row(page,
              balance->knows_own ? "CUDA context and modules"
                                 : "CUDA context, modules, other processes",
              balance->runtime, balance->used);
    print_runtime(page, balance);
    print_communicators(page, balance);
    if (balance->others)
        print_row(page, "other processes", balance->others, balance->used);
    if (balance->unexplained)
        print_row(page, "unexplained", balance->unexplained, balance->used);
}

void mt_page_balance(const struct mt_page *page, const struct mt_device *device)
{
    print_balance(page, device);
    print_imported(page, &device->balance.imported);
}
