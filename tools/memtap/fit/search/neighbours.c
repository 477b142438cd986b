/* SPDX-License-Identifier: Apache-2.0 */
#include "fit.h"

#include <string.h>

/* How a line relates to another one that is otherwise equal: it has at least as many ranks on every
 * axis. */
struct way {
    bool is_up;
    unsigned n_axes; /* axes with more ranks: */
    size_t axis;     /* one of them */
    bool is_known;   /* memory falls along all of them */
};

static struct way find_way(const struct mt_fit *fit, size_t from, size_t to)
{
    const struct mt_job *job = fit->job;
    struct way way = {.is_up = true, .is_known = true};
    for (size_t i = 0; i < job->n_variables && way.is_up; i++) {
        char room[2][MT_VALUE_TEXT];
        uint64_t fewer, more;
        struct mt_choice choice = {from, 0}, other = {to, 0};
        if ((int)i == job->searched || !strcmp(mt_choice_value(job, choice, i, room[0]),
                                               mt_choice_value(job, other, i, room[1])))
            continue;
        way.is_up = job->variable[i].is_of_layout && mt_choice_number(job, choice, i, &fewer) &&
                    mt_choice_number(job, other, i, &more) && more > fewer;
        way.is_known &= mt_axis_falls(&fit->axis[i]);
        way.axis = i;
        way.n_axes++;
    }
    way.is_up &= way.n_axes > 0;
    return way;
}

/* Return PyTorch's peak in the run of a line's first position; 0: unknown. */
static uint64_t peak_of(const struct mt_fit *fit, size_t line)
{
    const struct mt_outcome *outcome = mt_fit_outcome(fit, line, MT_ANY_ROOM, 0);
    for (size_t card = 0; !outcome && card < fit->job->n_cards; card++) {
        outcome = mt_fit_outcome(fit, line, card, 0);
        outcome = outcome && outcome->end == MT_FIT_FITS ? outcome : NULL;
    }
    return outcome && outcome->end == MT_FIT_FITS ? outcome->allocated : 0;
}

/* Count how often memory falls and rises along each axis, between runs that differ only there. */
static void count(struct mt_fit *fit)
{
    uint64_t peak[MT_MOST_LINES];
    size_t n = fit->job->n_lines;
    memset(fit->axis, 0, sizeof fit->axis);
    for (size_t i = 0; i < n; i++)
        peak[i] = peak_of(fit, i);
    for (size_t from = 0; from < n; from++)
        for (size_t to = 0; peak[from] && to < n; to++) {
            struct way way = peak[to] ? find_way(fit, from, to) : (struct way){.is_up = false};
            if (!way.is_up || way.n_axes > 1)
                continue;
            fit->axis[way.axis].falls += peak[to] < peak[from];
            fit->axis[way.axis].rises += peak[to] > peak[from];
        }
}

/* Return the line that rules this one out on a card; MT_NONE: none. */
static size_t find_ruling(const struct mt_fit *fit, size_t line, size_t card)
{
    for (size_t to = 0; to < fit->job->n_lines; to++) {
        const struct mt_card_search *search = mt_fit_search(fit, to, card);
        if (search->fails == MT_NONE || search->fails != search->line->first ||
            search->ruled_by != MT_NONE)
            continue;
        struct way way = find_way(fit, line, to);
        if (way.is_up && way.is_known)
            return to;
    }
    return MT_NONE;
}

/* Return whether a line still has a run pending or in progress that decides whether it fits or
 * measures it. */
static bool is_open(const struct mt_fit *fit, size_t line, size_t card)
{
    const struct mt_fit_line *of = &fit->line[line];
    const struct mt_card_search *search = mt_fit_search(fit, line, card);
    if (of->is_refused || search->ruled_by != MT_NONE || search->fits != MT_NONE ||
        search->stopped_by != MT_NONE)
        return false;
    return search->fails != search->line->first || of->n_over < of->n_shared;
}

static bool may_be_ruled_out(const struct mt_fit *fit, size_t line, size_t card)
{
    for (size_t to = 0; to < fit->job->n_lines; to++)
        if (is_open(fit, to, card) && find_way(fit, line, to).is_up)
            return true;
    return false;
}

bool mt_neighbours_let_begin(struct mt_fit *fit, size_t line)
{
    size_t n_ruled = 0;
    for (size_t card = 0; card < fit->job->n_cards; card++) {
        struct mt_card_search *search = mt_fit_search(fit, line, card);
        if (search->ruled_by == MT_NONE)
            search->ruled_by = find_ruling(fit, line, card);
        if (search->ruled_by == MT_NONE && may_be_ruled_out(fit, line, card))
            return false;
        search->is_over = search->ruled_by != MT_NONE;
        n_ruled += search->is_over;
    }
    return n_ruled < fit->job->n_cards;
}

void mt_neighbours_learn(struct mt_fit *fit)
{
    const struct mt_job *job = fit->job;
    bool has_layout = false;
    for (size_t i = 0; i < job->n_variables; i++)
        has_layout |= job->variable[i].is_of_layout;
    if (!has_layout)
        return;
    count(fit);
    for (size_t line = 0; line < job->n_lines; line++)
        for (size_t card = 0; card < job->n_cards; card++) {
            struct mt_card_search *search = mt_fit_search(fit, line, card);
            if (search->ruled_by != MT_NONE && !find_way(fit, line, search->ruled_by).is_known) {
                search->ruled_by = MT_NONE;
                search->is_over = false;
            }
        }
}
