/* SPDX-License-Identifier: Apache-2.0 */
#include "analyzer/findings/oom.h"
#include "analyzer/print/page.h"
#include "analyzer/trace/definitions.h"
#include "report.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define WIDTH 80u
#define SITES_SHOWN 10u
#define GROUPS_SHOWN 30u
#define WORTH_ROUNDING                                                                             \
    100u                /* report rounding if at least this part of the bytes was not requested */
#define FRAMES_SHOWN 6u /* of a stack */

static void print_oom(const struct mt_page *page)
{
    const struct mt_replay *replay = &page->analysis->replay;
    char time[MT_SIZE_TEXT], wanted[MT_SIZE_TEXT], allocated[MT_SIZE_TEXT], reserved[MT_SIZE_TEXT];
    char where[WIDTH * 4 + 1];
    const struct mt_oom *oom = mt_replay_last_oom(replay);
    if (!oom)
        return;
    uint32_t line = mt_oom_line(page->definitions, oom);
    bool is_known = mt_stack(page->definitions, line)->depth != 0;
    mt_page_place(page, line, where, sizeof where, WIDTH - 5);
    mt_put_coloured(page->out, page->style, 160, "\nOut of memory at %s",
                    mt_time_text(time, oom->time_ns));
    if (oom->went_on)
        fputs("; the program continued", page->out);
    if (replay->ooms.n > 1)
        fprintf(page->out, " (the last of %s times)", mt_count_text(wanted, replay->ooms.n));
    fprintf(page->out, ": %s requested, with\n  %s allocated", mt_size_text(wanted, oom->wanted),
            mt_size_text(allocated, oom->allocated));
    if (!oom->of_cuda)
        fprintf(page->out, " and %s reserved", mt_size_text(reserved, oom->reserved));
    fprintf(page->out, ",\n  %s%s\n", is_known ? "by " : "requesting line ", where);
}

static void print_peak(const struct mt_page *page, const struct mt_device *device)
{
    char size[MT_SIZE_TEXT], more[MT_SIZE_TEXT], time[MT_SIZE_TEXT];
    fprintf(page->out, "\n%s %s: %s allocated%s at %s\n", device->is_peak ? "Peak of" : "On",
            mt_device_text(more, device->device), mt_size_text(size, device->at.allocated),
            device->of_cuda ? " by CUDA calls" : "", mt_time_text(time, device->at.time_ns));
    mt_page_phase(page, device);
    if (device->of_cuda && device->unused > device->at.allocated / WORTH_ROUNDING)
        fprintf(page->out, "  %s used for %s requested: rows are padded (pitch)\n",
                mt_size_text(size, device->at.allocated),
                mt_size_text(more, device->at.allocated - device->unused));
    if (device->of_cuda)
        return;
    fprintf(page->out, "  PyTorch reserved %s (%s of it unused cache)\n",
            mt_size_text(size, device->at.reserved), mt_size_text(more, device->cached));
    if (device->unused > device->at.allocated / WORTH_ROUNDING)
        fprintf(page->out, "  %s used for %s requested: PyTorch rounds blocks up\n",
                mt_size_text(size, device->at.allocated),
                mt_size_text(more, device->at.allocated - device->unused));
    if (device->most_reserved->reserved > device->at.reserved)
        fprintf(page->out, "  at most %s, at %s\n",
                mt_size_text(size, device->most_reserved->reserved),
                mt_time_text(time, device->most_reserved->time_ns));
}

/* Print the frames of a stack, the innermost first: all except the framework's, unless there are no
 * others. */
static void print_frames(const struct mt_page *page, uint32_t stack)
{
    const struct mt_definitions *d = page->definitions;
    char place[1024], count[MT_SIZE_TEXT];
    unsigned shown = 0, more = 0;
    int all = !mt_stack(d, stack)->user;
    for (; mt_stack(d, stack)->depth; stack = mt_stack(d, stack)->parent) {
        const struct mt_frame *frame = mt_stack_frame(d, stack);
        if (!all && !frame->is_gap && frame->marks & MT_MARK_FRAMEWORK)
            continue;
        if (shown == FRAMES_SHOWN) {
            more++;
            continue;
        }
        shown++;
        mt_page_place(page, stack, place, sizeof place, page->width - 24);
        fprintf(page->out, "%24s%s\n", "", place);
    }
    if (more)
        fprintf(page->out, "%24sand %s outer frames\n", "", mt_count_text(count, more));
}

/* Print the filter of the tables, if there is one. */
static void print_filter(const struct mt_page *page, const struct mt_device *device)
{
    const struct mt_filter *filter = mt_page_filter(page);
    char size[MT_SIZE_TEXT], count[MT_SIZE_TEXT], name[256];
    const char *separator = "";
    uint64_t bytes = 0;
    if (!filter->categories && !filter->module)
        return;
    for (size_t i = 0; i < device->n_shown; i++)
        bytes += device->shown[i].block->size;
    fputs("\nOnly ", page->out);
    for (unsigned i = 0; filter->categories && i < mt_n_categories; i++)
        if (mt_filter_has(filter, i)) {
            fprintf(page->out, "%s%s", separator, mt_categories[i].label);
            separator = ", ";
        }
    if (filter->module) {
        mt_safe_text(name, sizeof name, filter->module, 60, MT_CUT_END, page->style);
        fprintf(page->out, "%smodule %s", filter->categories ? " of " : "", name);
    }
    fprintf(page->out, ": %s in %s blocks.\n", mt_size_text(size, bytes),
            mt_count_text(count, device->n_shown));
}

static void print_groups(const struct mt_page *page, const struct mt_device *device,
                         enum mt_property by)
{
    char size[MT_SIZE_TEXT], blocks[MT_SIZE_TEXT], name[1024];
    size_t n = mt_filter_rows(mt_page_filter(page), device->groups.n, GROUPS_SHOWN);
    fprintf(page->out, "\n%11s %8s  %s\n", "bytes", "blocks", mt_property_name(by));
    for (size_t i = 0; i < n; i++) {
        const struct mt_group *group = &device->groups.group[i];
        size_t room = page->width - 22 < 200 ? page->width - 22 : 200;
        mt_safe_text(name, sizeof name, group->name, room,
                     by == MT_BY_FILE ? MT_CUT_BEGIN : MT_CUT_END, page->style);
        fprintf(page->out, "%11s %8s  %s\n", mt_size_text(size, group->bytes),
                mt_count_text(blocks, group->blocks), name);
        print_frames(page, group->stack);
    }
    mt_page_rest(page, device->groups.n - n);
}

static void print_rows(const struct mt_page *page, const struct mt_device *device)
{
    if (page->analysis->replay.question.by == MT_BY_SITE)
        mt_page_sites(page, device, SITES_SHOWN);
    else if (page->analysis->replay.question.by == MT_BY_MODULE)
        mt_page_modules(page, device);
    else
        print_groups(page, device, page->analysis->replay.question.by);
}

/* The parts about a device, in order. */
static void (*const parts[])(const struct mt_page *page, const struct mt_device *device) = {
    print_peak,     mt_page_categories, mt_page_movement,   print_filter,
    print_rows,     mt_page_serving,    mt_page_ranges,     mt_page_precision,
    mt_page_cached, mt_page_balance,    mt_page_cuda_pools, mt_page_growth,
    mt_page_leaks,  mt_page_idle,       mt_page_unneeded,   mt_page_timeline,
};

static void print_device(const struct mt_page *page, const struct mt_device *device)
{
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        parts[i](page, device);
}

/* Return the device that the first sentences are about; NULL: there is none. */
static const struct mt_device *first_device(const struct mt_analysis *analysis)
{
    const struct mt_replay *replay = &analysis->replay;
    const struct mt_device *failed =
        mt_replay_ends_in_oom(replay)
            ? mt_analysis_device(analysis, mt_replay_last_oom(replay)->device)
            : NULL;
    return failed ? failed : mt_analysis_main_device(analysis);
}

void mt_report_text(const struct mt_analysis *analysis, FILE *out, const struct mt_style *style)
{
    struct mt_page page = mt_page_of(analysis, out, style);
    mt_page_ended(&page);
    mt_page_headline(&page);
    mt_report_details(analysis, out, style);
}

void mt_report_details(const struct mt_analysis *analysis, FILE *out, const struct mt_style *style)
{
    struct mt_page page = mt_page_of(analysis, out, style);
    const struct mt_device *first = first_device(analysis);
    mt_page_head(&page);
    print_oom(&page);
    if (first)
        print_device(&page, first);
    for (size_t i = 0; i < analysis->n_devices; i++)
        if (&analysis->devices[i] != first)
            print_device(&page, &analysis->devices[i]);
    if (!analysis->n_devices)
        fputs("\nNo device memory was allocated.\n", out);
    mt_page_host(&page);
    mt_page_marks(&page);
    mt_page_frees(&page);
    mt_page_notes(&page);
}
