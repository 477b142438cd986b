/* SPDX-License-Identifier: Apache-2.0 */
/* The report's parts about an inference server: its memory budget and its work. */
#include "analyzer/print/page.h"

#define ROOM_TEXT 128

static void print_term(const struct mt_page *page, uint64_t bytes, const char *what)
{
    char size[MT_SIZE_TEXT];
    if (bytes)
        fprintf(page->out, "%11s  %s\n", mt_size_text(size, bytes), what);
}

/* Write the cache's capacity in tokens; "": unknown. */
static const char *room_text(char out[ROOM_TEXT], const struct mt_cache_room *room)
{
    char tokens[MT_SIZE_TEXT], sequences[MT_SIZE_TEXT], longest[MT_SIZE_TEXT];
    out[0] = '\0';
    if (!room->room.tokens)
        return out;
    int n = snprintf(out, ROOM_TEXT, ": room for %s%s tokens", room->is_least ? "at least " : "",
                     mt_count_text(tokens, room->room.tokens));
    if (room->sequences)
        snprintf(out + n, ROOM_TEXT - (size_t)n, ", %s sequence%s of %s",
                 mt_count_text(sequences, room->sequences), room->sequences == 1 ? "" : "s",
                 mt_count_text(longest, room->room.longest));
    return out;
}

static void print_work(const struct mt_page *page, const struct mt_serving_budget *budget)
{
    char size[MT_SIZE_TEXT], time[MT_SIZE_TEXT], times[MT_SIZE_TEXT];
    fprintf(page->out, "\n%11s %9s %8s  %s\n", "highest", "at", "times", "the server's work");
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
    char graphs[96], count[MT_SIZE_TEXT], room[ROOM_TEXT], cache[sizeof "kv cache" + ROOM_TEXT];
    snprintf(cache, sizeof cache, "kv cache%s", room_text(room, &device->cache_room));
    if (!budget->serves && *room)
        fprintf(page->out, "\n%s\n", cache);
    if (!budget->serves)
        return;
    snprintf(graphs, sizeof graphs, "graphs: segments of %s captures, at most",
             mt_count_text(count, budget->captures));
    fprintf(page->out, "\n%11s  %s\n", "bytes", "the server's memory budget");
    print_term(page, budget->weights, "weights: left by loading the model");
    print_term(page, budget->activations,
               "activations: the profile run's peak, minus what it "
               "left");
    print_term(page, device->category[MT_CATEGORY_KV_CACHE].bytes, cache);
    print_term(page, budget->graphs, graphs);
    print_term(page, budget->captured,
               "used by capturing: these and workspaces (vLLM's graph pool memory)");
    print_term(page, balance->runtime + balance->cuda,
               "outside PyTorch: context, CUDA modules, libraries");
    print_term(page, balance->others, "other processes");
    if (balance->total > balance->used)
        print_term(page, balance->total - balance->used, "free on the card");
    print_work(page, budget);
}
