/* SPDX-License-Identifier: Apache-2.0 */
/* The report's parts on a program that serves: its memory budget, and what it did. */
#include "analyzer/print/page.h"

static void print_term(const struct mt_page *page, uint64_t bytes, const char *what)
{
    char size[MT_SIZE_TEXT];
    if (bytes)
        fprintf(page->out, "%11s  %s\n", mt_size_text(size, bytes), what);
}

static void print_work(const struct mt_page *page, const struct mt_serving_budget *budget)
{
    char size[MT_SIZE_TEXT], time[MT_SIZE_TEXT], times[MT_SIZE_TEXT];
    fprintf(page->out, "\n%11s %9s %8s  %s\n", "highest", "at", "times", "work of the server");
    for (unsigned what = MT_SERVING_COUNT; what-- > MT_SERVING_NONE + 1;) {
        const struct mt_serving_work *work = &budget->work[what];
        if (work->times)
            fprintf(page->out, "%11s %9s %8s  %s\n", mt_size_text(size, work->most),
                    mt_time_text(time, work->most_time_ns), mt_count_text(times, work->times),
                    mt_serving_names[what].name);
    }
}

void mt_page_serving(const struct mt_page *page, const struct mt_device *device)
{
    const struct mt_serving_budget *budget = &device->serving;
    const struct mt_balance *balance = &device->balance;
    char graphs[96], count[MT_SIZE_TEXT];
    if (!budget->serves)
        return;
    snprintf(graphs, sizeof graphs, "graphs: segments of %s captures, at most",
             mt_count_text(count, budget->captures));
    fprintf(page->out, "\n%11s  %s\n", "bytes", "memory budget of the server");
    print_term(page, budget->weights, "weights: what loading the model left");
    print_term(page, budget->activations, "activations: the profile run's peak, less what it left");
    print_term(page, device->category[MT_CATEGORY_KV_CACHE].bytes, "kv cache");
    print_term(page, budget->graphs, graphs);
    print_term(page, budget->captured,
               "what capturing took: these, and workspaces (as vLLM's graph pool memory)");
    print_term(page, balance->runtime + balance->cuda,
               "outside PyTorch: context, CUDA modules, libraries");
    print_term(page, balance->others, "other processes");
    if (balance->total > balance->used)
        print_term(page, balance->total - balance->used, "free on the card");
    print_work(page, budget);
}
