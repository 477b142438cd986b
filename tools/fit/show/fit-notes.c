/* SPDX-License-Identifier: Apache-2.0 */
#include "fit-text.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct notes {
    const struct mt_fit *fit;
    const struct mt_style *style;
    unsigned width;
};

/* A sentence that grows. */
struct sentence {
    char text[4000];
    size_t used;
};

__attribute__((format(printf, 2, 3))) static void say(struct sentence *sentence, const char *format,
                                                      ...)
{
    va_list arguments;
    va_start(arguments, format);
    if (sentence->used < sizeof sentence->text)
        sentence->used +=
            (size_t)vsnprintf(sentence->text + sentence->used,
                              sizeof sentence->text - sentence->used, format, arguments);
    va_end(arguments);
}

static void put(const struct notes *notes, struct sentence *sentence)
{
    if (sentence->used)
        mt_put_wrapped(stdout, sentence->text, notes->width, notes->style);
}

/* "h100, batch=64, ckpt=0" */
static void say_where(struct sentence *sentence, const struct mt_fit *fit, size_t card,
                      struct mt_choice choice, enum mt_choice_part part)
{
    char values[400];
    mt_choice_text(fit->job, choice, part, values, sizeof values);
    say(sentence, "%s%s%s", fit->job->card[card].gpu->name, *values ? ", " : "", values);
}

static void say_run(struct sentence *sentence, const struct mt_fit *fit,
                    const struct mt_attempt *attempt)
{
    char values[400], size[MT_SIZE_TEXT];
    const struct mt_outcome *outcome = attempt->outcome;
    mt_choice_text(fit->job, attempt->choice, MT_CHOICE_ALL, values, sizeof values);
    mt_size_text(size, outcome->used);
    if (outcome->end == MT_FIT_FITS)
        say(sentence, " %s %s%s;", values, attempt->is_huge ? "takes " : "fits, ", size);
    else
        say(sentence, " %s %s;", values,
            outcome->end == MT_FIT_FULL ? "does not fit" : mt_fit_end_name(outcome->end));
}

static void end_list(struct sentence *sentence)
{
    if (sentence->used && sentence->used < sizeof sentence->text)
        sentence->text[sentence->used - 1] = '.';
}

static void say_uneven(struct sentence *sentence, const struct mt_fit *fit, size_t line,
                       size_t card)
{
    char hole[MT_VALUE_TEXT], fits[MT_VALUE_TEXT];
    const struct mt_card_search *search = mt_fit_search(fit, line, card);
    const struct mt_variable *variable = &fit->job->variable[fit->job->searched];
    if (search->hole == MT_NONE)
        say(sentence, ": memory is not monotonous in %s: other values may fit, or not.",
            variable->name);
    else
        say(sentence,
            ": memory is not monotonous in %s: there are several borders. %s does not fit, though "
            "%s does; that may be so of other values, too.",
            variable->name, mt_variable_text(variable, search->hole, hole),
            mt_variable_text(variable, search->fits, fits));
}

static void note_uneven(const struct notes *notes, size_t line, size_t card)
{
    const struct mt_fit *fit = notes->fit;
    struct sentence sentence = {.used = 0};
    if (!mt_fit_is_uneven(fit, line, card))
        return;
    say_where(&sentence, fit, card, (struct mt_choice){line, 0}, MT_CHOICE_LINE);
    say_uneven(&sentence, fit, line, card);
    say(&sentence, " Runs:");
    for (size_t i = 0; i < fit->n_attempts; i++)
        if (fit->attempt[i].choice.line == line &&
            (fit->attempt[i].is_huge || fit->attempt[i].card == card))
            say_run(&sentence, fit, &fit->attempt[i]);
    end_list(&sentence);
    put(notes, &sentence);
}

static void note_caught(const struct notes *notes, size_t line, size_t card)
{
    const struct mt_card_search *search = mt_fit_search(notes->fit, line, card);
    struct sentence sentence = {.used = 0};
    if (search->fails == MT_NONE || !search->at_fail.was_caught)
        return;
    say_where(&sentence, notes->fit, card, (struct mt_choice){line, search->fails}, MT_CHOICE_ALL);
    say(&sentence,
        ": the program caught an out-of-memory error and continued, or ended well; that counts as "
        "not fitting.");
    put(notes, &sentence);
}

/* Where it only just fits. */
static void note_flushes(const struct notes *notes)
{
    const struct mt_fit *fit = notes->fit;
    struct sentence sentence = {.used = 0};
    for (size_t card = 0; card < fit->job->n_cards; card++)
        for (size_t line = 0; line < fit->job->n_lines; line++) {
            const struct mt_outcome *best = mt_fit_best(fit, line, card);
            size_t at = mt_search_largest(mt_fit_search(fit, line, card));
            if (!best || !best->flushes)
                continue;
            say(&sentence,
                sentence.used ? " " : "To fit, PyTorch gave its cache back, which takes time: ");
            say_where(&sentence, fit, card, (struct mt_choice){line, at}, MT_CHOICE_ALL);
            say(&sentence, best->flushes == 1 ? " once;" : " %llu times;",
                (unsigned long long)best->flushes);
        }
    end_list(&sentence);
    put(notes, &sentence);
}

static void put_last_lines(const struct notes *notes, const char *at)
{
    while (*at) {
        char line[512], safe[1536];
        size_t n = strcspn(at, "\n");
        snprintf(line, sizeof line, "%.*s", (int)n, at);
        mt_safe_text(safe, sizeof safe, line, 0, MT_CUT_END, notes->style);
        printf("    %s\n", safe);
        at += n + (at[n] == '\n');
    }
}

/* The run that showed neither, or NULL. Where the program takes no value at all, that is so on
 * every card. */
static const struct mt_outcome *find_obstacle(const struct mt_fit *fit, size_t line, size_t card,
                                              struct mt_choice *choice)
{
    bool is_open = mt_fit_verdict(fit, line, card) == MT_VERDICT_OPEN;
    return is_open && !(fit->line[line].is_refused && card)
               ? mt_fit_obstacle(fit, line, card, choice)
               : NULL;
}

/* Whether a run that was told of before ended in the same way. */
static bool was_told(const struct mt_fit *fit, size_t line, size_t card,
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

/* Returns whether it is one more of those that ended alike. */
static bool note_obstacle(const struct notes *notes, size_t line, size_t card)
{
    char how[MT_OBSTACLE_TEXT], values[400];
    const struct mt_fit *fit = notes->fit;
    struct sentence sentence = {.used = 0};
    struct mt_choice choice;
    const struct mt_outcome *outcome = find_obstacle(fit, line, card, &choice);
    if (!outcome || was_told(fit, line, card, outcome))
        return outcome;
    if (fit->line[line].is_refused)
        say(&sentence, "%s",
            mt_choice_text(fit->job, choice, MT_CHOICE_ALL, values, sizeof values));
    else
        say_where(&sentence, fit, card, choice, MT_CHOICE_ALL);
    say(&sentence, ": the run %s", mt_fit_obstacle_text(how, fit, outcome));
    if (outcome->end == MT_FIT_REFUSED && fit->job->searched >= 0 && !fit->line[line].is_refused)
        say(&sentence, "; if the program takes only some values, name them (8..512+8)");
    say(&sentence, *outcome->last ? ". Its last lines:" : ".");
    put(notes, &sentence);
    put_last_lines(notes, outcome->last);
    return false;
}

static void note_alike(const struct notes *notes, size_t alike)
{
    struct sentence sentence = {.used = 0};
    if (alike)
        say(&sentence, "%zu more that %s not known ended alike.", alike, alike == 1 ? "is" : "are");
    put(notes, &sentence);
}

/* Where some lines fit and others do not: what to change. */
static void note_change(const struct notes *notes, size_t card)
{
    char values[400], room[MT_VALUE_TEXT];
    const struct mt_fit *fit = notes->fit;
    struct sentence sentence = {.used = 0};
    size_t none = 0;
    for (size_t line = 0; line < fit->job->n_lines; line++)
        none += mt_fit_verdict(fit, line, card) == MT_VERDICT_NONE;
    for (size_t line = 0; none && line < fit->job->n_lines; line++) {
        size_t at = mt_search_largest(mt_fit_search(fit, line, card));
        if (at == MT_NONE)
            continue;
        if (!sentence.used)
            say(&sentence, "%s: it fits with", fit->job->card[card].gpu->name);
        say(&sentence, " %s",
            mt_choice_text(fit->job, (struct mt_choice){line, at}, MT_CHOICE_LINE, values,
                           sizeof values));
        if (fit->job->searched >= 0)
            say(&sentence, " (%s up to %s)", fit->job->variable[fit->job->searched].name,
                mt_variable_text(&fit->job->variable[fit->job->searched], at, room));
        say(&sentence, ";");
    }
    end_list(&sentence);
    put(notes, &sentence);
}

/* Where the end of the range is no border. */
static void note_range(const struct notes *notes)
{
    char room[MT_VALUE_TEXT];
    const struct mt_fit *fit = notes->fit;
    struct sentence sentence = {.used = 0};
    if (fit->job->searched < 0 || !fit->job->variable[fit->job->searched].is_ordered)
        return;
    const struct mt_variable *variable = &fit->job->variable[fit->job->searched];
    for (size_t card = 0; card < fit->job->n_cards; card++)
        for (size_t line = 0; line < fit->job->n_lines; line++) {
            if (mt_fit_verdict(fit, line, card) != MT_VERDICT_ALL)
                continue;
            if (!sentence.used)
                say(&sentence, "%s=%s, the end of the range, still fits", variable->name,
                    mt_variable_text(variable, variable->n - 1, room));
            say(&sentence, " ");
            say_where(&sentence, fit, card, (struct mt_choice){line, 0}, MT_CHOICE_LINE);
            say(&sentence, ";");
        }
    end_list(&sentence);
    if (sentence.used)
        say(&sentence, " A larger range shows the border.");
    put(notes, &sentence);
}

static void note_how(const struct notes *notes)
{
    char time[MT_SIZE_TEXT];
    const struct mt_fit *fit = notes->fit;
    struct sentence sentence = {.used = 0};
    unsigned stopped = 0;
    for (size_t i = 0; i < fit->n_attempts; i++)
        stopped += fit->attempt[i].outcome->was_stopped != 0;
    mt_time_text(time, (uint64_t)(fit->seconds * 1e9));
    say(&sentence, "%zu run%s in %s", fit->n_attempts, fit->n_attempts == 1 ? "" : "s", time);
    if (fit->most_at_once > 1)
        say(&sentence, ", %u at a time", fit->most_at_once);
    if (stopped && fit->job->steps)
        say(&sentence, "; they ended after %u iterations", fit->job->steps);
    else if (stopped)
        say(&sentence, "; %u of them ended when the iterations repeated", stopped);
    say(&sentence, stopped ? ", so that later phases were not seen (--steps all)." : ".");
    put(notes, &sentence);
}

/* The border that was found last, as a command to repeat it. */
static void put_proof(const struct notes *notes)
{
    const struct mt_fit *fit = notes->fit;
    const struct mt_attempt *shown = NULL;
    for (size_t i = 0; i < fit->n_attempts; i++) {
        const struct mt_attempt *attempt = &fit->attempt[i];
        if (!attempt->is_huge && attempt->outcome->end == MT_FIT_FITS &&
            attempt->choice.at ==
                mt_search_largest(mt_fit_search(fit, attempt->choice.line, attempt->card)))
            shown = attempt;
    }
    char *line = shown ? mt_attempt_line(shown, fit->job) : NULL;
    char *safe = line ? malloc(3 * strlen(line) + 1) : NULL;
    if (safe) {
        mt_safe_text(safe, 3 * strlen(line) + 1, line, 0, MT_CUT_END, notes->style);
        printf("To repeat one: %s\n", safe);
    }
    free(safe);
    free(line);
}

void mt_fit_put_notes(const struct mt_fit *fit, const struct mt_style *style, unsigned width)
{
    const struct notes notes = {fit, style, width};
    size_t alike = 0;
    for (size_t card = 0; card < fit->job->n_cards; card++) {
        note_change(&notes, card);
        for (size_t line = 0; line < fit->job->n_lines; line++) {
            note_uneven(&notes, line, card);
            note_caught(&notes, line, card);
            alike += note_obstacle(&notes, line, card);
        }
    }
    note_alike(&notes, alike);
    note_flushes(&notes);
    note_range(&notes);
    note_how(&notes);
    put_proof(&notes);
}
