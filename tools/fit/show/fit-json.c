/* SPDX-License-Identifier: Apache-2.0 */
#include "analyzer/print/json.h"
#include "show.h"

#include <errno.h>

/* {"batch": 64, "ckpt": "0"}: numbers where they are whole ones. */
static json_t *json_choice(const struct mt_job *job, struct mt_choice choice)
{
    json_t *object = json_object();
    char room[MT_VALUE_TEXT];
    uint64_t number;
    for (size_t i = 0; i < job->n_variables; i++) {
        const struct mt_variable *variable = &job->variable[i];
        size_t at = mt_job_value(job, choice, i);
        json_t *value = mt_variable_number(variable, at, &number)
                            ? mt_json_number(number)
                            : mt_json_text(mt_variable_text(variable, at, room));
        json_object_set_new(object, variable->name, value);
    }
    return object;
}

static json_t *json_position(const struct mt_job *job, size_t line, size_t position)
{
    return position == MT_NONE ? json_null() : json_choice(job, (struct mt_choice){line, position});
}

static json_t *json_run(const struct mt_fit *fit, const struct mt_attempt *attempt)
{
    const struct mt_outcome *outcome = attempt->outcome;
    json_t *run = json_object();
    char *line = mt_attempt_line(attempt, fit->job);
    json_object_set_new(run, "card",
                        attempt->is_huge ? json_null()
                                         : json_string(fit->job->card[attempt->card].gpu->name));
    json_object_set_new(run, "values", json_choice(fit->job, attempt->choice));
    json_object_set_new(run, "ended", json_string(mt_fit_end_name(outcome->end)));
    json_object_set_new(run, "exit_code",
                        outcome->exit_code ? json_integer(outcome->exit_code) : json_null());
    json_object_set_new(run, "signal",
                        outcome->signal ? json_integer(outcome->signal) : json_null());
    json_object_set_new(run, "caught", json_boolean(outcome->was_caught));
    json_object_set_new(run, "stopped", json_boolean(outcome->was_stopped));
    json_object_set_new(run, "iterations", json_integer(outcome->iterations));
    json_object_set_new(run, "peak_used", mt_json_number(outcome->used));
    json_object_set_new(run, "peak_reserved", mt_json_number(outcome->reserved));
    json_object_set_new(run, "peak_allocated", mt_json_number(outcome->allocated));
    json_object_set_new(run, "cache_flushes", mt_json_number(outcome->flushes));
    json_object_set_new(run, "host_memory", mt_json_number(outcome->host));
    json_object_set_new(run, "seconds", json_real((double)outcome->wall_ns / 1e9));
    json_object_set_new(run, "last_lines",
                        outcome->end == MT_FIT_FITS ? json_null() : mt_json_text(outcome->last));
    json_object_set_new(run, "command", line ? mt_json_text(line) : json_null());
    free(line);
    return run;
}

static json_t *json_line(const struct mt_fit *fit, size_t line, size_t card)
{
    static const char *const verdicts[] = {"border", "always", "never", "not known"};
    const struct mt_card_search *search = mt_fit_search(fit, line, card);
    const struct mt_outcome *best = mt_fit_best(fit, line, card);
    json_t *object = json_object();
    json_object_set_new(object, "fits", json_position(fit->job, line, mt_search_largest(search)));
    json_object_set_new(object, "fails", json_position(fit->job, line, search->fails));
    json_object_set_new(object, "verdict", json_string(verdicts[mt_fit_verdict(fit, line, card)]));
    json_object_set_new(object, "peak_reserved",
                        best ? mt_json_number(best->reserved) : json_null());
    json_object_set_new(object, "peak_used", best ? mt_json_number(best->used) : json_null());
    json_object_set_new(object, "runs", json_integer((json_int_t)mt_fit_runs(fit, line, card)));
    json_object_set_new(object, "monotonous", json_boolean(!mt_fit_is_uneven(fit, line, card)));
    json_object_set_new(object, "caught",
                        json_boolean(search->fails != MT_NONE && search->at_fail.was_caught));
    return object;
}

/* What a line is compared by: the searched value; of a single list of numbers, its own. */
static uint64_t rank_of(const struct mt_fit *fit, size_t line, size_t card)
{
    uint64_t number = 0;
    const struct mt_job *job = fit->job;
    if (job->searched >= 0)
        mt_variable_number(&job->variable[job->searched],
                           mt_search_largest(mt_fit_search(fit, line, card)), &number);
    else if (job->n_variables == 1)
        mt_variable_number(&job->variable[0], line, &number);
    return number;
}

/* The line that a card's own "fits" is of: the largest value; of equal ones, the first. */
static size_t best_line(const struct mt_fit *fit, size_t card)
{
    size_t best = MT_NONE;
    for (size_t line = 0; line < fit->job->n_lines; line++)
        if (mt_fit_best(fit, line, card) &&
            (best == MT_NONE || rank_of(fit, line, card) > rank_of(fit, best, card)))
            best = line;
    return best == MT_NONE ? 0 : best;
}

/* Of a single list, the value after the largest that fits; of others, that of the same line. */
static json_t *json_fails(const struct mt_fit *fit, size_t line, size_t card)
{
    size_t next = MT_NONE;
    int fits = mt_fit_best(fit, line, card) != NULL;
    if (fit->job->searched >= 0 || fit->job->n_variables != 1)
        return json_position(fit->job, line, mt_fit_search(fit, line, card)->fails);
    for (size_t i = 0; i < fit->job->n_lines; i++)
        if (mt_fit_verdict(fit, i, card) == MT_VERDICT_NONE &&
            (!fits || rank_of(fit, i, card) > rank_of(fit, line, card)) &&
            (next == MT_NONE || rank_of(fit, i, card) < rank_of(fit, next, card)))
            next = i;
    return next == MT_NONE ? json_null() : json_position(fit->job, next, 0);
}

static json_t *json_card(const struct mt_fit *fit, size_t card)
{
    size_t line = best_line(fit, card);
    json_t *object = json_line(fit, line, card), *frontier = json_array();
    unsigned runs = 0;
    for (size_t i = 0; i < fit->job->n_lines; i++) {
        json_array_append_new(frontier, json_line(fit, i, card));
        runs += mt_fit_runs(fit, i, card);
    }
    json_object_set_new(object, "card", json_string(fit->job->card[card].gpu->name));
    json_object_set_new(object, "fails", json_fails(fit, line, card));
    json_object_set_new(object, "memory", mt_json_number(fit->job->card[card].memory));
    json_object_set_new(object, "runs", json_integer((json_int_t)runs));
    json_object_set_new(object, "frontier", frontier);
    return object;
}

static json_t *json_vary(const struct mt_variable *variable, int is_searched)
{
    char room[MT_VALUE_TEXT];
    json_t *object = json_object();
    json_object_set_new(object, "name", json_string(variable->name));
    json_object_set_new(object, "searched", json_boolean(is_searched));
    json_object_set_new(object, "environment", json_boolean(variable->is_environment));
    json_object_set_new(object, "first", mt_json_text(mt_variable_text(variable, 0, room)));
    json_object_set_new(object, "last",
                        mt_json_text(mt_variable_text(variable, variable->n - 1, room)));
    json_object_set_new(object, "values", mt_json_number(variable->n));
    return object;
}

static json_t *json_words(const struct mt_job *job)
{
    json_t *array = json_array();
    for (size_t i = 0; i < job->n_words; i++)
        json_array_append_new(array, mt_json_text(job->words[i]));
    return array;
}

int mt_fit_json(const struct mt_fit *fit)
{
    const struct mt_job *job = fit->job;
    json_t *object = json_object(), *cards = json_array(), *runs = json_array(),
           *vary = json_array();
    for (size_t i = 0; i < job->n_cards; i++)
        json_array_append_new(cards, json_card(fit, i));
    for (size_t i = 0; i < fit->n_attempts; i++)
        json_array_append_new(runs, json_run(fit, &fit->attempt[i]));
    for (size_t i = 0; i < job->n_variables; i++)
        json_array_append_new(vary, json_vary(&job->variable[i], (int)i == job->searched));
    json_object_set_new(object, "schema", json_string("memtap.fit/1"));
    json_object_set_new(object, "command", json_words(job));
    json_object_set_new(object, "vary", vary);
    json_object_set_new(object, "fraction", json_real(job->fraction));
    json_object_set_new(object, "cards", cards);
    json_object_set_new(object, "runs", runs);
    json_object_set_new(object, "seconds", json_real(fit->seconds));
    return mt_json_print(stdout, object, 0);
}
