/* SPDX-License-Identifier: Apache-2.0 */
#include "demangle.h"
#include "report.h"

#include <stdlib.h>
#include <string.h>

#define WIDTH 80u
#define BAR_WIDTH 38u
#define PLACE_WIDTH 42u /* what a call site's other columns leave */
#define SITES_SHOWN 10u

struct page {
    const struct mt_analysis *analysis;
    const struct mt_definitions *definitions;
    FILE *out;
    const struct mt_style *style;
};

/* The info record as text that fits the line; NULL where there is none. */
static const char *info(const struct page *page, const char *key, char *out, size_t size)
{
    const char *value = mt_info(page->definitions, key);
    if (!value || !*value)
        return NULL;
    mt_safe_text(out, size, value, WIDTH, MT_CUT_END, page->style);
    return out;
}

static void print_process(const struct page *page)
{
    char text[WIDTH * 4 + 1];
    const char *separator = "";
    static const struct {
        const char *before, *key;
    } parts[] = {{"pid ", "pid"},     {"host ", "host"}, {"rank ", "env.RANK"},
                 {"torch ", "torch"}, {"", "device.0"},  {"simulated ", "env.CUDASIM_GPU"}};
    if (info(page, "command", text, sizeof text))
        fprintf(page->out, "%s\n", text);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        if (!info(page, parts[i].key, text, sizeof text))
            continue;
        fprintf(page->out, "%s%s%s", separator, parts[i].before, text);
        separator = ", ";
    }
    if (*separator)
        putc('\n', page->out);
}

static void print_extent(const struct page *page)
{
    char length[MT_SIZE_TEXT], events[MT_SIZE_TEXT], lost[MT_SIZE_TEXT];
    const struct mt_survey *survey = &page->analysis->replay.survey;
    fprintf(page->out, "%s, %s events", mt_time_text(length, mt_survey_length_ns(survey)),
            mt_count_text(events, survey->events));
    if (mt_survey_lost(survey))
        fprintf(page->out, ", %s LOST", mt_count_text(lost, mt_survey_lost(survey)));
    else if (survey->complete)
        fputs(", none lost", page->out);
    putc('\n', page->out);
    char text[WIDTH * 4 + 1];
    if (info(page, "dropped", text, sizeof text))
        fprintf(page->out, "Dropped, since only the newest are kept: %s.\n", text);
    if (mt_survey_trouble(survey))
        fprintf(page->out, "Not complete: %s.\n", mt_survey_trouble(survey));
}

/* "train.py:42 main" */
static void place(const struct page *page, uint32_t stack, char *out, size_t size, size_t columns)
{
    char text[512];
    uint32_t id = mt_stack(page->definitions, stack)->frame;
    const struct mt_frame *frame = mt_named_frame(page->definitions, id);
    const char *slash = strrchr(frame->file, '/');
    const char *file = slash && slash[1] ? slash + 1 : frame->file;
    if (!mt_stack(page->definitions, stack)->depth)
        snprintf(text, sizeof text, "unknown");
    else if (frame->is_native && !frame->is_named)
        snprintf(text, sizeof text, "%s", frame->function);
    else if (frame->line)
        snprintf(text, sizeof text, "%s:%u %s", file, frame->line, frame->function);
    else
        snprintf(text, sizeof text, "%s %s", file, frame->function);
    mt_safe_text(out, size, text, columns, MT_CUT_END, page->style);
}

static void print_oom(const struct page *page)
{
    const struct mt_replay *replay = &page->analysis->replay;
    char time[MT_SIZE_TEXT], wanted[MT_SIZE_TEXT], allocated[MT_SIZE_TEXT], reserved[MT_SIZE_TEXT];
    char where[WIDTH * 4 + 1];
    if (!replay->n_ooms)
        return;
    const struct mt_oom *oom = &replay->ooms[(replay->n_ooms - 1) % MT_OOMS_KEPT];
    uint32_t user = mt_stack(page->definitions, oom->stack)->user;
    place(page, user ? user : oom->stack, where, sizeof where, WIDTH - 5);
    mt_colour(page->out, page->style, 160);
    fprintf(page->out, "\nOut of memory at %s", mt_time_text(time, oom->time_ns));
    mt_colour(page->out, page->style, 0);
    if (replay->n_ooms > 1)
        fprintf(page->out, " (the last of %s times)", mt_count_text(wanted, replay->n_ooms));
    fprintf(page->out, ": %s wanted, with\n  %s allocated and %s reserved,\n  at %s\n",
            mt_size_text(wanted, oom->wanted), mt_size_text(allocated, oom->allocated),
            mt_size_text(reserved, oom->reserved), where);
}

static void print_bar(const struct page *page, uint64_t part, uint64_t whole, unsigned colour)
{
    static const char *const eighth[] = {"",       "\u258f", "\u258e", "\u258d",
                                         "\u258c", "\u258b", "\u258a", "\u2589"};
    double share = (double)part / (double)whole; /* over 1 where a damaged trace's sums wrap */
    unsigned units = (unsigned)((share < 1 ? share : 1) * BAR_WIDTH * 8 + 0.5);
    if (!page->style->utf8)
        units += 4;
    if (units < (page->style->utf8 ? 1 : 8))
        return;
    fputs("  ", page->out);
    mt_colour(page->out, page->style, colour);
    for (unsigned i = 0; i < units / 8; i++)
        fputs(page->style->utf8 ? "\u2588" : "#", page->out);
    if (page->style->utf8)
        fputs(eighth[units % 8], page->out);
    mt_colour(page->out, page->style, 0);
}

static void print_share(const struct page *page, const char *label, uint64_t part, uint64_t whole,
                        unsigned colour)
{
    char size[MT_SIZE_TEXT];
    fprintf(page->out, "  %-16s %11s  %5.1f %%", label, mt_size_text(size, part),
            whole ? 100.0 * (double)part / (double)whole : 0.0);
    if (whole)
        print_bar(page, part, whole, colour);
    putc('\n', page->out);
}

static const struct mt_device *sorted; /* qsort has no argument for it; one thread prints */

static int by_share(const void *left, const void *right)
{
    unsigned a = *(const unsigned *)left, b = *(const unsigned *)right;
    uint64_t x = sorted->category[a].bytes, y = sorted->category[b].bytes;
    return x != y ? (x < y) - (x > y) : (a > b) - (a < b);
}

static void print_categories(const struct page *page, const struct mt_device *device)
{
    unsigned order[MT_CATEGORY_COUNT];
    uint64_t whole = device->unseen;
    for (unsigned i = 0; i < MT_CATEGORY_COUNT; i++) {
        order[i] = i;
        whole += device->category[i].bytes; /* the peak, if the trace is sound */
    }
    sorted = device;
    qsort(order, MT_CATEGORY_COUNT, sizeof *order, by_share);
    putc('\n', page->out);
    for (unsigned i = 0; i < MT_CATEGORY_COUNT; i++) {
        uint64_t bytes = device->category[order[i]].bytes;
        if (bytes)
            print_share(page, mt_categories[order[i]].label, bytes, whole,
                        mt_categories[order[i]].colour);
    }
    if (device->unseen)
        print_share(page, "not seen", device->unseen, whole, 250);
}

static void print_peak(const struct page *page, const struct mt_device *device)
{
    char size[MT_SIZE_TEXT], more[MT_SIZE_TEXT], time[MT_SIZE_TEXT];
    if (device->device == MT_NO_DEVICE)
        fputs("\nPeak of an unknown device", page->out);
    else
        fprintf(page->out, "\nPeak of device %d", device->device);
    fprintf(page->out, ": %s allocated%s at %s\n", mt_size_text(size, device->peak.allocated),
            device->of_cuda ? " by CUDA calls" : "", mt_time_text(time, device->peak.time_ns));
    if (device->of_cuda)
        return;
    fprintf(page->out, "  reserved by PyTorch %s, of it cached %s\n",
            mt_size_text(size, device->peak.reserved), mt_size_text(more, device->cached));
    if (device->peak.cuda_bytes > device->peak.reserved)
        fprintf(page->out, "  outside PyTorch's allocator %s (all CUDA allocations: %s)\n",
                mt_size_text(size, device->peak.cuda_bytes - device->peak.reserved),
                mt_size_text(more, device->peak.cuda_bytes));
}

static void print_site_place(const struct page *page, const struct mt_site *site)
{
    char name[256], text[PLACE_WIDTH * 4 + 1];
    uint32_t caller = mt_site_caller(page->definitions, site);
    if (site->node_name) {
        mt_short_type_name(mt_string(page->definitions, site->node_name), name, sizeof name);
        mt_safe_text(text, sizeof text, name, PLACE_WIDTH, MT_CUT_END, page->style);
        fprintf(page->out, "%s\n", text);
        if (!mt_stack(page->definitions, site->stack)->depth)
            return;
        place(page, site->stack, text, sizeof text, PLACE_WIDTH - 3);
        fprintf(page->out, "%38sof %s\n", "", text);
    } else {
        place(page, site->stack, text, sizeof text, PLACE_WIDTH);
        fprintf(page->out, "%s\n", text);
    }
    if (!caller)
        return;
    place(page, caller, text, sizeof text, PLACE_WIDTH - 5);
    fprintf(page->out, "%38sfrom %s\n", "", text);
}

static void print_sites(const struct page *page, const struct mt_device *device)
{
    char size[MT_SIZE_TEXT], blocks[MT_SIZE_TEXT];
    size_t n = device->sites.n < SITES_SHOWN ? device->sites.n : SITES_SHOWN;
    if (!n)
        return;
    fprintf(page->out, "\n%11s %8s  %-15s %s\n", "bytes", "blocks", "category",
            "largest call sites at the peak");
    for (size_t i = 0; i < n; i++) {
        const struct mt_site *site = &device->sites.site[i];
        fprintf(page->out, "%11s %8s  ", mt_size_text(size, site->bytes),
                mt_count_text(blocks, site->blocks));
        mt_colour(page->out, page->style, mt_categories[site->category].colour);
        fprintf(page->out, "%-15s", mt_categories[site->category].label);
        mt_colour(page->out, page->style, 0);
        putc(' ', page->out);
        print_site_place(page, site);
    }
    if (n < device->sites.n)
        fprintf(page->out, "%20s  and %s smaller ones\n", "",
                mt_count_text(blocks, device->sites.n - n));
}

static void print_note(const struct page *page, uint64_t count, const char *what)
{
    char text[MT_SIZE_TEXT];
    if (count)
        fprintf(page->out, "Note: %s %s.\n", mt_count_text(text, count), what);
}

static void print_notes(const struct page *page)
{
    const struct mt_oddities *odd = &page->analysis->replay.oddities;
    uint64_t lost = mt_survey_lost(&page->analysis->replay.survey), unseen = 0;
    for (size_t i = 0; i < page->analysis->n_devices; i++)
        unseen += page->analysis->devices[i].unseen;
    if (lost || unseen || odd->replaced || odd->unknown || odd->wrong_size || odd->drift)
        putc('\n', page->out);
    print_note(page, lost, "events were lost: totals and categories may be off");
    print_note(page, unseen, "bytes at the peak were allocated without a record of it");
    print_note(page, odd->unknown, "frees had no allocation in the trace");
    print_note(page, odd->replaced, "allocations were at an address in use");
    print_note(page, odd->wrong_size, "frees had another size than the allocation");
    print_note(page, odd->drift, "times PyTorch's total moved by something else");
}

void mt_report_text(const struct mt_analysis *analysis, FILE *out, const struct mt_style *style)
{
    struct page page = {analysis, analysis->replay.definitions, out, style};
    print_process(&page);
    print_extent(&page);
    print_oom(&page);
    for (size_t i = 0; i < analysis->n_devices; i++) {
        print_peak(&page, &analysis->devices[i]);
        print_categories(&page, &analysis->devices[i]);
        print_sites(&page, &analysis->devices[i]);
    }
    if (!analysis->n_devices)
        fputs("\nNo device memory was allocated.\n", out);
    print_notes(&page);
}
