/* SPDX-License-Identifier: Apache-2.0 */
/* The report's parts about time: phases, how the peak would move, growth, the timeline. */
#include "page.h"

#include <stdlib.h>
#include <string.h>

#define ROWS 8u
#define GROWTH_SHOWN 5u
#define MOST_COLUMNS 200u
#define WHERE_WIDTH 64u

/* "the forward of iteration 3", "start-up" */
static void span_text(char *out, size_t size, const struct mt_span *span)
{
    if (span->iteration)
        snprintf(out, size, "the %s of iteration %u", mt_phase_names[span->phase].label,
                 span->iteration);
    else
        snprintf(out, size, "%s", mt_phase_names[span->phase].label);
}

void mt_page_phase(const struct mt_page *page, const struct mt_device *device)
{
    char where[WHERE_WIDTH * 4 + 1];
    if (device->at.range) {
        mt_page_range_text(page, device->at.range, where, sizeof where, WHERE_WIDTH);
        fprintf(page->out, "  in the range %s\n", where);
    }
    if (!device->span || (device->of_cuda && !device->spans->iterations))
        return; /* programs without PyTorch have no phases */
    span_text(where, sizeof where, device->span);
    fprintf(page->out, "  in %s", where);
    if (device->spans->iterations && device->span->iteration)
        fprintf(page->out, " of %u", device->spans->iterations);
    putc('\n', page->out);
}

/* What is made anew in every iteration, and so may be made less. */
static enum mt_category largest_passing(const struct mt_device *device)
{
    static const enum mt_category passing[] = {MT_CATEGORY_ACTIVATIONS, MT_CATEGORY_GRADIENTS,
                                               MT_CATEGORY_TEMPORARIES, MT_CATEGORY_INPUTS};
    enum mt_category best = passing[0];
    for (size_t i = 1; i < sizeof passing / sizeof *passing; i++)
        if (device->category[passing[i]].bytes > device->category[best].bytes)
            best = passing[i];
    return best;
}

void mt_page_movement(const struct mt_page *page, const struct mt_device *device)
{
    char where[64], size[MT_SIZE_TEXT], less[MT_SIZE_TEXT];
    const struct mt_span *next = device->next;
    if (!device->is_peak || !device->span || !next || !next->iteration)
        return;
    uint64_t distance = device->at.allocated - next->most;
    enum mt_category category = largest_passing(device);
    span_text(where, sizeof where, next);
    fprintf(page->out, "\nNext highest in another phase: %s in %s.\n",
            mt_size_text(size, next->most), where);
    if (device->category[category].bytes > distance)
        fprintf(page->out, "Reducing %s by more than %s moves the peak there.\n",
                mt_categories[category].label, mt_size_text(less, distance));
}

void mt_page_growth(const struct mt_page *page, const struct mt_device *device)
{
    char size[MT_SIZE_TEXT], place[160];
    const struct mt_growth *growth = &device->growth;
    if (!growth->per_iteration)
        return;
    fprintf(page->out, "\nGrowth: %s more are left over after each iteration.\n",
            mt_size_text(size, growth->per_iteration));
    if (!growth->n)
        fputs("No line leaves blocks behind: some are replaced by larger ones.\n", page->out);
    for (size_t i = 0; i < growth->n && i < GROWTH_SHOWN; i++) {
        const struct mt_growth_site *site = &growth->site[i];
        uint32_t user = mt_stack(page->definitions, site->stack)->user;
        mt_page_place(page, user ? user : site->stack, place, sizeof place, 38);
        fprintf(page->out, "%11s of %u iterations  %-15s %s\n", mt_size_text(size, site->bytes),
                site->iterations, mt_categories[site->category].label, place);
    }
}

/* From the bottom of the chart to its top: what stays, then what comes and goes. */
static const struct {
    enum mt_category category;
    char letter;
} layers[MT_CATEGORY_COUNT] = {
    {MT_CATEGORY_PARAMETERS, 'P'},      {MT_CATEGORY_BUFFERS, 'b'},
    {MT_CATEGORY_OPTIMIZER_STATE, 'O'}, {MT_CATEGORY_RUNTIME, 'r'},
    {MT_CATEGORY_WORKSPACE, 'w'},       {MT_CATEGORY_COMMUNICATION, 'c'},
    {MT_CATEGORY_INPUTS, 'i'},          {MT_CATEGORY_GRADIENTS, 'G'},
    {MT_CATEGORY_ACTIVATIONS, 'a'},     {MT_CATEGORY_TEMPORARIES, 't'},
    {MT_CATEGORY_OTHER, '.'},
};

/* The layer of a column at a height in bytes; -1: above them all. */
static int layer_at(const uint64_t bytes[MT_CATEGORY_COUNT], uint64_t height)
{
    uint64_t sum = 0;
    for (int i = 0; i < (int)MT_CATEGORY_COUNT; i++) {
        sum += bytes[layers[i].category];
        if (height < sum)
            return i;
    }
    return -1;
}

static void print_row(const struct mt_page *page, uint64_t (*columns)[MT_CATEGORY_COUNT], size_t n,
                      uint64_t height, unsigned *used)
{
    int last = -1;
    while (n && layer_at(columns[n - 1], height) < 0)
        n--; /* no blanks at the end of a line */
    for (size_t x = 0; x < n; x++) {
        int layer = layer_at(columns[x], height);
        if (layer != last)
            mt_colour(page->out, page->style,
                      layer < 0 ? 0 : mt_categories[layers[layer].category].colour);
        last = layer;
        if (layer >= 0)
            *used |= 1u << layer;
        putc(layer < 0 ? ' ' : layers[layer].letter, page->out);
    }
    if (last >= 0)
        mt_colour(page->out, page->style, 0);
    putc('\n', page->out);
}

static void print_legend(const struct mt_page *page, unsigned used)
{
    fputs("            ", page->out);
    unsigned at = 12;
    for (unsigned i = 0; i < MT_CATEGORY_COUNT; i++) {
        const struct mt_category_info *category = &mt_categories[layers[i].category];
        if (!(used & 1u << i))
            continue;
        if (at > 12 && at + strlen(category->label) + 4 > page->width) {
            fputs("\n            ", page->out);
            at = 12;
        } else if (at > 12) {
            fputs("  ", page->out);
        }
        mt_colour(page->out, page->style, category->colour);
        putc(layers[i].letter, page->out);
        mt_colour(page->out, page->style, 0);
        fprintf(page->out, " %s", category->label);
        at += (unsigned)strlen(category->label) + 4;
    }
    putc('\n', page->out);
}

void mt_page_timeline(const struct mt_page *page, const struct mt_device *device)
{
    static uint64_t columns[MOST_COLUMNS][MT_CATEGORY_COUNT];
    char size[MT_SIZE_TEXT], begin[MT_SIZE_TEXT], end[MT_SIZE_TEXT];
    uint64_t last_ns = page->analysis->replay.survey.last_time_ns, most = 0;
    unsigned used = 0;
    size_t room = page->width > 12 + MOST_COLUMNS ? MOST_COLUMNS : page->width - 12;
    size_t n = device->timeline ? mt_timeline_columns(device->timeline, last_ns, room, columns) : 0;
    for (size_t x = 0; x < n; x++) {
        uint64_t sum = 0;
        for (unsigned i = 0; i < MT_CATEGORY_COUNT; i++)
            sum += columns[x][i];
        most = sum > most ? sum : most;
    }
    if (n < 2 || most < ROWS)
        return;
    putc('\n', page->out);
    for (unsigned row = 0; row < ROWS; row++) {
        uint64_t height = most / (2 * ROWS) * (2 * (ROWS - row) - 1);
        fprintf(page->out, "%11s ", row % 4 ? "" : mt_size_text(size, most / ROWS * (ROWS - row)));
        print_row(page, columns, n, height, &used);
    }
    fprintf(page->out, "%11s %-*s%s\n", "", (int)n - 8,
            mt_time_text(begin, device->timeline->begin_ns), mt_time_text(end, last_ns));
    print_legend(page, used);
}
