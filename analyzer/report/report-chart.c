/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The report's chart. Its columns are equal numbers of events, so that frequent work gets room.
 * Start-up, which may have many events, gets at most an eighth.
 */
#include "analyzer/print/page.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define ROWS 8u
#define MARGIN 12u
#define MOST_COLUMNS 200u
#define STARTUP_PART 8u
#define CACHED MT_CATEGORY_ROOM /* the layer above the categories' */

struct chart {
    struct mt_timeline_at columns[MOST_COLUMNS];
    size_t n, startup; /* columns; columns of start-up */
};

/* From the bottom of the chart to its top: first lasting memory, then changing memory. */
static const struct {
    enum mt_category category;
    char letter;
} own_layers[MT_CATEGORY_COUNT] = {
    {MT_CATEGORY_PARAMETERS, 'P'},      {MT_CATEGORY_BUFFERS, 'b'},
    {MT_CATEGORY_COPIES, 'p'},          {MT_CATEGORY_PERSISTENT, 's'},
    {MT_CATEGORY_OPTIMIZER_STATE, 'O'}, {MT_CATEGORY_RUNTIME, 'r'},
    {MT_CATEGORY_WORKSPACE, 'w'},       {MT_CATEGORY_COMMUNICATION, 'c'},
    {MT_CATEGORY_INPUTS, 'i'},          {MT_CATEGORY_GRADIENTS, 'G'},
    {MT_CATEGORY_KV_CACHE, 'k'},        {MT_CATEGORY_ACTIVATIONS, 'a'},
    {MT_CATEGORY_TEMPORARIES, 't'},     {MT_CATEGORY_OTHER, '.'},
};

/* Return the category: the user's are above memtap's, in order of definition. */
static unsigned category_of(unsigned layer)
{
    return layer < MT_CATEGORY_COUNT ? own_layers[layer].category : layer;
}

static char letter_of(int layer)
{
    static const char users[MT_MOST_USER_CATEGORIES + 1] = "123456789ABCDEFH";
    return layer == (int)CACHED             ? ':'
           : layer < (int)MT_CATEGORY_COUNT ? own_layers[layer].letter
                                            : users[layer - (int)MT_CATEGORY_COUNT];
}

static int colour_of(int layer)
{
    return layer < 0 || layer == (int)CACHED
               ? 0
               : (int)mt_categories[category_of((unsigned)layer)].colour;
}

static const char *label_of(int layer)
{
    return layer == (int)CACHED ? "cached" : mt_categories[category_of((unsigned)layer)].label;
}

/* Return the layer of a column at a height in bytes; -1: above all. */
static int layer_at(const struct mt_timeline_at *bytes, uint64_t height)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < mt_n_categories; i++) {
        sum += bytes->category[category_of(i)];
        if (height < sum)
            return (int)i;
    }
    return height < bytes->reserved ? (int)CACHED : -1;
}

static void print_row(const struct mt_page *page, const struct chart *chart, uint64_t height,
                      unsigned *used)
{
    int last = -1;
    size_t n = chart->n;
    while (n && layer_at(&chart->columns[n - 1], height) < 0)
        n--; /* no blanks at the end of a line */
    for (size_t x = 0; x < n; x++) {
        int layer = layer_at(&chart->columns[x], height);
        if (layer != last)
            mt_colour(page->out, page->style, colour_of(layer));
        last = layer;
        if (layer >= 0)
            *used |= 1u << layer;
        putc(layer < 0 ? ' ' : letter_of(layer), page->out);
    }
    if (last >= 0)
        mt_colour(page->out, page->style, 0);
    putc('\n', page->out);
}

static void print_legend(const struct mt_page *page, const struct chart *chart, unsigned used)
{
    fputs("            ", page->out);
    unsigned at = 12;
    for (unsigned i = 0; i <= CACHED; i++) {
        if (!(used & 1u << i))
            continue;
        const char *label = label_of((int)i);
        if (at > 12 && at + strlen(label) + 4 > page->width) {
            fputs("\n            ", page->out);
            at = 12;
        } else if (at > 12) {
            fputs("  ", page->out);
        }
        mt_colour(page->out, page->style, colour_of((int)i));
        putc(letter_of((int)i), page->out);
        mt_colour(page->out, page->style, 0);
        fprintf(page->out, " %s", label);
        at += (unsigned)strlen(label) + 4;
    }
    if (chart->startup)
        fputs(at + 12 > page->width ? "\n            - start-up" : "  - start-up", page->out);
    putc('\n', page->out);
}

static void fill(struct chart *chart, const struct mt_timeline *timeline, size_t room)
{
    size_t training = mt_timeline_training(timeline), part = room / STARTUP_PART;
    if (training * room / timeline->points < part)
        part = training * room / timeline->points + 1;
    chart->startup = mt_timeline_columns(timeline, 0, training, part, chart->columns);
    chart->n = chart->startup + mt_timeline_columns(timeline, training, timeline->points,
                                                    room - chart->startup,
                                                    chart->columns + chart->startup);
}

/* Return the iteration to name at a column: one that begins in it and is a multiple of `every`, or
 * the first of all. 0: none. */
static uint64_t iteration_at(const struct chart *chart, size_t x, uint64_t every)
{
    uint64_t before = x ? chart->columns[x - 1].iterations : 0;
    uint64_t now = chart->columns[x].iterations, last = now - now % every;
    return last > before ? last : before || !now ? 0 : 1;
}

/* Return the next of 1, 2, 5, 10, 20, ... */
static uint64_t next_round(uint64_t number)
{
    uint64_t digit = number;
    while (digit >= 10)
        digit /= 10;
    return digit == 2 ? number / 2 * 5 : number * 2;
}

/* Print the begins of iterations, as many as fit. */
static void print_iterations(const struct mt_page *page, const struct chart *chart)
{
    uint64_t every = 1, n = chart->columns[chart->n - 1].iterations;
    size_t at = 0, digits = (size_t)snprintf(NULL, 0, "%" PRIu64, n);
    if (!n)
        return;
    while (every < n && n / every * (digits + 2) > chart->n - chart->startup)
        every = next_round(every);
    fprintf(page->out, "%11s ", "iteration");
    for (; at < chart->startup; at++)
        putc('-', page->out);
    for (size_t x = at; x + digits <= chart->n; x++) {
        uint64_t iteration = iteration_at(chart, x, every);
        if (iteration && (x > at || x == chart->startup))
            at += (size_t)fprintf(page->out, "%*s%" PRIu64, (int)(x - at), "", iteration);
    }
    putc('\n', page->out);
}

/* Return the chart's height in bytes: the most that was reserved, as nvidia-smi shows it. */
static uint64_t height_of(const struct chart *chart)
{
    uint64_t allocated = 0, reserved = 0;
    for (size_t x = 0; x < chart->n; x++) {
        uint64_t sum = mt_timeline_sum(&chart->columns[x]);
        allocated = sum > allocated ? sum : allocated;
        if (chart->columns[x].reserved > reserved)
            reserved = chart->columns[x].reserved;
    }
    return reserved > allocated ? reserved : allocated;
}

void mt_page_timeline(const struct mt_page *page, const struct mt_device *device)
{
    static struct chart chart;
    char size[MT_SIZE_TEXT], begin[MT_SIZE_TEXT], end[MT_SIZE_TEXT];
    const struct mt_replay *replay = &page->analysis->replay;
    uint64_t most;
    unsigned used = 0;
    size_t room = page->width > MARGIN + MOST_COLUMNS ? MOST_COLUMNS : page->width - MARGIN;
    if (!device->timeline || device->timeline->points < 2)
        return;
    chart = (struct chart){0};
    fill(&chart, device->timeline, room);
    most = height_of(&chart);
    if (most < ROWS)
        return;
    putc('\n', page->out);
    for (unsigned row = 0; row < ROWS; row++) {
        uint64_t height = most / (2 * ROWS) * (2 * (ROWS - row) - 1);
        fprintf(page->out, "%11s ", row % 4 ? "" : mt_size_text(size, most / ROWS * (ROWS - row)));
        print_row(page, &chart, height, &used);
    }
    print_iterations(page, &chart);
    mt_time_text(begin, device->spans->n ? device->spans->span[0].time_ns : 0);
    mt_time_text(end, replay->survey.last_time_ns);
    int between = (int)chart.n - (int)strlen(begin) - (int)strlen(end);
    fprintf(page->out, "%11s %s%*s%s\n", "time", begin, between > 2 ? between : 2, "", end);
    print_legend(page, &chart, used);
}
