/* SPDX-License-Identifier: Apache-2.0 */
#include "commands.h"
#include "tools/memtap/input/traces.h"
#include "tools/memtap/terminal/command.h"
#include "tools/memtap/terminal/values.h"
#include "tools/memtap/top/draw.h"
#include "tools/memtap/top/screen.h"
#include "tools/memtap/top/watch.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define TEXT_COLUMNS 100u
#define PART_OF_A_CORE 100 /* reading and drawing use at most 1/100 of the time */
#define PAGE 10
#define STILL 5 /* redraw this often even without new events */

struct session {
    struct mt_trace_list found;
    struct mt_top *traces;
    struct mt_top_view view;
    struct mt_style style;
    double interval_s;
    bool is_text;
};

static int note_interval(const struct mt_typed *typed)
{
    return mt_read_time(typed->command, "interval", typed->value, 0.1, 3600, typed->place);
}

/* clang-format off */
const struct mt_option mt_top_options[] = {
    {0, "once", NULL, "print one screen as text and exit; the default if the\noutput is not a "
                      "terminal", NULL, mt_note_flag,
     offsetof(struct session, is_text)},
    {0, "interval", "SECONDS", "update interval (1)", NULL, note_interval, offsetof(struct session, interval_s)},
    MT_COLOR_OPTION, {0}};
/* clang-format on */

/* Read new events of all traces. Return whether there may be more at once. */
static int read_all(struct session *session)
{
    bool is_more = false;
    for (size_t i = 0; i < session->found.n; i++)
        is_more |= mt_top_read(&session->traces[i]);
    return is_more;
}

static int update_all(struct session *session)
{
    for (size_t i = 0; i < session->found.n; i++)
        if (mt_top_poll(&session->traces[i]))
            return mt_fail("out of memory");
    return MT_EXIT_OK;
}

/* Fail because no process is writing the trace any more. */
static int fail_over(const struct mt_top *trace)
{
    char text[MT_ENDED_TEXT];
    if (trace->has_failed)
        return mt_fail_trace(trace->path, &trace->fault);
    struct mt_ended ended = mt_follow_ended(trace->follow);
    return mt_fail("%s: the recording has ended (%s); see memtap %s", trace->path,
                   mt_ended_text(text, &ended), mt_ended_command(&ended));
}

/* Return a trace if none is being written or readable; NULL otherwise. */
static const struct mt_top *find_over(const struct session *session)
{
    for (size_t i = 0; i < session->found.n; i++) {
        const struct mt_top *trace = &session->traces[i];
        if (!trace->is_over && (!trace->follow || mt_follow_is_live(trace->follow)))
            return NULL;
    }
    return &session->traces[0];
}

static int print_once(struct session *session)
{
    while (read_all(session))
        ;
    if (find_over(session))
        return fail_over(find_over(session));
    for (size_t i = 0; i < session->found.n; i++)
        if (!session->traces[i].follow)
            return mt_fail("%s: no such trace yet; on a terminal, memtap top waits for it "
                           "without --once",
                           session->traces[i].path);
    if (update_all(session))
        return MT_EXIT_BAD;
    session->view.columns = session->style.columns ? session->style.columns : TEXT_COLUMNS;
    session->view.rows = 0;
    mt_top_draw(&session->view, stdout);
    return MT_EXIT_OK;
}

static void draw(struct session *session)
{
    char *frame = NULL;
    size_t size;
    mt_screen_size(&session->view.columns, &session->view.rows);
    FILE *out = open_memstream(&frame, &size);
    if (!out)
        return;
    mt_top_draw(&session->view, out);
    fclose(out);
    if (frame)
        mt_screen_show(frame, size);
    free(frame);
}

/* Return the next category with lines; -1 after the last: all. */
static int next_category(const struct mt_top_view *view)
{
    const struct mt_inspection *live = &view->traces[view->chosen].picture.live;
    for (int i = view->category + 1; i < (int)mt_n_categories; i++)
        if (live->category[i])
            return i;
    return -1;
}

static void move(struct mt_top_view *view, int lines)
{
    long most = (long)view->traces[view->chosen].picture.n_rows - 1;
    long to = (long)view->scroll + lines;
    view->scroll = (unsigned)(to > most ? (most > 0 ? most : 0) : to > 0 ? to : 0);
}

static void choose(struct mt_top_view *view, size_t by)
{
    view->chosen = (view->chosen + by) % view->n;
    view->scroll = 0;
}

/* Handle a key. Return 1 to compute the picture again, 0 if it was drawn, and -1 to quit. */
static int handle(struct session *session, int key)
{
    struct mt_top_view *view = &session->view;
    struct mt_top *trace = &session->traces[view->chosen];
    switch (key) {
    case 'q':
    case 'Q':
    case MT_KEY_GONE:
        return -1;
    case MT_KEY_UP:
    case 'k':
        move(view, -1);
        return 0;
    case MT_KEY_DOWN:
    case 'j':
        move(view, 1);
        return 0;
    case MT_KEY_PAGE_UP:
        move(view, -PAGE);
        return 0;
    case MT_KEY_PAGE_DOWN:
        move(view, PAGE);
        return 0;
    case MT_KEY_HOME:
        view->scroll = 0;
        return 0;
    case MT_KEY_LEFT:
        choose(view, view->n - 1);
        return 0;
    case MT_KEY_RIGHT:
    case '\t':
        choose(view, 1);
        return 0;
    case 'd':
        trace->device =
            trace->picture.devices ? (trace->device + 1) % (int)trace->picture.devices : -1;
        return 1;
    case 's':
        trace->order = (enum mt_top_order)((trace->order + 1) % MT_TOP_ORDERS);
        view->scroll = 0;
        return 1;
    case 'r':
        mt_top_mark(trace);
        return 1;
    case 'c':
        view->category = next_category(view);
        view->scroll = 0;
        return 0;
    case ' ':
        view->is_paused = !view->is_paused;
        return 1;
    case '?':
    case 'h':
        view->has_help = !view->has_help;
        return 0;
    }
    return 0;
}

static double seconds_of(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

/* Return a pause that bounds the CPU use. The cost of reading depends only on the number of events.
 */
static int pause_ms(const struct session *session, double work_s)
{
    double least = work_s * PART_OF_A_CORE, interval = session->interval_s;
    return (int)((least > interval ? least < 60 ? least : 60 : interval) * 1000);
}

/* Handle keys until it is time to read again. Return 0, or -1 to quit. */
static int wait_for_keys(struct session *session, int milliseconds)
{
    double until = seconds_of(CLOCK_MONOTONIC) + milliseconds / 1e3;
    for (;;) {
        double left = until - seconds_of(CLOCK_MONOTONIC);
        int key = mt_screen_key(left > 0 ? (int)(left * 1000) + 1 : 0);
        if (key == MT_KEY_NONE)
            return 0;
        int rc = handle(session, key);
        if (rc < 0)
            return -1;
        if (rc && update_all(session))
            return -1;
        draw(session);
    }
}

/* Read the events from before the start, and draw the progress twice a second. */
static int catch_up(struct session *session)
{
    while (read_all(session)) {
        if (update_all(session))
            return -1;
        draw(session);
        if (wait_for_keys(session, 0))
            return -1;
    }
    return 0;
}

/* Return whether to redraw: there are new events, or the time without events has changed. */
static bool has_news(const struct session *session)
{
    static unsigned times;
    bool has = times++ % STILL == 0;
    for (size_t i = 0; i < session->found.n; i++)
        has |= session->traces[i].has_news;
    return has;
}

static int refresh(struct session *session)
{
    if (!has_news(session))
        return 0;
    if (update_all(session))
        return -1;
    draw(session);
    return 0;
}

static void watch(struct session *session)
{
    int pause = 0;
    if (catch_up(session))
        return;
    do {
        if (!session->view.is_paused)
            while (read_all(session))
                ;
        double begin = seconds_of(CLOCK_PROCESS_CPUTIME_ID);
        if (!session->view.is_paused && refresh(session))
            return;
        pause = pause_ms(session, seconds_of(CLOCK_PROCESS_CPUTIME_ID) - begin);
    } while (!wait_for_keys(session, pause));
}

/* Leave a line for each trace on the terminal, from the last picture. */
static void say_goodbye(const struct session *session)
{
    for (size_t i = 0; i < session->found.n; i++) {
        char state[MT_TOP_STATE], size[MT_SIZE_TEXT];
        const struct mt_top *trace = &session->traces[i];
        mt_top_state(state, trace);
        mt_say("%s: %s; peak %s%s", trace->path, state,
               mt_size_text(size, trace->picture.live.peak.allocated),
               trace->is_over && !trace->has_failed ? "; see memtap report" : "");
    }
}

static int run(struct session *session)
{
    if (session->is_text || !mt_screen_is_there())
        return print_once(session);
    read_all(session);
    if (find_over(session))
        return fail_over(find_over(session));
    mt_screen_open();
    watch(session);
    mt_screen_close();
    say_goodbye(session);
    return MT_EXIT_OK;
}

/* Rank 2 before rank 10. */
static int by_path(const void *left, const void *right)
{
    return strverscmp(*(char *const *)left, *(char *const *)right);
}

static int begin(struct session *session)
{
    size_t n = session->found.n;
    qsort(session->found.path, n, sizeof *session->found.path, by_path);
    session->traces = calloc(n, sizeof *session->traces);
    for (size_t i = 0; session->traces && i < n; i++)
        mt_top_begin(&session->traces[i], session->found.path[i]);
    session->style = mt_terminal_style();
    session->view = (struct mt_top_view){
        .traces = session->traces, .n = n, .style = &session->style, .category = -1};
    return session->traces ? MT_EXIT_OK : mt_fail("out of memory");
}

int mt_run_top(const struct mt_command *command, int argc, char **argv)
{
    struct session session = {.interval_s = 1};
    int operand = mt_options_read(command, argc, argv, &session);
    if (operand < 0)
        return MT_EXIT_BAD;
    int code = mt_find_live_traces(&session.found, argv + operand, argc - operand);
    if (!code)
        code = begin(&session);
    if (!code)
        code = run(&session);
    for (size_t i = 0; session.traces && i < session.found.n; i++)
        mt_top_end(&session.traces[i]);
    free(session.traces);
    mt_trace_list_clear(&session.found);
    return mt_finish_output(code);
}
