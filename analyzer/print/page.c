/* SPDX-License-Identifier: Apache-2.0 */
#include "page.h"
#include "analyzer/support/search.h"
#include "analyzer/trace/definitions.h"

#include <stdlib.h>
#include <string.h>

#define WIDTH 80u
#define BAR_WIDTH 38u

struct mt_page mt_page_of(const struct mt_analysis *analysis, FILE *out,
                          const struct mt_style *style)
{
    return (struct mt_page){analysis, analysis->replay.definitions, out, style,
                            style->columns > WIDTH ? style->columns : WIDTH};
}

/* Return an info record's value, cut to fit the line; NULL: none. */
static const char *fit(const struct mt_page *page, const char *value, char *out, size_t size)
{
    if (!value || !*value)
        return NULL;
    mt_safe_text(out, size, value, WIDTH, MT_CUT_END, page->style);
    return out;
}

static void print_process(const struct mt_page *page)
{
    char text[WIDTH * 4 + 1];
    const char *separator = "";
    const struct mt_definitions *d = page->definitions;
    const struct {
        const char *before, *value;
    } parts[] = {{"pid ", mt_info(d, "pid")},
                 {"host ", mt_info(d, "host")},
                 {"rank ", mt_rank_text(d)},
                 {"torch ", mt_info(d, "torch")},
                 {"simulated ", mt_info(d, "env.CUDASIM_GPU")}};
    if (fit(page, mt_info(d, mt_info(d, "title") ? "title" : "command"), text, sizeof text))
        fprintf(page->out, "%s\n", text);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        if (!fit(page, parts[i].value, text, sizeof text))
            continue;
        fprintf(page->out, "%s%s%s", separator, parts[i].before, text);
        separator = ", ";
    }
    if (*separator)
        putc('\n', page->out);
}

static void print_extent(const struct mt_page *page)
{
    char length[MT_SIZE_TEXT], events[MT_SIZE_TEXT], lost[MT_SIZE_TEXT];
    const struct mt_survey *survey = &page->analysis->replay.survey;
    uint64_t whole = mt_compact_of(page->analysis->replay.definitions);
    uint64_t n = whole ? whole : survey->events;
    fprintf(page->out, "%s, %s event%s", mt_time_text(length, mt_survey_length_ns(survey)),
            mt_count_text(events, n), n == 1 ? "" : "s");
    if (whole)
        fprintf(page->out, " (compact: %s)", mt_count_text(events, survey->events));
    if (mt_survey_lost(survey))
        fprintf(page->out, ", %s LOST", mt_count_text(lost, mt_survey_lost(survey)));
    else if (survey->complete)
        fputs(", none lost", page->out);
    putc('\n', page->out);
}

void mt_page_limits(const struct mt_page *page)
{
    char text[WIDTH * 4 + 1], blocks[MT_SIZE_TEXT];
    const struct mt_survey *survey = &page->analysis->replay.survey;
    if (mt_begins_late(page->definitions))
        fputs("Recording began during the run; what was allocated before has no lines.\n",
              page->out);
    if (fit(page, mt_info(page->definitions, "dropped"), text, sizeof text))
        fprintf(page->out, "Dropped because only the newest events are kept: %s.\n", text);
    if (survey->short_lived)
        fprintf(page->out, "Light recording: %s short-lived blocks are only counted.\n",
                mt_count_text(blocks, survey->short_lived));
    if (fit(page, mt_info(page->definitions, "left_out"), text, sizeof text))
        fprintf(page->out, "Too many to record all new ones: %s.\n", text);
    if (fit(page, mt_info(page->definitions, "definitions_refused"), text, sizeof text))
        fprintf(page->out,
                "Lines or names are unknown for %s lookups: a thread was stopped inside memtap.\n",
                text);
}

void mt_page_ended(const struct mt_page *page)
{
    char line[MT_ENDED_TEXT], sentence[MT_ENDED_TEXT + 1];
    struct mt_ended ended = mt_analysis_ended(page->analysis);
    if (!mt_ended_is_reported(&ended))
        return;
    snprintf(sentence, sizeof sentence, "%s.", mt_ended_line(line, &ended));
    mt_colour(page->out, page->style, 160);
    mt_put_wrapped(page->out, sentence, page->width, page->style);
    mt_colour(page->out, page->style, 0);
}

void mt_page_head(const struct mt_page *page)
{
    print_process(page);
    print_extent(page);
    mt_page_limits(page);
}

void mt_page_place(const struct mt_page *page, uint32_t stack, char *out, size_t size,
                   size_t columns)
{
    char text[512];
    mt_place_text(text, sizeof text, page->definitions, stack);
    mt_safe_text(out, size, text, columns, MT_CUT_END, page->style);
}

static void print_bar(const struct mt_page *page, uint64_t part, uint64_t whole, unsigned colour)
{
    static const char *const eighth[] = {"",       "\u258f", "\u258e", "\u258d",
                                         "\u258c", "\u258b", "\u258a", "\u2589"};
    double share = (double)part / (double)whole; /* over 1 if a damaged trace's sums wrap */
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

static void print_share(const struct mt_page *page, char mark, const char *label, uint64_t part,
                        uint64_t whole, unsigned colour)
{
    char size[MT_SIZE_TEXT];
    fprintf(page->out, " %c%-16s %11s  %5.1f %%", mark, label, mt_size_text(size, part),
            whole ? 100.0 * (double)part / (double)whole : 0.0);
    if (whole)
        print_bar(page, part, whole, colour);
    putc('\n', page->out);
}

#define GUESSES_SHOWN 4u
#define LEAST_GUESS 1000 /* part of all bytes */

static const struct mt_device *sorted; /* qsort passes no argument; one thread prints */

static int by_share(const void *left, const void *right)
{
    unsigned a = *(const unsigned *)left, b = *(const unsigned *)right;
    return MT_COMPARE(sorted->category[b].bytes, sorted->category[a].bytes) ?: MT_COMPARE(a, b);
}

/* Print the largest guesses only: there may be a dozen, of a few KiB each. */
static void print_guesses(const struct mt_page *page, const struct mt_device *device,
                          uint64_t whole)
{
    uint64_t below = UINT64_MAX;
    size_t last = 0, n = device->by_rule ? mt_rules_count(device->context.user) : 0;
    for (unsigned shown = 0; shown < GUESSES_SHOWN; shown++) {
        const struct mt_rule *best = NULL;
        uint64_t most = 0;
        size_t at = 0;
        for (size_t i = 0; i < n; i++) {
            const struct mt_rule *rule = mt_rule_at(device->context.user, i);
            uint64_t bytes = device->by_rule[i].bytes;
            if (mt_rule_guesses(rule) && bytes > most &&
                (bytes < below || (bytes == below && i > last))) {
                best = rule;
                most = bytes;
                at = i;
            }
        }
        if (!best || most < whole / LEAST_GUESS)
            return;
        char size[MT_SIZE_TEXT], text[160];
        int used = snprintf(text, sizeof text, "  guessed: %s of %s,", mt_size_text(size, most),
                            mt_category_noun(best->category));
        bool is_long = (size_t)used + 1 + strlen(best->name) > page->width;
        fprintf(page->out, "%s%s%s%s\n", shown ? "" : "\n", text, is_long ? "\n    " : " ",
                best->name);
        below = most;
        last = at;
    }
}

void mt_page_categories(const struct mt_page *page, const struct mt_device *device)
{
    unsigned order[MT_CATEGORY_ROOM];
    uint64_t whole = device->unseen;
    enum mt_certainty least = MT_CERTAIN;
    for (unsigned i = 0; i < mt_n_categories; i++) {
        order[i] = i;
        whole += device->category[i].bytes; /* the peak, if the trace is valid */
    }
    if (!whole)
        return;
    for (size_t i = 0; i < device->sites.n; i++) /* used here or in a table below */
        mt_certainty_row(&least, device->sites.site[i].certainty);
    sorted = device;
    qsort(order, mt_n_categories, sizeof *order, by_share);
    putc('\n', page->out);
    for (unsigned i = 0; i < mt_n_categories; i++) {
        uint64_t bytes = device->category[order[i]].bytes;
        enum mt_certainty certainty =
            mt_sites_certainty(&device->sites, (enum mt_category)order[i]);
        if (bytes)
            print_share(page, mt_certainty_mark(certainty), mt_categories[order[i]].label, bytes,
                        whole, mt_categories[order[i]].colour);
    }
    if (device->unseen)
        print_share(page, ' ', "not recorded", device->unseen, whole, 250);
    mt_certainty_legend(page->out, " ", least);
    print_guesses(page, device, whole);
}

static void print_note(const struct mt_page *page, uint64_t count, const char *what)
{
    char text[MT_SIZE_TEXT];
    if (count)
        fprintf(page->out, "Note: %s %s.\n", mt_count_text(text, count), what);
}

void mt_page_rest(const struct mt_page *page, size_t n)
{
    char count[MT_SIZE_TEXT];
    if (n)
        fprintf(page->out, "%20s  and %s %s\n", "", mt_count_text(count, n),
                mt_page_filter(page)->sort > MT_SORT_BYTES ? "more" : "smaller ones");
}

/* Print where an imported file contradicts itself, and what it does not say. */
static void print_import_notes(const struct mt_page *page)
{
    const char *unknown = mt_info(page->definitions, MT_IMPORT_UNKNOWN);
    char size[MT_SIZE_TEXT], other[MT_SIZE_TEXT], name[MT_SIZE_TEXT];
    for (size_t i = 0; i < page->analysis->n_devices; i++) {
        const struct mt_device *device = &page->analysis->devices[i];
        if (mt_info(page->definitions, MT_IMPORTED) && device->at.allocated > device->at.reserved &&
            device->at.reserved)
            fprintf(page->out,
                    "\nThe imported file contradicts itself: %s has %s allocated, but only %s "
                    "reserved.\n",
                    mt_device_text(name, device->device), mt_size_text(size, device->at.allocated),
                    mt_size_text(other, device->at.reserved));
    }
    if (unknown)
        fprintf(page->out,
                "\nThe profiler's totals include another %s, allocated before its first event. "
                "Nothing\nelse "
                "is known about it, and no size here includes it.\n",
                mt_size_text(size, strtoull(unknown, NULL, 10)));
}

void mt_page_notes(const struct mt_page *page)
{
    const struct mt_oddities *odd = &page->analysis->replay.oddities;
    uint64_t unseen = 0;
    for (size_t i = 0; i < page->analysis->n_devices; i++)
        unseen += page->analysis->devices[i].unseen;
    if (unseen || odd->replaced || odd->unknown || odd->wrong_size || odd->drift)
        putc('\n', page->out);
    print_note(page, unseen, "bytes at the peak have no recorded allocation");
    print_note(page, odd->unknown, "frees have no allocation in the trace");
    print_note(page, odd->replaced, "allocations returned an address that was in use");
    print_note(page, odd->wrong_size, "frees gave a different size than the allocation");
    print_note(page, odd->drift, "changes of PyTorch's total have no recorded cause");
    print_import_notes(page);
}
