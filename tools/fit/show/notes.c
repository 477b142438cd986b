/* SPDX-License-Identifier: Apache-2.0 */
#include "show.h"
#include "tools/fit/run/attempt.h"
#include "tools/fit/run/output.h"
#include "tools/terminal/command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_NAMED 6u /* lines that fit */

struct notes {
    const struct mt_fit *fit;
    const struct mt_style *style;
    unsigned width;
    char text[4000]; /* a paragraph that grows */
};

#define say(notes, ...) mt_text_append((notes)->text, sizeof(notes)->text, __VA_ARGS__)

/* Take the last byte away: a ';' at a list's end. */
static void cut_last(struct notes *notes)
{
    notes->text[strlen(notes->text) - 1] = '\0';
}

/* Print the paragraph. In a list the last ';' becomes the end. */
static void print(struct notes *notes)
{
    size_t n = strlen(notes->text);
    if (n && notes->text[n - 1] == ';')
        notes->text[n - 1] = '.';
    if (n)
        mt_put_wrapped(stdout, notes->text, notes->width, notes->style);
    *notes->text = '\0';
}

/* Write "h100, batch=64, ckpt=0" */
static void say_where(struct notes *notes, size_t card, size_t line, size_t at,
                      enum mt_choice_part part)
{
    char values[400];
    const struct mt_job *job = notes->fit->job;
    mt_choice_text(job, (struct mt_choice){line, at}, part, values, sizeof values);
    say(notes, "%s%s%s", job->card[card].gpu->name, *values ? ", " : "", values);
}

/* Return the text of a value that is searched. */
static const char *searched(const struct mt_fit *fit, size_t at, char room[MT_VALUE_TEXT])
{
    return mt_variable_text(&fit->job->variable[fit->job->searched], at, room);
}

static const char *searched_name(const struct mt_fit *fit)
{
    return fit->job->variable[fit->job->searched].name;
}

static void say_run(struct notes *notes, const struct mt_attempt *attempt)
{
    char values[400], size[MT_SIZE_TEXT];
    const struct mt_outcome *outcome = attempt->outcome;
    mt_choice_text(notes->fit->job, attempt->choice, MT_CHOICE_ALL, values, sizeof values);
    mt_size_text(size, outcome->used);
    if (outcome->end == MT_FIT_FITS)
        say(notes, " %s %s%s;", values, attempt->is_huge ? "takes " : "fits, ", size);
    else
        say(notes, " %s %s;", values,
            outcome->end == MT_FIT_FULL ? "does not fit" : mt_fit_end_name(outcome->end));
}

static void note_uneven(struct notes *notes, size_t line, size_t card)
{
    char hole[MT_VALUE_TEXT], fits[MT_VALUE_TEXT];
    const struct mt_fit *fit = notes->fit;
    const struct mt_card_search *search = mt_fit_search(fit, line, card);
    if (!mt_fit_is_uneven(fit, line, card))
        return;
    say_where(notes, card, line, 0, MT_CHOICE_LINE);
    say(notes, ": memory is not monotonous in %s: ", searched_name(fit));
    if (search->hole == MT_NONE)
        say(notes, "other values may fit, or not. Runs:");
    else
        say(notes,
            "there are several borders. %s does not fit, though %s does; that may be so of other "
            "values, too. Runs:",
            searched(fit, search->hole, hole), searched(fit, search->fits, fits));
    for (size_t i = 0; i < fit->n_attempts; i++)
        if (fit->attempt[i].choice.line == line &&
            (fit->attempt[i].is_huge || fit->attempt[i].card == card))
            say_run(notes, &fit->attempt[i]);
    print(notes);
}

static void note_caught(struct notes *notes, size_t line, size_t card)
{
    if (!mt_fit_was_caught(notes->fit, line, card))
        return;
    say_where(notes, card, line, mt_fit_search(notes->fit, line, card)->fails, MT_CHOICE_ALL);
    say(notes, ": the program caught an out-of-memory error and continued, or ended well; that "
               "counts as not fitting.");
    print(notes);
}

/* Note where it only just fits. */
static void note_flushes(struct notes *notes)
{
    const struct mt_fit *fit = notes->fit;
    for (size_t card = 0; card < fit->job->n_cards; card++)
        for (size_t line = 0; line < fit->job->n_lines; line++) {
            const struct mt_outcome *best = mt_fit_best(fit, line, card);
            if (!best || !best->flushes)
                continue;
            say(notes,
                *notes->text ? " " : "To fit, PyTorch gave its cache back, which takes time: ");
            say_where(notes, card, line, mt_search_largest(mt_fit_search(fit, line, card)),
                      MT_CHOICE_ALL);
            say(notes, best->flushes == 1 ? " once;" : " %llu times;",
                (unsigned long long)best->flushes);
        }
    print(notes);
}

/* Return the run that showed neither, or NULL. Where the program takes no value at all, that is so
 * on every card. */
static const struct mt_outcome *find_obstacle(const struct mt_fit *fit, size_t line, size_t card,
                                              struct mt_choice *choice)
{
    bool is_open = mt_fit_verdict(fit, line, card) == MT_VERDICT_OPEN;
    return is_open && !(fit->line[line].is_refused && card)
               ? mt_fit_obstacle(fit, line, card, choice)
               : NULL;
}

/* Return whether a run that was noted before ended in the same way. */
static bool was_noted(const struct mt_fit *fit, size_t line, size_t card,
                      const struct mt_outcome *outcome)
{
    struct mt_choice choice;
    for (size_t i = 0; i < card * fit->job->n_lines + line; i++) {
        const struct mt_outcome *other =
            find_obstacle(fit, i % fit->job->n_lines, i / fit->job->n_lines, &choice);
        if (other && other->end == outcome->end && other->exit_code == outcome->exit_code &&
            other->signal == outcome->signal && !strcmp(other->last, outcome->last))
            return true;
    }
    return false;
}

/* Note why nothing is known. Return whether it is one more of those that ended alike. */
static bool note_obstacle(struct notes *notes, size_t line, size_t card)
{
    char how[MT_OBSTACLE_TEXT], values[400];
    const struct mt_fit *fit = notes->fit;
    struct mt_choice choice;
    bool is_refused = fit->line[line].is_refused;
    const struct mt_outcome *outcome = find_obstacle(fit, line, card, &choice);
    if (!outcome || was_noted(fit, line, card, outcome))
        return outcome;
    if (is_refused)
        say(notes, "%s", mt_choice_text(fit->job, choice, MT_CHOICE_ALL, values, sizeof values));
    else
        say_where(notes, card, line, choice.at, MT_CHOICE_ALL);
    say(notes, ": the run %s", mt_fit_obstacle_text(how, fit, outcome));
    if (outcome->end == MT_FIT_REFUSED && fit->job->searched >= 0 && !is_refused)
        say(notes, "; if the program takes only some values, name them (8..512+8)");
    say(notes, *outcome->last ? ". Its last lines:" : ".");
    print(notes);
    mt_output_print_last(outcome->last, stdout, notes->style);
    return false;
}

/* Note what to change where some lines fit and others do not; where many fit, the table says it. */
static void note_change(struct notes *notes, size_t card)
{
    char values[400], room[MT_VALUE_TEXT];
    const struct mt_fit *fit = notes->fit;
    size_t none = 0, fits = 0;
    for (size_t line = 0; line < fit->job->n_lines; line++) {
        fits += mt_fit_best(fit, line, card) != NULL;
        enum mt_fit_verdict verdict = mt_fit_verdict(fit, line, card);
        none += verdict == MT_VERDICT_NONE || verdict == MT_VERDICT_RULED;
    }
    for (size_t line = 0; none && fits <= MOST_NAMED && line < fit->job->n_lines; line++) {
        struct mt_choice largest = {line, mt_search_largest(mt_fit_search(fit, line, card))};
        if (largest.at == MT_NONE)
            continue;
        if (!*notes->text)
            say(notes, "%s: it fits with", fit->job->card[card].gpu->name);
        say(notes, " %s", mt_choice_text(fit->job, largest, MT_CHOICE_LINE, values, sizeof values));
        if (fit->job->searched >= 0)
            say(notes, " (%s up to %s)", searched_name(fit), searched(fit, largest.at, room));
        say(notes, ";");
    }
    print(notes);
}

/* Return which of several lines leaves least of a card; MT_NONE: each has a border of its own. */
static size_t find_named(const struct mt_fit *fit, size_t card)
{
    return fit->job->searched >= 0 || fit->job->n_lines < 2 ? MT_NONE : mt_fit_fullest(fit, card);
}

/* Note which of several lines leaves least of a card, and which of its ranks that is. */
static void note_fullest(struct notes *notes, size_t card)
{
    char size[MT_SIZE_TEXT];
    const struct mt_fit *fit = notes->fit;
    size_t line = find_named(fit, card);
    if (line == MT_NONE)
        return;
    const struct mt_outcome *best = mt_fit_best(fit, line, card);
    say(notes, "Nearest to full: ");
    say_where(notes, card, line, 0, MT_CHOICE_LINE);
    say(notes, " with %s (%.1f %%).", mt_size_text(size, best->used),
        100.0 * (double)best->used / (double)fit->job->card[card].memory);
    print(notes);
}

/* Write "tp and dp": the axes along which memory falls. */
static void say_axes(struct notes *notes)
{
    const struct mt_fit *fit = notes->fit;
    unsigned left = 0, pairs = 0;
    for (size_t i = 0; i < fit->job->n_variables; i++)
        if (fit->axis[i].falls && !fit->axis[i].rises) {
            left++;
            pairs += fit->axis[i].falls;
        }
    for (size_t i = 0; i < fit->job->n_variables; i++)
        if (fit->axis[i].falls && !fit->axis[i].rises)
            say(notes, "%s%s", fit->job->variable[i].name,
                !--left     ? ""
                : left == 1 ? " and "
                            : ", ");
    say(notes, " (%u pair%s of runs)", pairs, pairs == 1 ? "" : "s");
}

static void say_line(struct notes *notes, const char *before, size_t line, const char *after)
{
    char values[400];
    mt_choice_text(notes->fit->job, (struct mt_choice){line, 0}, MT_CHOICE_LINE, values,
                   sizeof values);
    say(notes, "%s%s%s", before, values, after);
}

/* Note which layouts were not run, and why: together those that one rules out. */
static void note_ruled(struct notes *notes, size_t card)
{
    const struct mt_fit *fit = notes->fit;
    for (size_t by = 0; by < fit->job->n_lines; by++) {
        bool is_first = true;
        for (size_t line = 0; line < fit->job->n_lines; line++) {
            if (mt_fit_search(fit, line, card)->ruled_by != by)
                continue;
            if (!*notes->text) {
                say(notes, "%s: memory falls with more ", fit->job->card[card].gpu->name);
                say_axes(notes);
                say(notes, ". So these were ruled out, not run:");
            }
            say_line(notes, " ", line, ";");
            is_first = false;
        }
        if (!is_first) {
            cut_last(notes);
            say_line(notes, " (as ", by, " does not fit);");
        }
    }
    print(notes);
}

/* Note which ranks a line's answer is of. */
static void note_ranks(struct notes *notes)
{
    char world[MT_SIZE_TEXT];
    const struct mt_fit *fit = notes->fit;
    unsigned granted = 0;
    for (size_t line = 0; line < fit->job->n_lines; line++) {
        const struct mt_line_ranks *ranks = &fit->line[line].ranks;
        const struct mt_rank_kinds *kinds = &ranks->kinds;
        if (!ranks->is_found)
            continue;
        say_line(notes, *notes->text ? " " : "Ranks, by runs of some: ", line,
                 fit->job->n_lines > 1 ? ": " : "");
        say(notes, "%s of %u kind%s by %u runs, rank %u takes most",
            mt_count_text(world, kinds->world), kinds->n_kinds, kinds->n_kinds == 1 ? "" : "s",
            kinds->n_known, ranks->rank[0]);
        if (kinds->unknown)
            say(notes, ", %u not known: too many differ", kinds->unknown);
        say(notes, ";");
        granted += kinds->n_known < kinds->world && !kinds->unknown;
    }
    print(notes);
    if (granted)
        say(notes, "Taken for granted: ranks between two equal ones on an axis are like them.");
    print(notes);
}

/* Note where the end of the range is no border. */
static void note_range(struct notes *notes)
{
    char room[MT_VALUE_TEXT];
    const struct mt_fit *fit = notes->fit;
    if (fit->job->searched < 0)
        return;
    for (size_t card = 0; card < fit->job->n_cards; card++)
        for (size_t line = 0; line < fit->job->n_lines; line++) {
            if (mt_fit_verdict(fit, line, card) != MT_VERDICT_ALL)
                continue;
            if (!*notes->text)
                say(notes, "%s=%s, the end of the range, still fits", searched_name(fit),
                    searched(fit, mt_job_positions(fit->job) - 1, room));
            say(notes, " ");
            say_where(notes, card, line, 0, MT_CHOICE_LINE);
            say(notes, ";");
        }
    if (*notes->text) {
        cut_last(notes);
        say(notes, ". A larger range shows the border.");
    }
    print(notes);
}

static void note_how(struct notes *notes)
{
    char time[MT_SIZE_TEXT];
    const struct mt_fit *fit = notes->fit;
    unsigned stopped = 0;
    for (size_t i = 0; i < fit->n_attempts; i++)
        stopped += fit->attempt[i].outcome->was_stopped && !fit->attempt[i].outcome->takes_all;
    mt_time_text(time, (uint64_t)(fit->seconds * 1e9));
    say(notes, "%zu run%s in %s", fit->n_attempts, fit->n_attempts == 1 ? "" : "s", time);
    if (fit->most_at_once > 1)
        say(notes, ", %u at a time", fit->most_at_once);
    if (stopped && fit->job->steps)
        say(notes, "; they ended after %u iterations", fit->job->steps);
    else if (stopped)
        say(notes, "; %u of them ended when the iterations repeated", stopped);
    say(notes, stopped ? ", so that later phases were not seen (--steps all)." : ".");
    print(notes);
}

/* Print the border that was found last, of those that the notes name if they name any, as a command
 * to repeat it. */
static void print_proof(const struct notes *notes)
{
    const struct mt_fit *fit = notes->fit;
    const struct mt_attempt *shown = NULL;
    for (size_t i = 0; i < fit->n_attempts; i++) {
        const struct mt_attempt *attempt = &fit->attempt[i];
        size_t line = attempt->choice.line, named = find_named(fit, attempt->card);
        if (!attempt->is_huge && attempt->outcome->end == MT_FIT_FITS &&
            (named == MT_NONE || named == line) &&
            attempt->choice.at == mt_search_largest(mt_fit_search(fit, line, attempt->card)))
            shown = attempt;
    }
    char *line = shown ? mt_attempt_line(shown, fit->job) : NULL;
    if (line) {
        fputs("To repeat one: ", stdout);
        mt_print_text(line);
        putchar('\n');
    }
    free(line);
}

void mt_fit_print_notes(const struct mt_fit *fit, const struct mt_style *style, unsigned width)
{
    struct notes notes = {.fit = fit, .style = style, .width = width};
    size_t alike = 0;
    for (size_t card = 0; card < fit->job->n_cards; card++) {
        note_change(&notes, card);
        note_fullest(&notes, card);
        note_ruled(&notes, card);
        for (size_t line = 0; line < fit->job->n_lines; line++) {
            note_uneven(&notes, line, card);
            note_caught(&notes, line, card);
            alike += note_obstacle(&notes, line, card);
        }
    }
    if (alike)
        say(&notes, "%zu more that %s not known ended alike.", alike, alike == 1 ? "is" : "are");
    print(&notes);
    note_ranks(&notes);
    note_flushes(&notes);
    note_range(&notes);
    note_how(&notes);
    print_proof(&notes);
}
