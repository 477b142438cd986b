/* SPDX-License-Identifier: Apache-2.0 */
#include "ended.h"
#include "analyzer/support/text.h"

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[MT_ENDED_COUNT] = {
#define MT_ENDED_NAME(id, name) name,
    MT_ENDS(MT_ENDED_NAME)
#undef MT_ENDED_NAME
};

const char *mt_ended_name(enum mt_ended_how how)
{
    return names[how];
}

enum mt_ended_how mt_ended_find(const char *name, size_t size)
{
    unsigned how = 0;
    while (how < MT_ENDED_COUNT && (strlen(names[how]) != size || memcmp(names[how], name, size)))
        how++;
    return (enum mt_ended_how)how;
}

/* --- from a trace --------------------------------------------------------------------------- */

/* Return the number after a word, as in "signal 9"; -1: other text. */
static int number_after(const char *text, const char *word)
{
    size_t n = strlen(word);
    char *end;
    if (strncmp(text, word, n) || text[n] < '0' || text[n] > '9')
        return -1;
    long number = strtol(text + n, &end, 10);
    return !*end && number >= 0 && number < 100000 ? (int)number : -1;
}

static enum mt_ended_how of_state(enum mt_trace_state state)
{
    static const enum mt_ended_how how[MT_TRACE_STATES] = {
        [MT_TRACE_CLOSED] = MT_ENDED_OPEN,     [MT_TRACE_RUNNING] = MT_ENDED_RUNNING,
        [MT_TRACE_KILLED] = MT_ENDED_KILLED,   [MT_TRACE_OPEN] = MT_ENDED_OPEN,
        [MT_TRACE_STOPPED] = MT_ENDED_STOPPED, [MT_TRACE_EXECUTED] = MT_ENDED_EXECUTED,
    };
    return how[state];
}

/* Return how a recovered trace ended; older versions of memtap recover did not store it. */
static enum mt_ended_how of_recovered(const struct mt_survey *survey)
{
    static const char whole_tail[] = " events from the tail";
    size_t n = strlen(survey->recovered), end = sizeof whole_tail - 1;
    if (n < end || strcmp(survey->recovered + n - end, whole_tail))
        return MT_ENDED_CUT;
    return *survey->stopped    ? MT_ENDED_STOPPED
           : *survey->executed ? MT_ENDED_EXECUTED
                               : MT_ENDED_KILLED;
}

/* Find how it ended, except out of memory. The process's or its parent's record of the end takes
 * precedence over a trace that was not closed. */
static enum mt_ended_how find_how(const struct mt_survey *survey, const struct mt_ended *ended)
{
    enum mt_ended_how noted = mt_ended_find(survey->ended, strlen(survey->ended));
    bool is_closed = survey->complete && !survey->is_copy_of_such;
    if (noted < MT_ENDED_COUNT)
        return noted;
    if (!is_closed && (survey->state == MT_TRACE_RUNNING || survey->state == MT_TRACE_STOPPED ||
                       survey->state == MT_TRACE_EXECUTED))
        return of_state(survey->state);
    if (ended->signal)
        return MT_ENDED_KILLED;
    if (ended->exit_code > 0)
        return MT_ENDED_EXIT;
    if (!is_closed) /* exit code 0: not killed, but the trace was not closed */
        return ended->exit_code < 0 ? of_state(survey->state) : MT_ENDED_OPEN;
    return ended->is_recovered ? of_recovered(survey) : MT_ENDED_WHOLE;
}

/* Return whether the run ended because memory ran out: nothing was allocated after it, and the end
 * was bad or is otherwise unknown. */
static bool is_by_memory(const struct mt_survey *survey, const struct mt_ended *ended)
{
    switch (ended->how) {
    case MT_ENDED_WHOLE:
        return mt_survey_is_out_of_memory(survey) && ended->exit_code < 0;
    case MT_ENDED_EXIT:
    case MT_ENDED_KILLED:
    case MT_ENDED_OPEN:
        return mt_survey_is_out_of_memory(survey);
    default:
        return false;
    }
}

/* Copy up to a ";", which precedes advice to the reader of the trace. */
static void find_what(struct mt_ended *ended, const struct mt_survey *survey,
                      const struct mt_trace_error *fault)
{
    static const struct mt_style utf8 = {.utf8 = 1};
    const char *what = ended->how == MT_ENDED_EXECUTED  ? survey->executed
                       : ended->how == MT_ENDED_STOPPED ? survey->stopped
                       : ended->how != MT_ENDED_CUT     ? ""
                       : fault && fault->fault          ? fault->text
                                                        : survey->recovered;
    char first[sizeof ended->what];
    snprintf(first, sizeof first, "%.*s", (int)strcspn(what, ";"), what);
    mt_safe_text(ended->what, sizeof ended->what, first, 0, MT_CUT_END, &utf8);
}

/* Describe the contents of a trace that was not closed. */
static const char *find_note(const struct mt_survey *survey, const struct mt_trace_error *fault)
{
    static const char *const notes[MT_TRACE_STATES] = {
        [MT_TRACE_CLOSED] = "the end of the trace is unreadable",
        [MT_TRACE_RUNNING] = "the trace is complete so far",
        [MT_TRACE_KILLED] = "the trace is complete up to that moment",
        [MT_TRACE_OPEN] = "the trace may lack its end",
        [MT_TRACE_STOPPED] = "the trace is complete up to then",
        [MT_TRACE_EXECUTED] = "the trace is complete up to then",
    };
    if (fault && fault->fault == MT_FAULT_SEGMENT)
        return "everything after that was read";
    if (fault && fault->fault == MT_FAULT_TAIL)
        return "the trace may lack its end";
    if (fault && fault->fault)
        return "everything before that was read";
    if (survey->complete || (mt_survey_lost(survey) && survey->state != MT_TRACE_OPEN))
        return "";
    return notes[survey->state];
}

/* Parse the killer from "signal 9 from 4711" or "signal 9 from ancestor 4711". */
static void find_killer(struct mt_ended *ended, const char *text)
{
    int at = 0, used = 0, signal = 0;
    long killer = 0;
    sscanf(text, "signal %4d from %n", &signal, &at);
    bool is_ancestor = at && !strncmp(text + at, "ancestor ", 9);
    at += is_ancestor ? 9 : 0;
    if (!at || sscanf(text + at, "%9ld%n", &killer, &used) < 1 || text[at + used] || signal <= 0 ||
        killer <= 0)
        return;
    ended->signal = signal;
    ended->killer = killer;
    ended->is_by_starter = is_ancestor;
}

struct mt_ended mt_ended_of(const struct mt_survey *survey, const struct mt_trace_error *fault)
{
    int number = number_after(survey->ended, "signal ");
    struct mt_ended ended = {.exit_code = number_after(survey->ended, "exit code "),
                             .signal = number > 0 ? number : 0,
                             .ooms = mt_survey_ooms(survey),
                             .is_recovered = *survey->recovered != 0,
                             .is_unnumbered = survey->is_unnumbered};
    if (number < 0)
        find_killer(&ended, survey->ended);
    ended.how = fault && fault->fault ? MT_ENDED_CUT : find_how(survey, &ended);
    if (is_by_memory(survey, &ended))
        ended.how = MT_ENDED_OUT_OF_MEMORY;
    find_what(&ended, survey, fault);
    ended.lacks_tail =
        ended.how != MT_ENDED_CUT && !survey->complete && survey->state == MT_TRACE_OPEN;
    ended.note = find_note(survey, fault);
    return ended;
}

/* --- in words ------------------------------------------------------------------------------- */

#define ADD(out, ...) mt_text_append(out, MT_ENDED_TEXT, __VA_ARGS__)

static const char *signal_name(int number)
{
    static const struct {
        int number;
        const char *name;
    } signals[] = {{SIGHUP, "SIGHUP"},   {SIGINT, "SIGINT"},   {SIGQUIT, "SIGQUIT"},
                   {SIGILL, "SIGILL"},   {SIGTRAP, "SIGTRAP"}, {SIGABRT, "SIGABRT"},
                   {SIGBUS, "SIGBUS"},   {SIGFPE, "SIGFPE"},   {SIGKILL, "SIGKILL"},
                   {SIGUSR1, "SIGUSR1"}, {SIGSEGV, "SIGSEGV"}, {SIGUSR2, "SIGUSR2"},
                   {SIGPIPE, "SIGPIPE"}, {SIGALRM, "SIGALRM"}, {SIGTERM, "SIGTERM"},
                   {SIGXCPU, "SIGXCPU"}, {SIGXFSZ, "SIGXFSZ"}, {SIGSYS, "SIGSYS"}};
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        if (signals[i].number == number)
            return signals[i].name;
    return NULL;
}

/* Add "exit code 3", "killed by signal 9 (SIGKILL)"; nothing if both are unknown. */
static void add_process_end(char out[MT_ENDED_TEXT], const struct mt_ended *ended)
{
    const char *name = signal_name(ended->signal);
    if (ended->is_by_starter) { /* as servers terminate their workers */
        ADD(out, "terminated by process %ld, which started it (%s)", ended->killer,
            name ? name : "a signal");
        return;
    }
    if (ended->exit_code >= 0)
        ADD(out, "exit code %d", ended->exit_code);
    else if (name)
        ADD(out, "killed by signal %d (%s)", ended->signal, name);
    else if (ended->signal)
        ADD(out, "killed by signal %d", ended->signal);
}

static void add_how(char out[MT_ENDED_TEXT], const struct mt_ended *ended)
{
    size_t n;
    switch (ended->how) {
    case MT_ENDED_OUT_OF_MEMORY:
        ADD(out, "out of memory, not caught");
        if (ended->exit_code < 0 && !ended->signal)
            return;
        ADD(out, "; ");
        add_process_end(out, ended);
        return;
    case MT_ENDED_EXIT:
    case MT_ENDED_KILLED:
        n = strlen(out);
        add_process_end(out, ended);
        if (strlen(out) == n)
            ADD(out, "killed");
        return;
    case MT_ENDED_RUNNING:
        ADD(out, "not yet; the program was still running");
        return;
    case MT_ENDED_EXECUTED:
        ADD(out, "the process executed another program");
        break;
    case MT_ENDED_STOPPED:
        ADD(out, "the trace could not be written up to the program's end");
        break;
    case MT_ENDED_OPEN:
        ADD(out, "the recording was not closed");
        return;
    case MT_ENDED_CUT:
        ADD(out, *ended->what ? "%s" : "the trace is truncated", ended->what);
        return;
    default:
        ADD(out, "whole");
    }
    if (*ended->what)
        ADD(out, " (%s)", ended->what);
}

const char *mt_ended_text(char out[MT_ENDED_TEXT], const struct mt_ended *ended)
{
    *out = '\0';
    add_how(out, ended);
    if (ended->is_recovered)
        ADD(out, ", recovered");
    if (ended->lacks_tail && ended->how != MT_ENDED_OPEN)
        ADD(out, "; the recording was not closed");
    if (ended->ooms == 1 && ended->how != MT_ENDED_OUT_OF_MEMORY)
        ADD(out, "; memory ran out once, and the program continued");
    else if (ended->ooms && ended->how != MT_ENDED_OUT_OF_MEMORY)
        ADD(out, "; memory ran out %llu times, and the program continued",
            (unsigned long long)ended->ooms);
    if (ended->is_unnumbered)
        ADD(out, "; missing blocks cannot be detected: this format has no block numbers");
    return out;
}

const char *mt_ended_line(char out[MT_ENDED_TEXT], const struct mt_ended *ended)
{
    char text[MT_ENDED_TEXT];
    snprintf(out, MT_ENDED_TEXT, "Ended: %.*s%s%s", MT_ENDED_TEXT - 100, mt_ended_text(text, ended),
             *ended->note ? "; " : "", ended->note);
    return out;
}

const char *mt_ended_command(const struct mt_ended *ended)
{
    return ended->how == MT_ENDED_OUT_OF_MEMORY ? "oom" : "report";
}
