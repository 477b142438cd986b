/* SPDX-License-Identifier: Apache-2.0 */
#include "draw.h"
#include "analyzer/support/demangle.h"

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#define TEXT_ROWS 60u /* without a screen */
#define LABEL 11u     /* columns of "allocated" and so on */
#define BEFORE_BAR 24u
#define AFTER_BAR 32u
#define MOST_BAR 100u
#define TALL 30u /* with this many rows or more, leave blank lines */
#define TABLE_LEAST 4u

struct drawing {
    const struct mt_top_view *view;
    const struct mt_top *trace; /* the chosen one */
    const struct mt_top_picture *picture;
    const struct mt_definitions *definitions;
    struct mt_pen pen;
};

const char *mt_top_state(char out[MT_TOP_STATE], const struct mt_top *trace)
{
    char text[MT_ENDED_TEXT];
    if (trace->has_failed)
        snprintf(out, MT_TOP_STATE, "%s", *trace->fault.text ? trace->fault.text : "out of memory");
    else if (!trace->follow)
        snprintf(out, MT_TOP_STATE, "waiting for the trace to appear");
    else if (trace->is_over) {
        struct mt_ended ended = mt_follow_ended(trace->follow);
        snprintf(out, MT_TOP_STATE, "ended: %s", mt_ended_text(text, &ended));
    } else
        snprintf(out, MT_TOP_STATE, "live");
    return out;
}

static bool is_tall(const struct drawing *to)
{
    return to->view->rows >= TALL || !to->view->rows;
}

static void leave_air(struct drawing *to)
{
    if (is_tall(to))
        mt_pen_end_line(&to->pen);
}

static void draw_state(struct drawing *to)
{
    char state[MT_TOP_STATE];
    mt_top_state(state, to->trace);
    mt_pen_colour(&to->pen, to->trace->has_failed || to->trace->is_over ? 160 : 34);
    mt_pen_put_safe(&to->pen, state, 0, MT_CUT_END);
    mt_pen_colour(&to->pen, 0);
    if (to->view->is_paused)
        mt_pen_put(&to->pen, ", paused");
    char silent[MT_SIZE_TEXT];
    if (to->picture->silent_ns && !to->trace->is_over)
        mt_pen_put(&to->pen, ", nothing recorded for %s",
                   mt_time_text(silent, to->picture->silent_ns));
}

static void draw_title(struct drawing *to)
{
    char time[MT_SIZE_TEXT];
    const char *command = mt_top_info(to->trace, "command"), *rank = mt_top_rank(to->trace);
    const char *pid = mt_top_info(to->trace, "pid");
    mt_pen_bold(&to->pen);
    mt_pen_put_safe(&to->pen, *command ? command : to->trace->path, 0, MT_CUT_END);
    mt_pen_colour(&to->pen, 0);
    mt_pen_end_line(&to->pen);
    if (*pid) {
        mt_pen_put(&to->pen, "pid ");
        mt_pen_put_safe(&to->pen, pid, 10, MT_CUT_END);
        mt_pen_put(&to->pen, ", ");
    }
    if (*rank) {
        mt_pen_put(&to->pen, "rank ");
        mt_pen_put_safe(&to->pen, rank, 6, MT_CUT_END);
        mt_pen_put(&to->pen, ", ");
    }
    if (to->picture->is_there) {
        mt_pen_put(&to->pen, "%s", mt_device_text(time, (int)to->picture->slot - 1));
        if (to->picture->devices > 1)
            mt_pen_put(&to->pen, " of %u", to->picture->devices);
        mt_pen_put(&to->pen, ", ");
    }
    if (to->picture->time_ns)
        mt_pen_put(&to->pen, "%s, ", mt_time_text(time, to->picture->time_ns));
    draw_state(to);
    mt_pen_end_line(&to->pen);
}

static void draw_rank(struct drawing *to, size_t i)
{
    char allocated[MT_SIZE_TEXT], reserved[MT_SIZE_TEXT], state[MT_TOP_STATE];
    const struct mt_top *trace = &to->view->traces[i];
    const struct mt_top_picture *picture = &trace->picture;
    if (i == to->view->chosen)
        mt_pen_bold(&to->pen);
    mt_pen_put(&to->pen, "%c", i == to->view->chosen ? '>' : ' ');
    mt_pen_put_safe(&to->pen, *mt_top_rank(trace) ? mt_top_rank(trace) : "?", 5, MT_CUT_END);
    mt_pen_go_to(&to->pen, 7);
    mt_pen_put_safe(&to->pen, mt_top_info(trace, "pid"), 9, MT_CUT_END);
    mt_pen_go_to(&to->pen, 16);
    mt_pen_put(&to->pen, "%11s %11s %9" PRIu32 "  %-14s ",
               mt_size_text(allocated, picture->live.now.allocated),
               mt_size_text(reserved, picture->live.now.reserved), picture->iterations,
               picture->phase == MT_PHASE_OUTSIDE ? "" : mt_phase_names[picture->phase].label);
    mt_pen_put_safe(&to->pen, mt_top_state(state, trace), 0, MT_CUT_END);
    mt_pen_colour(&to->pen, 0);
    mt_pen_end_line(&to->pen);
}

static void draw_ranks(struct drawing *to)
{
    size_t n = to->view->n, most = to->pen.rows / 4, first = 0;
    if (n < 2)
        return;
    if (n > most) {
        first = to->view->chosen >= most ? to->view->chosen - most + 1 : 0;
        n = first + most;
    }
    leave_air(to);
    mt_pen_put(&to->pen, " rank  pid        allocated    reserved iteration");
    if (n - first < to->view->n)
        mt_pen_put(&to->pen, "  (%zu of %zu are shown)", n - first, to->view->n);
    mt_pen_end_line(&to->pen);
    for (size_t i = first; i < n; i++)
        draw_rank(to, i);
}

static unsigned bar_width(const struct drawing *to)
{
    unsigned room =
        to->pen.columns > BEFORE_BAR + AFTER_BAR ? to->pen.columns - BEFORE_BAR - AFTER_BAR : 0;
    return room < MOST_BAR ? room : MOST_BAR;
}

/* Draw "allocated 1.00 GiB ████ ", up to the remark. */
static void draw_measure(struct drawing *to, const char *label, uint64_t bytes, uint64_t whole,
                         unsigned colour)
{
    char size[MT_SIZE_TEXT];
    unsigned width = bar_width(to);
    mt_pen_put(&to->pen, "%-*s%11s  ", (int)LABEL, label, mt_size_text(size, bytes));
    mt_pen_colour(&to->pen, colour);
    mt_pen_bar(&to->pen, bytes, whole, width);
    mt_pen_colour(&to->pen, 0);
    mt_pen_go_to(&to->pen, BEFORE_BAR + width + (width ? 2 : 0));
}

static void draw_measures(struct drawing *to)
{
    const struct mt_top_picture *picture = to->picture;
    const struct mt_inspection *live = &picture->live;
    char a[MT_SIZE_TEXT], b[MT_SIZE_TEXT];
    uint64_t whole = picture->card;
    if (whole < live->peak.allocated || whole < live->now.reserved)
        whole =
            live->peak.allocated > live->now.reserved ? live->peak.allocated : live->now.reserved;
    leave_air(to);
    draw_measure(to, "allocated", live->now.allocated, whole, 33);
    mt_pen_put(&to->pen, "peak %s at %s", mt_size_text(a, live->peak.allocated),
               mt_time_text(b, live->peak.time_ns));
    mt_pen_end_line(&to->pen);
    if (!live->of_cuda) {
        uint64_t cache =
            live->now.reserved > live->now.allocated ? live->now.reserved - live->now.allocated : 0;
        draw_measure(to, "reserved", live->now.reserved, whole, 244);
        mt_pen_put(&to->pen, "%s unused cache", mt_size_text(a, cache));
        mt_pen_end_line(&to->pen);
    }
    if (!picture->card)
        return;
    uint64_t used = picture->card > picture->card_free ? picture->card - picture->card_free : 0;
    draw_measure(to, "card", used, whole, 250);
    mt_pen_put(&to->pen, "%s free of %s", mt_size_text(a, picture->card_free),
               mt_size_text(b, picture->card));
    mt_pen_end_line(&to->pen);
}

/* Return the largest category after `last`; mt_n_categories: none. */
static unsigned next_category(const uint64_t *bytes, unsigned last)
{
    unsigned best = mt_n_categories;
    for (unsigned i = 0; i < mt_n_categories; i++) {
        bool is_after = last == mt_n_categories || bytes[i] < bytes[last] ||
                        (bytes[i] == bytes[last] && i > last);
        if (bytes[i] && is_after && (best == mt_n_categories || bytes[i] > bytes[best]))
            best = i;
    }
    return best;
}

static void draw_share(struct drawing *to, char mark, const char *label, uint64_t bytes,
                       uint64_t whole, unsigned colour)
{
    char size[MT_SIZE_TEXT];
    unsigned room = to->pen.columns > 44 ? to->pen.columns - 44 : 0;
    mt_pen_put(&to->pen, " %c%-16s%11s %5.1f %%  ", mark, label, mt_size_text(size, bytes),
               whole ? 100.0 * (double)bytes / (double)whole : 0);
    mt_pen_colour(&to->pen, colour);
    mt_pen_bar(&to->pen, bytes, whole, room < MOST_BAR ? room : MOST_BAR);
    mt_pen_colour(&to->pen, 0);
    mt_pen_end_line(&to->pen);
}

static void draw_categories(struct drawing *to)
{
    const struct mt_inspection *live = &to->picture->live;
    unsigned most = is_tall(to) ? mt_n_categories : mt_pen_room(&to->pen) / 3, shown = 0;
    uint64_t whole = live->unseen;
    for (unsigned i = 0; i < mt_n_categories; i++)
        whole += live->category[i];
    mt_pen_end_line(&to->pen);
    for (unsigned i = next_category(live->category, mt_n_categories);
         i < mt_n_categories && shown < most; i = next_category(live->category, i), shown++)
        draw_share(to, mt_certainty_mark(mt_sites_certainty(&live->sites, (enum mt_category)i)),
                   mt_categories[i].label, live->category[i], whole, mt_categories[i].colour);
    if (live->unseen && shown < most)
        draw_share(to, ' ', "not recorded", live->unseen, whole, 250);
}

static void draw_run(struct drawing *to)
{
    const struct mt_top_picture *picture = to->picture;
    char size[MT_SIZE_TEXT];
    mt_pen_end_line(&to->pen);
    if (picture->iterations) {
        mt_pen_put(&to->pen, "iteration %" PRIu32, picture->iterations);
        if (picture->phase != MT_PHASE_OUTSIDE)
            mt_pen_put(&to->pen, ", %s", mt_phase_names[picture->phase].label);
        if (picture->iteration_s > 0)
            mt_pen_put(&to->pen, picture->iteration_s < 10 ? ", %.3f s each" : ", %.0f s each",
                       picture->iteration_s);
        mt_pen_put(&to->pen, ", ");
        if (picture->growth) {
            mt_pen_colour(&to->pen, 160);
            mt_pen_put(&to->pen, "grows by %s each", mt_size_text(size, picture->growth));
            mt_pen_colour(&to->pen, 0);
        } else {
            mt_pen_put(&to->pen, picture->iterations < MT_GROWTH_ITERATIONS ? "growth not known yet"
                                                                            : "no growth");
        }
        mt_pen_put(&to->pen, "; ");
    }
    mt_pen_put(&to->pen,
               picture->allocations_s < 10 ? "%.1f allocations per second"
                                           : "%.0f allocations per second",
               picture->allocations_s);
    mt_pen_end_line(&to->pen);
}

/* Return a column's cell, filled to this many eighths of a row. */
static const char *cell(const struct drawing *to, uint64_t eighths)
{
    static const char *const blocks[] = {" ",      "\u2581", "\u2582", "\u2583", "\u2584",
                                         "\u2585", "\u2586", "\u2587", "\u2588"};
    static const char *const letters[] = {" ", ".", ".", ":", ":", "|", "|", "#", "#"};
    return (to->view->style->utf8 ? blocks : letters)[eighths > 8 ? 8 : eighths];
}

static void draw_past(struct drawing *to)
{
    uint64_t columns[MOST_BAR + LABEL], most = 0;
    char size[MT_SIZE_TEXT], time[MT_SIZE_TEXT];
    unsigned width = to->pen.columns > 13 + 1 ? to->pen.columns - 13 - 1 : 0;
    width = width < MOST_BAR ? width : MOST_BAR;
    uint64_t each_ns = mt_past_columns(&to->trace->past, to->picture->slot, width, columns);
    unsigned rows = is_tall(to) ? 4 : 1;
    if (!each_ns)
        return;
    for (unsigned i = 0; i < width; i++)
        most = columns[i] > most ? columns[i] : most;
    for (unsigned row = rows; row-- > 0;) {
        mt_pen_put(&to->pen, "%11s  ", row + 1 == rows ? mt_size_text(size, most) : "");
        mt_pen_colour(&to->pen, 33);
        for (unsigned i = 0; i < width; i++) {
            uint64_t eighths =
                most ? (uint64_t)((double)columns[i] / (double)most * 8 * rows + 0.5) : 0;
            mt_pen_put(&to->pen, "%s", cell(to, eighths > 8 * row ? eighths - 8 * row : 0));
        }
        mt_pen_colour(&to->pen, 0);
        mt_pen_end_line(&to->pen);
    }
    if (is_tall(to)) {
        mt_pen_go_to(&to->pen, 13);
        mt_pen_put(&to->pen, "peak allocated, over the last %s",
                   mt_time_text(time, each_ns * width));
        mt_pen_end_line(&to->pen);
    }
}

static void draw_place(struct drawing *to, const struct mt_site *site)
{
    char place[1024], name[256], type[128], line[2048];
    const struct mt_definitions *d = to->definitions;
    uint32_t caller = mt_site_caller(d, site);
    mt_named_place_text(place, sizeof place, d, site->name, site->stack);
    *type = '\0';
    if (site->node_name)
        mt_short_type_name(mt_string(d, site->node_name), type, sizeof type);
    snprintf(line, sizeof line, "%s%s%s", type, *type ? " of " : "", place);
    if (caller) {
        mt_place_text(name, sizeof name, d, caller);
        mt_text_append(line, sizeof line, " from %s", name);
    }
    mt_pen_put_safe(&to->pen, line, 0, MT_CUT_END);
}

static void draw_row(struct drawing *to, const struct mt_top_row *row)
{
    char size[MT_SIZE_TEXT], change[MT_SIZE_TEXT + 1], count[MT_SIZE_TEXT];
    const struct mt_category_info *category = &mt_categories[row->site.category];
    mt_pen_put(&to->pen, "%11s ", mt_size_text(size, row->site.bytes));
    if (row->change) {
        mt_size_text(change + 1, row->change > 0 ? (uint64_t)row->change : (uint64_t)-row->change);
        *change = row->change > 0 ? '+' : '-';
    }
    mt_pen_put(&to->pen, "%12s %8s %c", row->change ? change : "",
               mt_count_text(count, row->site.blocks), mt_certainty_mark(row->site.certainty));
    mt_pen_colour(&to->pen, category->colour);
    mt_pen_put(&to->pen, "%-15s", category->label);
    mt_pen_colour(&to->pen, 0);
    mt_pen_put(&to->pen, " ");
    draw_place(to, &row->site);
}

static void draw_table(struct drawing *to)
{
    const struct mt_top_picture *picture = to->picture;
    unsigned skipped = 0, last = to->view->rows ? 1 : 0; /* the row of the keys */
    int category = to->view->category;
    mt_pen_end_line(&to->pen);
    mt_pen_bold(&to->pen);
    mt_pen_put(&to->pen, "%11s %12s %8s  %-15s %s", "bytes", "change", "blocks", "category",
               "line (category ~ likely, ? a guess)");
    mt_pen_colour(&to->pen, 0);
    for (size_t i = 0; i < picture->n_rows && mt_pen_room(&to->pen) > 1 + last; i++) {
        const struct mt_top_row *row = &picture->rows[i];
        if (category >= 0 && (int)row->site.category != category)
            continue;
        if (skipped++ < to->view->scroll)
            continue;
        mt_pen_end_line(&to->pen);
        draw_row(to, row);
    }
}

/* Draw the last line of the screen. */
static void draw_keys(struct drawing *to)
{
    static const char *const orders[MT_TOP_ORDERS] = {"bytes", "blocks", "change"};
    if (!to->view->rows)
        return;
    while (mt_pen_room(&to->pen) > 1)
        mt_pen_end_line(&to->pen);
    if (to->pen.column)
        return; /* the screen is too small */
    mt_pen_bold(&to->pen);
    mt_pen_put(&to->pen, "q quit  ? help  s sort: %s  r change from now on  space %s",
               orders[to->trace->order], to->view->is_paused ? "resume" : "pause");
    if (to->view->n > 1)
        mt_pen_put(&to->pen, "  left/right rank");
    if (to->view->category >= 0)
        mt_pen_put(&to->pen, "  c only %s", mt_categories[to->view->category].label);
    mt_pen_colour(&to->pen, 0);
}

static void draw_help(struct drawing *to)
{
    static const char *const lines[] = {
        "q, Ctrl-C      quit",
        "up, down       other lines of the table (Page up, Page down, Home)",
        "left, right    another rank, if there are several (or Tab)",
        "d              another device",
        "s              sort by bytes, by blocks, or by change",
        "r              restart the column \"change\" at zero",
        "c              show only one category's lines; again: the next one",
        "space          pause; the recording continues",
        "?              this help",
        "",
        "allocated: what PyTorch's allocator has handed out.",
        "reserved: what it holds from CUDA.",
        "The program writes its trace every 2 s, so the display may lag by that much.",
        "See memtap report for the peak, memtap view for the run in a browser."};
    mt_pen_end_line(&to->pen);
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        mt_pen_put(&to->pen, "  %s", lines[i]);
        mt_pen_end_line(&to->pen);
    }
}

static void draw_picture(struct drawing *to)
{
    draw_measures(to);
    draw_categories(to);
    draw_run(to);
    draw_past(to);
    if (!to->view->rows || mt_pen_room(&to->pen) > TABLE_LEAST)
        draw_table(to);
}

void mt_top_draw(const struct mt_top_view *view, FILE *out)
{
    const struct mt_top *trace = &view->traces[view->chosen];
    struct drawing to = {.view = view, .trace = trace, .picture = &trace->picture};
    to.pen = (struct mt_pen){.out = out,
                             .style = view->style,
                             .columns = view->columns,
                             .rows = view->rows ? view->rows : TEXT_ROWS};
    if (trace->follow)
        to.definitions = mt_follow_replay(trace->follow)->definitions;
    draw_title(&to);
    draw_ranks(&to);
    if (view->has_help)
        draw_help(&to);
    else if (to.picture->is_there)
        draw_picture(&to);
    else {
        mt_pen_end_line(&to.pen);
        mt_pen_put(&to.pen, trace->has_failed ? "" : "No device memory allocated yet.");
    }
    draw_keys(&to);
    if (!view->rows)
        mt_pen_end_line(&to.pen);
}
