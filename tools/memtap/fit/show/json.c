/* SPDX-License-Identifier: Apache-2.0 */
#include "analyzer/print/json.h"
#include "show.h"

/* Make {"batch": 64, "ckpt": "0"}, with numbers for integers; null without a line or position. */
static json_t *json_choice(const struct mt_job *job, size_t line, size_t position)
{
    bool is_none = line == MT_NONE || position == MT_NONE;
    json_t *object = is_none ? json_null() : json_object();
    struct mt_choice choice = {line, position};
    char room[MT_VALUE_TEXT];
    uint64_t number;
    for (size_t i = 0; i < job->n_variables && !is_none; i++)
        json_object_set_new(object, job->variable[i].name,
                            mt_choice_number(job, choice, i, &number)
                                ? mt_json_number(number)
                                : mt_json_text(mt_choice_value(job, choice, i, room)));
    return object;
}

/* Return the ranks that were run alone; null: the whole job. */
static json_t *json_ranks_of(const struct mt_attempt *attempt)
{
    json_t *ranks = attempt->n_ranks ? json_array() : json_null();
    for (unsigned i = 0; i < attempt->n_ranks; i++)
        json_array_append_new(ranks, json_integer(attempt->rank[i]));
    return ranks;
}

/* Return the kinds of ranks, the highest peak first; null if they were not searched. */
static json_t *json_kinds(const struct mt_line_ranks *ranks)
{
    json_t *kinds = ranks->is_found ? json_array() : json_null();
    for (unsigned i = 0; ranks->is_found && i < ranks->kinds.n_kinds; i++) {
        const struct mt_rank_kind *kind = &ranks->kinds.kind[i];
        json_array_append_new(
            kinds, json_pack("{s:i, s:i, s:i, s:o, s:o}", "rank", (int)kind->first->rank,
                             "stands_for", (int)kind->stands, "runs", (int)kind->runs, "peak_used",
                             mt_json_number(kind->first->outcome->used), "peak_allocated",
                             mt_json_number(kind->first->outcome->allocated)));
    }
    return kinds;
}

static json_t *json_run(const struct mt_job *job, const struct mt_attempt *attempt)
{
    const struct mt_outcome *outcome = attempt->outcome;
    const char *card = attempt->is_huge ? "" : job->card[attempt->card].gpu->name;
    char *line = mt_attempt_line(attempt, job);
    json_t *run = json_pack(
        "{s:o, s:o, s:o, s:s, s:o, s:o, s:b, s:b, s:b, s:i, s:o, s:o, s:o, s:o, s:o, s:o, s:f, "
        "s:o, s:o}",
        "card", mt_json_text_or_null(card), "ranks", json_ranks_of(attempt), "values",
        json_choice(job, attempt->choice.line, attempt->choice.at), "ended",
        mt_fit_end_name(outcome->end), "exit_code",
        mt_json_number_or_null((uint64_t)outcome->exit_code), "signal",
        mt_json_number_or_null((uint64_t)outcome->signal), "caught", outcome->was_caught, "stopped",
        outcome->was_stopped, "takes_all", outcome->fills_card, "iterations",
        (int)outcome->iterations, "peak_used", mt_json_number(outcome->used), "peak_reserved",
        mt_json_number(outcome->reserved), "peak_allocated", mt_json_number(outcome->allocated),
        "handles", mt_json_number(outcome->handles), "cache_flushes",
        mt_json_number(outcome->flushes), "host_memory", mt_json_number(outcome->host), "seconds",
        (double)outcome->wall_ns / 1e9, "last_lines",
        outcome->end == MT_FIT_FITS ? json_null() : mt_json_text(outcome->last), "command",
        line ? mt_json_text(line) : json_null());
    free(line);
    return run;
}

static json_t *json_answer(const struct mt_job *job, const struct mt_fit_answer *answer)
{
    static const char *const verdicts[] = {
#define MT_FIT_NAME(id, name) name,
        MT_FIT_VERDICTS(MT_FIT_NAME)
#undef MT_FIT_NAME
    };
    const struct mt_card_search *search = answer->search;
    const struct mt_outcome *best = answer->best;
    return json_pack(
        "{s:o, s:o, s:s, s:o, s:o, s:i, s:b, s:b, s:o, s:o}", "fits",
        json_choice(job, answer->line, answer->largest), "fails",
        json_choice(job, answer->line, search->fails), "verdict", verdicts[answer->verdict],
        "peak_reserved", best ? mt_json_number(best->reserved) : json_null(), "peak_used",
        best ? mt_json_number(best->used) : json_null(), "runs", (int)answer->runs, "monotonous",
        !answer->is_uneven, "caught", answer->was_caught, "ruled_out_by",
        json_choice(job, search->ruled_by, 0), "kinds", json_kinds(&search->line->ranks));
}

/* Return the value by which answers are compared: the searched one, or that of a single list of
 * numbers. */
static uint64_t number_of(const struct mt_job *job, const struct mt_fit_answer *answer)
{
    uint64_t number = 0;
    if (job->searched >= 0)
        return mt_job_searched_value(job, answer->largest);
    if (job->n_variables == 1)
        mt_variable_number(&job->variable[0], answer->line, &number);
    return number;
}

/* Return the answer for a card's "fits": the largest value, or the first of equal ones. */
static const struct mt_fit_answer *find_best(const struct mt_fit_answers *answers, size_t card)
{
    const struct mt_fit_answer *first = mt_fit_answer_of(answers, card, 0), *best = first;
    for (size_t line = 1; line < answers->job->n_lines; line++)
        if (first[line].best &&
            (!best->best || number_of(answers->job, &first[line]) > number_of(answers->job, best)))
            best = &first[line];
    return best;
}

/* Make "fails": for a single list, the value after the largest that fits; else that of the same
 * line. */
static json_t *json_fails(const struct mt_fit_answers *answers, const struct mt_fit_answer *best)
{
    const struct mt_job *job = answers->job;
    const struct mt_fit_answer *first = mt_fit_answer_of(answers, best->card, 0), *next = NULL;
    if (job->searched >= 0 || job->n_variables != 1)
        return json_choice(job, best->line, best->search->fails);
    for (const struct mt_fit_answer *answer = first; answer < first + job->n_lines; answer++)
        if (answer->verdict == MT_VERDICT_NONE &&
            (!best->best || number_of(job, answer) > number_of(job, best)) &&
            (!next || number_of(job, answer) < number_of(job, next)))
            next = answer;
    return json_choice(job, next ? next->line : MT_NONE, 0);
}

static json_t *json_card(const struct mt_fit_answers *answers, size_t card)
{
    const struct mt_job *job = answers->job;
    const struct mt_fit_answer *best = find_best(answers, card),
                               *fullest = mt_fit_answers_fullest(answers, card);
    json_t *object = json_answer(job, best), *frontier = json_array();
    unsigned runs = 0;
    for (size_t line = 0; line < job->n_lines; line++) {
        json_array_append_new(frontier, json_answer(job, mt_fit_answer_of(answers, card, line)));
        runs += mt_fit_answer_of(answers, card, line)->runs;
    }
    json_t *own =
        json_pack("{s:o, s:o, s:o, s:i, s:o, s:o}", "card", mt_json_text(job->card[card].gpu->name),
                  "fails", json_fails(answers, best), "memory",
                  mt_json_number(job->card[card].memory), "runs", (int)runs, "fullest",
                  fullest ? json_choice(job, fullest->line, fullest->largest) : json_null(),
                  "frontier", frontier);
    json_object_update_new(object, own);
    return object;
}

static json_t *json_vary(const struct mt_variable *variable, bool is_searched)
{
    char first[MT_VALUE_TEXT], last[MT_VALUE_TEXT];
    return json_pack("{s:s, s:b, s:b, s:o, s:o, s:o}", "name", variable->name, "searched",
                     is_searched, "environment", variable->is_environment, "first",
                     mt_json_text(mt_variable_text(variable, 0, first)), "last",
                     mt_json_text(mt_variable_text(variable, variable->n - 1, last)), "values",
                     mt_json_number(variable->n));
}

int mt_fit_print_json(const struct mt_fit_answers *answers)
{
    const struct mt_fit *fit = answers->fit;
    const struct mt_job *job = fit->job;
    json_t *cards = json_array(), *runs = json_array(), *vary = json_array(), *words = json_array();
    for (size_t i = 0; i < job->n_words; i++)
        json_array_append_new(words, mt_json_text(job->words[i]));
    for (size_t i = 0; i < job->n_cards; i++)
        json_array_append_new(cards, json_card(answers, i));
    for (size_t i = 0; i < fit->n_attempts; i++)
        json_array_append_new(runs, json_run(job, &fit->attempt[i]));
    for (size_t i = 0; i < job->n_variables; i++)
        json_array_append_new(vary, json_vary(&job->variable[i], (int)i == job->searched));
    return mt_json_print(stdout,
                         json_pack("{s:s, s:o, s:o, s:f, s:o, s:o, s:f}", "schema", "memtap.fit/1",
                                   "command", words, "vary", vary, "fraction", job->fraction,
                                   "cards", cards, "runs", runs, "seconds", fit->seconds),
                         0);
}
