/* SPDX-License-Identifier: Apache-2.0 */
#include "limits.h"
#include "preload/host/message.h"
#include "preload/host/settings.h"
#include "preload/record/intern.h"
#include "source-loop.h"

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PLACES 64u
#define MOST_TURNS 1000u /* of a loop before it is reported */
#define ALIKE 8u         /* turns with so many times the events of the shortest are of one loop */
#define GRACE_NS 10000000000u /* from SIGTERM to SIGKILL */
#define PLACE_SIZE 512

enum { SIZE = 1, WORKSPACE = 5 }; /* values of `what` that no loop waits for; later ones, too */

static struct {
    struct place {
        uint32_t stack;
        uint64_t at, gap; /* the number of its last event; the least number of events between two */
        unsigned turns;   /* alike: one may print, or save a checkpoint of its state */
    } place[PLACES];      /* by the stack */
    uint32_t stack;       /* of the newest event that has one */
    bool has_said, is_over;
    uint64_t over_ns;
} limits;

/* --- where --------------------------------------------------------------------------------- */

static bool find(enum mt_definition_kind kind, enum mt_definition_kind or, uint32_t id,
                 struct mt_definition *out)
{
    struct mt_intern_position position = {0};
    while (mt_intern_read(&position, out))
        if ((out->kind == kind || out->kind == or) && out->id == id)
            return true;
    return false;
}

static bool is_of_program(const char *path)
{
    return *path != '<' && !strstr(path, "/site-packages/") && !strstr(path, "/dist-packages/") &&
           !strstr(path, "/lib/python");
}

static void copy_text(char *out, size_t size, uint32_t string)
{
    size_t n;
    const char *text = mt_intern_text(string, &n);
    snprintf(out, size, "%.*s", (int)n, text);
}

struct line {
    char path[PLACE_SIZE], function[PLACE_SIZE / 2];
    unsigned number;
};

/* Return the innermost line of a stack in *out and the rest of the stack in *stack; false if there
 * is none. */
static bool next_line(uint32_t *stack, struct line *out)
{
    struct mt_definition step, frame;
    while (*stack && find(MT_DEF_STACK, MT_DEF_STACK, *stack, &step)) {
        *stack = step.stack.parent;
        if (!find(MT_DEF_FRAME, MT_DEF_CALL, step.stack.frame, &frame))
            continue;
        copy_text(out->path, sizeof out->path, frame.frame.file);
        copy_text(out->function, sizeof out->function, frame.frame.function);
        out->number = frame.frame.line;
        return true;
    }
    return false;
}

/* Write "net.py:42 forward": the innermost frame in the program's own files, or if there is none,
 * the innermost one of all; "" without any. */
static void write_place(char out[PLACE_SIZE], uint32_t stack)
{
    struct line line;
    *out = '\0';
    while (next_line(&stack, &line)) {
        const char *slash = strrchr(line.path, '/');
        if (!*out || is_of_program(line.path))
            snprintf(out, PLACE_SIZE, "%.200s:%u %s", slash ? slash + 1 : line.path, line.number,
                     line.function);
        if (is_of_program(line.path))
            return;
    }
}

/* Return whether the innermost loop ends by itself, like a trainer's over its batches. */
static bool is_counted(uint32_t stack)
{
    struct line line;
    enum mt_loop loop = MT_LOOP_NONE;
    while (loop == MT_LOOP_NONE && next_line(&stack, &line))
        loop = mt_loop_around(line.path, line.number);
    return loop == MT_LOOP_COUNTED;
}

/* --- loops --------------------------------------------------------------------------------- */

static void say_waiting(uint32_t stack)
{
    char place[PLACE_SIZE];
    limits.has_said = true;
    write_place(place, stack);
    mt_message("%s read a value that is not simulated %u times; a loop that waits for it never "
               "ends: use --limit-time or --limit-events",
               *place ? place : "an unknown line", MOST_TURNS);
}

static void note_unknown_value(const struct mt_event *event, uint64_t number)
{
    uint64_t what = event->UNKNOWN_VALUE.what;
    if (what == SIZE || what >= WORKSPACE || limits.has_said)
        return;
    struct place *place = &limits.place[event->stack % PLACES];
    uint64_t gap = number - place->at;
    bool is_alike = place->stack == event->stack && place->gap && gap <= ALIKE * place->gap;
    place->turns = is_alike ? place->turns + 1 : 0;
    place->gap = is_alike && place->gap < gap ? place->gap : place->stack == event->stack ? gap : 0;
    place->stack = event->stack;
    place->at = number;
    if (place->turns == MOST_TURNS && !is_counted(event->stack))
        say_waiting(event->stack);
}

void mt_limits_note(const struct mt_event *events, size_t n, uint64_t kinds, uint64_t before)
{
    for (size_t i = n; i--;)
        if (events[i].stack) {
            limits.stack = events[i].stack;
            break;
        }
    for (size_t i = 0; kinds >> MT_UNKNOWN_VALUE & 1 && i < n; i++)
        if (events[i].kind == MT_UNKNOWN_VALUE)
            note_unknown_value(&events[i], before + i + 1);
}

/* --- limits -------------------------------------------------------------------------------- */

/* Send a signal without kill, which is hooked. */
static void send_signal(int number)
{
    syscall(SYS_kill, getpid(), number);
}

static void end_program(const char *limit, const char *value)
{
    char place[PLACE_SIZE];
    write_place(place, limits.stack);
    mt_message("the run reached %s %s%s%s; ending the program", limit, value, *place ? ", at " : "",
               place);
    send_signal(SIGTERM);
}

void mt_limits_check(uint64_t ns, uint64_t events)
{
    bool is_long = mt_settings.most_ns && ns >= mt_settings.most_ns;
    bool is_large = mt_settings.most_events && events >= mt_settings.most_events;
    if (limits.is_over && ns - limits.over_ns > GRACE_NS)
        send_signal(SIGKILL);
    if (limits.is_over || (!is_long && !is_large))
        return;
    limits.is_over = true;
    limits.over_ns = ns;
    if (is_long)
        end_program("--limit-time", mt_settings.limit_time);
    else
        end_program("--limit-events", mt_settings.limit_events);
}

void mt_limits_reset(void)
{
    memset(&limits, 0, sizeof limits);
}
