/* SPDX-License-Identifier: Apache-2.0 */
#include "show.h"
#include "tools/memtap/fit/run/attempt.h"
#include "tools/memtap/fit/run/output.h"
#include "tools/memtap/terminal/command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_NAMED 6u /* most lines that are named */

struct notes {
    const struct mt_fit_answers *answers;
    const struct mt_job *job;
    const struct mt_style *style;
    unsigned width;
    char values[400], where[480]; /* list at most the last ones */
    char text[4000];              /* the current paragraph */
};

#define say(notes, ...) mt_text_append((notes)->text, sizeof(notes)->text, __VA_ARGS__)

/* Replace a list's last ';'. */
static void end_list(struct notes *notes, const char *end)
{
    size_t n = strlen(notes->text);
    if (n && notes->text[n - 1] == ';') {
        notes->text[n - 1] = '\0';
        say(notes, "%s", end);
    }
}

/* Print the paragraph and begin a new one. */
static void print(struct notes *notes)
{
    end_list(notes, ".");
    if (*notes->text)
        mt_put_wrapped(stdout, notes->text, notes->width, notes->style);
    *notes->text = '\0';
}

static const char *values_of(struct notes *notes, struct mt_choice choice)
{
    return mt_choice_text(notes->job, choice, notes->values, sizeof notes->values);
}

static const char *line_of(struct notes *notes, size_t line)
{
    return values_of(notes, (struct mt_choice){line, MT_NONE});
}

/* Return "h100, batch=64, ckpt=0"; MT_NONE: without the searched variable. */
static const char *where(struct notes *notes, const struct mt_fit_answer *answer, size_t at)
{
    const char *values = values_of(notes, (struct mt_choice){answer->line, at});
    snprintf(notes->where, sizeof notes->where, "%s%s%s", notes->job->card[answer->card].gpu->name,
             *values ? ", " : "", values);
    return notes->where;
}

static void say_run(struct notes *notes, const struct mt_attempt *attempt)
{
    char size[MT_SIZE_TEXT];
    const struct mt_outcome *outcome = attempt->outcome;
    say(notes, " %s ", values_of(notes, attempt->choice));
    if (outcome->end == MT_FIT_FITS)
        say(notes, "%s%s;", attempt->is_huge ? "uses " : "fits, ",
            mt_size_text(size, outcome->used));
    else
        say(notes, "%s;",
            outcome->end == MT_FIT_FULL ? "does not fit" : mt_fit_end_name(outcome->end));
}

static void note_uneven(struct notes *notes, const struct mt_fit_answer *answer)
{
    char hole[MT_VALUE_TEXT], fits[MT_VALUE_TEXT];
    const struct mt_fit *fit = notes->answers->fit;
    const struct mt_variable *searched = mt_job_searched(notes->job);
    if (!answer->is_uneven)
        return;
    say(notes, "%s: memory does not grow monotonically with %s: ", where(notes, answer, MT_NONE),
        searched->name);
    if (answer->search->hole == MT_NONE)
        say(notes, "other values may or may not fit. Runs:");
    else
        say(notes, "%s does not fit, though %s does; other values may behave the same. Runs:",
            mt_variable_text(searched, answer->search->hole, hole),
            mt_variable_text(searched, answer->search->fits, fits));
    for (size_t i = 0; i < fit->n_attempts; i++)
        if (fit->attempt[i].choice.line == answer->line &&
            (fit->attempt[i].is_huge || fit->attempt[i].card == answer->card))
            say_run(notes, &fit->attempt[i]);
    print(notes);
}

static void note_caught(struct notes *notes, const struct mt_fit_answer *answer)
{
    if (answer->was_caught)
        say(notes,
            "%s: does not fit: the program ran out of memory, caught the error, and continued or "
            "ended normally.",
            where(notes, answer, answer->search->fails));
    print(notes);
}

/* Note why an answer is unknown. Return true instead if an earlier run ended the same way. A
 * program that accepts no value is noted once for all cards. */
static bool note_obstacle(struct notes *notes, const struct mt_fit_answer *answer)
{
    char how[MT_OBSTACLE_TEXT], reason[1024];
    bool is_refused = answer->search->line->is_refused;
    const struct mt_outcome *outcome = answer->obstacle ? answer->obstacle->outcome : NULL;
    if (!outcome || (is_refused && answer->card))
        return false;
    for (const struct mt_fit_answer *before = notes->answers->of; before < answer; before++) {
        const struct mt_outcome *other = before->obstacle ? before->obstacle->outcome : NULL;
        if (other && other->end == outcome->end && other->exit_code == outcome->exit_code &&
            other->signal == outcome->signal && !strcmp(other->last, outcome->last))
            return true;
    }
    say(notes, "%s: the run %s",
        is_refused ? values_of(notes, answer->obstacle->choice)
                   : where(notes, answer, answer->obstacle->choice.at),
        mt_fit_obstacle_text(how, notes->job, outcome));
    if (outcome->end == MT_FIT_REFUSED && mt_job_searched(notes->job) && !is_refused)
        say(notes, "; if the program accepts only some values, name them (8..512+8)");
    bool is_reason = outcome->end == MT_FIT_BROKEN || outcome->end == MT_FIT_UNREADABLE;
    mt_safe_text(reason, sizeof reason, outcome->last, 0, MT_CUT_END, notes->style);
    if (is_reason && *reason)
        say(notes, ": %s.", reason);
    else
        say(notes, *outcome->last ? ". Its last lines:" : ".");
    print(notes);
    if (!is_reason)
        mt_output_print_last(outcome->last, stdout, notes->style);
    return false;
}

/* Name the lines that fit if only a few do. */
static void note_change(struct notes *notes, const struct mt_fit_answer *of)
{
    char room[MT_VALUE_TEXT];
    const struct mt_variable *searched = mt_job_searched(notes->job);
    size_t none = 0, fits = 0, n_lines = notes->job->n_lines;
    for (size_t line = 0; line < n_lines; line++) {
        fits += of[line].best != NULL;
        none += of[line].verdict == MT_VERDICT_NONE || of[line].verdict == MT_VERDICT_RULED;
    }
    if (none && fits && fits <= MOST_NAMED)
        say(notes, "%s: fits with", notes->job->card[of->card].gpu->name);
    for (size_t line = 0; *notes->text && line < n_lines; line++) {
        if (!of[line].best)
            continue;
        say(notes, " %s", line_of(notes, line));
        if (searched)
            say(notes, " (%s up to %s)", searched->name,
                mt_variable_text(searched, of[line].largest, room));
        say(notes, ";");
    }
    print(notes);
}

/* Return the line that leaves the least of a card; NULL: lines have their own borders. */
static const struct mt_fit_answer *find_named(const struct mt_fit_answers *answers, size_t card)
{
    bool has_borders = mt_job_searched(answers->job) || answers->job->n_lines < 2;
    return has_borders ? NULL : mt_fit_answers_fullest(answers, card);
}

static void note_fullest(struct notes *notes, size_t card)
{
    char size[MT_SIZE_TEXT];
    const struct mt_fit_answer *answer = find_named(notes->answers, card);
    if (answer)
        say(notes, "Nearest to full: %s with %s (%.1f %%).", where(notes, answer, MT_NONE),
            mt_size_text(size, answer->best->used),
            100.0 * (double)answer->best->used / (double)notes->job->card[card].memory);
    print(notes);
}

/* Write the axes along which memory falls: "tp and dp". */
static void say_axes(struct notes *notes)
{
    const struct mt_axis *axis = notes->answers->fit->axis;
    unsigned left = 0, pairs = 0;
    for (size_t i = 0; i < notes->job->n_variables; i++) {
        left += mt_axis_falls(&axis[i]);
        pairs += mt_axis_falls(&axis[i]) ? axis[i].falls : 0;
    }
    for (size_t i = 0; i < notes->job->n_variables; i++)
        if (mt_axis_falls(&axis[i]))
            say(notes, "%s%s", notes->job->variable[i].name,
                !--left     ? ""
                : left == 1 ? " and "
                            : ", ");
    say(notes, " (%u pair%s of runs)", pairs, pairs == 1 ? "" : "s");
}

/* Note which layouts were ruled out without a run, grouped by the layout that rules them out. */
static void note_ruled(struct notes *notes, const struct mt_fit_answer *of)
{
    for (size_t by = 0; by < notes->job->n_lines; by++) {
        char end[480] = "";
        for (size_t line = 0; line < notes->job->n_lines; line++) {
            if (of[line].search->ruled_by != by)
                continue;
            if (!*notes->text) {
                say(notes, "%s: memory falls with more ", notes->job->card[of->card].gpu->name);
                say_axes(notes);
                say(notes, ". Ruled out without a run:");
            }
            say(notes, " %s;", line_of(notes, line));
            snprintf(end, sizeof end, " (because %s does not fit);", line_of(notes, by));
        }
        if (*end)
            end_list(notes, end);
    }
    print(notes);
}

/* Note which ranks a line's answer is based on. */
static void note_ranks(struct notes *notes)
{
    char world[MT_SIZE_TEXT];
    unsigned granted = 0;
    for (size_t line = 0; line < notes->job->n_lines; line++) {
        const struct mt_line_ranks *ranks = &notes->answers->fit->line[line].ranks;
        const struct mt_rank_kinds *kinds = &ranks->kinds;
        if (!ranks->is_found)
            continue;
        say(notes, "%s%s%s%s of %u kind%s (%u runs), rank %u uses most",
            *notes->text ? " " : "Ranks, from runs of some: ", line_of(notes, line),
            notes->job->n_lines > 1 ? ": " : "", mt_count_text(world, kinds->world), kinds->n_kinds,
            kinds->n_kinds == 1 ? "" : "s", kinds->n_known, ranks->rank[0]);
        if (kinds->unknown)
            say(notes, ", %u unknown: too many differ", kinds->unknown);
        say(notes, ";");
        granted += kinds->n_known < kinds->world && !kinds->unknown;
    }
    print(notes);
    if (granted)
        say(notes, "Assumed: ranks between two identical ranks on an axis are identical to them.");
    print(notes);
}

/* Note what fits only after PyTorch emptied its cache. */
static void note_flushes(struct notes *notes)
{
    for (size_t i = 0; i < notes->answers->n; i++) {
        const struct mt_fit_answer *answer = &notes->answers->of[i];
        if (!answer->best || !answer->best->flushes)
            continue;
        say(notes, "%s%s",
            *notes->text ? " " : "To fit, PyTorch emptied its cache, which takes time: ",
            where(notes, answer, answer->largest));
        say(notes, answer->best->flushes == 1 ? " once;" : " %llu times;",
            (unsigned long long)answer->best->flushes);
    }
    print(notes);
}

/* Note once which workspaces the peaks lack, or which cuDNN answered for them. */
static void note_workspaces(struct notes *notes)
{
    for (size_t i = 0; i < notes->answers->n; i++) {
        const struct mt_outcome *best = notes->answers->of[i].best;
        if (best && best->workspaces && *best->workspaces) {
            say(notes, "%s.", best->workspaces);
            break;
        }
        if (best && *best->cudnn) {
            say(notes, "Simulated with %s.", best->cudnn);
            break;
        }
    }
    print(notes);
}

/* Note once how much memory handles use, and how sure that is. */
static void note_handles(struct notes *notes)
{
    char size[MT_SIZE_TEXT];
    uint64_t most = 0;
    bool is_estimate = false;
    for (size_t i = 0; i < notes->answers->n; i++) {
        const struct mt_outcome *best = notes->answers->of[i].best;
        if (!best || !best->handles)
            continue;
        most = best->handles > most ? best->handles : most;
        is_estimate |= notes->job->card[notes->answers->of[i].card].gpu->major != 9;
    }
    if (most)
        say(notes, "Handles of cuBLAS, cuDNN and cuSOLVER use up to %s of a card%s.",
            mt_size_text(size, most),
            is_estimate ? " (measured on an H100; an estimate for other cards)" : "");
    print(notes);
}

/* Note where the range ends before the border. */
static void note_range(struct notes *notes)
{
    char room[MT_VALUE_TEXT];
    const struct mt_variable *searched = mt_job_searched(notes->job);
    for (size_t i = 0; searched && i < notes->answers->n; i++) {
        if (notes->answers->of[i].verdict != MT_VERDICT_ALL)
            continue;
        if (!*notes->text)
            say(notes, "%s=%s, the end of the range, still fits", searched->name,
                mt_variable_text(searched, searched->n - 1, room));
        say(notes, " %s;", where(notes, &notes->answers->of[i], MT_NONE));
    }
    end_list(notes, ". Try a larger range.");
    print(notes);
}

static void note_how(struct notes *notes)
{
    char time[MT_SIZE_TEXT];
    const struct mt_fit *fit = notes->answers->fit;
    unsigned stopped = 0;
    for (size_t i = 0; i < fit->n_attempts; i++)
        stopped += fit->attempt[i].outcome->was_stopped && !fit->attempt[i].outcome->fills_card;
    mt_time_text(time, (uint64_t)(fit->seconds * 1e9));
    say(notes, "%zu run%s in %s", fit->n_attempts, fit->n_attempts == 1 ? "" : "s", time);
    if (fit->most_at_once > 1)
        say(notes, ", %u at a time", fit->most_at_once);
    if (stopped && notes->job->steps)
        say(notes, "; ended after %u iterations", notes->job->steps);
    else if (stopped)
        say(notes, "; %u of them ended when the iterations repeated", stopped);
    say(notes, stopped ? ", so later phases were not run (--steps all)." : ".");
    print(notes);
}

/* Print a command that repeats the last border found, of those that the notes name if any. */
static void print_proof(const struct mt_fit_answers *answers)
{
    const struct mt_attempt *shown = NULL;
    for (size_t i = 0; i < answers->fit->n_attempts; i++) {
        const struct mt_attempt *attempt = &answers->fit->attempt[i];
        const struct mt_fit_answer *answer = mt_fit_answer_of(answers, attempt->card,
                                                              attempt->choice.line),
                                   *named = find_named(answers, attempt->card);
        if (answer->best == attempt->outcome && (!named || named == answer))
            shown = attempt;
    }
    char *line = shown ? mt_attempt_line(shown, answers->job) : NULL;
    if (line) {
        fputs("To reproduce: ", stdout);
        mt_print_text(line);
        putchar('\n');
    }
    free(line);
}

void mt_fit_print_notes(const struct mt_fit_answers *answers, const struct mt_style *style,
                        unsigned width)
{
    struct notes notes = {.answers = answers, .job = answers->job, .style = style, .width = width};
    size_t alike = 0;
    for (size_t card = 0; card < answers->job->n_cards; card++) {
        const struct mt_fit_answer *of = mt_fit_answer_of(answers, card, 0);
        note_change(&notes, of);
        note_fullest(&notes, card);
        note_ruled(&notes, of);
        for (size_t line = 0; line < answers->job->n_lines; line++) {
            note_uneven(&notes, &of[line]);
            note_caught(&notes, &of[line]);
            alike += note_obstacle(&notes, &of[line]);
        }
    }
    if (alike)
        say(&notes, "%zu more with unknown results ended the same way.", alike);
    print(&notes);
    note_ranks(&notes);
    note_flushes(&notes);
    note_workspaces(&notes);
    note_handles(&notes);
    note_range(&notes);
    note_how(&notes);
    print_proof(answers);
}
