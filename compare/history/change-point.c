/* SPDX-License-Identifier: Apache-2.0 */
#include "change-point.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Probability of a false alarm of each test on a stretch without a change; together below 1 %. */
#define STEP_LEVEL 0.005
#define EXCURSION_LEVEL 0.001
#define DRIFT_LEVEL 0.002

/* Unexplained squares below this part of all are rounding. */
#define ROUNDING 1e-13

/* The search. changes has room for a step at every night. */
struct search {
    struct mt_changes *changes;
    const double *value;
    double *centred; /* the stretch, moved to a mean of 0 */
    bool only_steps; /* no drifts */
};

/* A model of a stretch: what it explains, and what it leaves. */
struct model {
    size_t at, to;          /* the step, or begin and end of an excursion */
    double explained, left; /* sums of squares */
};

static struct model better(struct model a, struct model b)
{
    return b.explained > a.explained ? b : a;
}

/* Compute P(|T| > t) of Student's t with so many degrees of freedom (Abramowitz and Stegun
 * 26.7.3-4). */
static double student_tail(double t, size_t freedom)
{
    double angle = atan(t / sqrt((double)freedom)), cosine = cos(angle), sum = 0;
    size_t odd = freedom % 2;
    double term = odd ? cosine : 1;
    for (size_t k = 2 + odd; k <= freedom; k += 2) {
        sum += term;
        term *= cosine * cosine * (double)(k - 1) / (double)k;
    }
    return odd ? 1 - 2 / M_PI * (angle + sin(angle) * sum) : 1 - sin(angle) * sum;
}

/* Return the probability that the best of this many models is this good by chance. */
static double chance(const struct model *model, size_t freedom, double tries)
{
    double all = model->explained + model->left;
    if (!(model->explained > 0))
        return 1;
    if (model->left <= ROUNDING * all)
        return 0;
    return tries * student_tail(sqrt((double)freedom * model->explained / model->left), freedom);
}

/* Move the stretch's mean to 0. Return the sum of its squares. */
static double centre(struct search *search, size_t from, size_t n)
{
    double mean = 0, squares = 0;
    for (size_t i = 0; i < n; i++)
        mean += (search->value[from + i] - search->value[from]) / (double)n;
    for (size_t i = 0; i < n; i++) {
        search->centred[i] = search->value[from + i] - search->value[from] - mean;
        squares += search->centred[i] * search->centred[i];
    }
    return squares;
}

/* Return the squares explained by a mean of their own for k of n nights with this sum; all have
 * mean 0. */
static double between(double sum, size_t k, size_t n)
{
    return sum * sum * (double)n / ((double)k * (double)(n - k));
}

static struct model best_step(const double *x, size_t n, double squares)
{
    struct model best = {0};
    double sum = 0;
    for (size_t i = 1; i < n; i++) {
        sum += x[i - 1];
        best = better(best, (struct model){i, n, between(sum, i, n), 0});
    }
    best.left = squares - best.explained;
    return best;
}

/* Find nights in the middle that differ from the nights on both sides. */
static struct model best_excursion(const double *x, size_t n, double squares)
{
    struct model best = {0};
    for (size_t i = 1; i < n; i++) {
        double sum = 0;
        for (size_t j = i + 1; j < n; j++) {
            sum += x[j - 1];
            best = better(best, (struct model){i, j, between(sum, j - i, n), 0});
        }
    }
    best.left = squares - best.explained;
    return best;
}

/* Fit a straight line; *slope is per night. */
static struct model line(const double *x, size_t n, double squares, double *slope)
{
    double product = 0, middle = (double)(n - 1) / 2;
    double length = (double)n * ((double)n * (double)n - 1) / 12; /* sum of (i - middle)^2 */
    for (size_t i = 0; i < n; i++)
        product += ((double)i - middle) * x[i];
    *slope = product / length;
    double explained = product * product / length;
    return (struct model){0, n, explained, squares - explained};
}

/* Find the best step in what the line leaves; *size gets its size. A line fits part of any step, so
 * take that part out first. */
static struct model best_step_on_line(const double *x, size_t n, const struct model *drift,
                                      double slope, double *size)
{
    struct model best = {0};
    double middle = (double)(n - 1) / 2, length = (double)n * ((double)n * (double)n - 1) / 12;
    double sum = 0;
    for (size_t i = 1; i < n; i++) {
        double before = (double)i, after = (double)(n - i);
        double with_line = before * after / 2; /* the step's product with (i - middle) */
        double own = before * after / (double)n - with_line * with_line / length;
        sum += x[i - 1] - slope * ((double)(i - 1) - middle);
        if (own <= ROUNDING * before * after)
            continue;
        struct model step = {i, n, sum * sum / own, 0};
        if (step.explained > best.explained)
            *size = -sum / own;
        best = better(best, step);
    }
    best.left = drift->left - best.explained;
    return best;
}

static void add_step(struct search *search, size_t at, double before, double after)
{
    search->changes->step[search->changes->n_steps++] = (struct mt_step){at, before, after};
}

static void find(struct search *search, size_t from, size_t n);

static double mean(const struct search *search, size_t from, size_t to)
{
    double sum = 0;
    for (size_t i = from; i < to; i++)
        sum += (search->value[i] - search->value[from]) / (double)(to - from);
    return search->value[from] + sum;
}

/* Compute Schwarz's criterion (1978): what a model leaves, and how many parameters it needs. */
static double criterion(double left, size_t n, size_t parameters)
{
    return (double)n * log(fmax(left, 0)) + (double)parameters * log((double)n);
}

/* Compute it for steps alone, those from `first` on. */
static double criterion_of_steps(const struct search *search, size_t first, size_t from, size_t n)
{
    const struct mt_changes *changes = search->changes;
    double left = 0;
    for (size_t i = first, begin = from; i <= changes->n_steps; i++) {
        size_t end = i < changes->n_steps ? changes->step[i].at : from + n;
        double level = mean(search, begin, end);
        for (; begin < end; begin++)
            left += (search->value[begin] - level) * (search->value[begin] - level);
    }
    return criterion(left, n, 1 + 2 * (changes->n_steps - first));
}

/* Return whether steps alone explain a stretch better, and then keep them: several steps in one
 * direction look like a drift. */
static bool are_steps(struct search *search, size_t from, size_t n, double of_drift)
{
    size_t first = search->changes->n_steps;
    search->only_steps = 1;
    find(search, from, n);
    search->only_steps = 0;
    if (criterion_of_steps(search, first, from, n) < of_drift)
        return true;
    search->changes->n_steps = first;
    return false;
}

/* Find a step that stands out from a drift. */
static void find_on_drift(struct search *search, size_t from, size_t n, const struct model *drift,
                          double slope)
{
    double size = 0, middle;
    struct model step = best_step_on_line(search->centred, n, drift, slope, &size);
    bool is_exact = drift->left <= ROUNDING * (drift->left + drift->explained);
    bool has_step = n > MT_LEAST_NOISY_NIGHTS && !is_exact &&
                    chance(&step, n - 3, (double)(n - 1)) <= STEP_LEVEL;
    double of_drift = has_step ? criterion(step.left, n, 4) : criterion(drift->left, n, 2);
    if (!is_exact && are_steps(search, from, n, of_drift))
        return;
    if (!has_step) {
        search->changes->drift[search->changes->n_drifts++] =
            (struct mt_drift){from, from + n, slope};
        return;
    }
    middle = search->value[from + step.at - 1] / 2 + search->value[from + step.at] / 2;
    find(search, from, step.at);
    add_step(search, from + step.at, middle - size / 2, middle + size / 2);
    find(search, from + step.at, n - step.at);
}

/* Find the changes within n nights, in order. */
static void find(struct search *search, size_t from, size_t n)
{
    if (n < MT_LEAST_NOISY_NIGHTS)
        return;
    double slope, squares = centre(search, from, n);
    struct model step = best_step(search->centred, n, squares);
    struct model drift = line(search->centred, n, squares, &slope);
    bool is_step = chance(&step, n - 2, (double)(n - 1)) <= STEP_LEVEL;
    bool is_drift = chance(&drift, n - 2, 1) <= DRIFT_LEVEL;
    if (is_drift && !search->only_steps && drift.explained >= step.explained) {
        find_on_drift(search, from, n, &drift, slope);
        return;
    }
    if (!is_step) {
        step = best_excursion(search->centred, n, squares);
        if (chance(&step, n - 2, (double)n * (double)(n - 1) / 2) > EXCURSION_LEVEL)
            return;
    }
    find(search, from, step.at);
    add_step(search, from + step.at, 0, 0);
    find(search, from + step.at, step.to - step.at);
    if (step.to < n) {
        add_step(search, from + step.to, 0, 0);
        find(search, from + step.to, n - step.to);
    }
}

/* Refine steps that were found before their neighbours: find each again between its neighbours, and
 * set the levels on both sides. */
static void settle(struct search *search, size_t n)
{
    struct mt_changes *changes = search->changes;
    size_t kept = 0;
    for (size_t i = 0; i < changes->n_steps; i++) {
        struct mt_step *step = &changes->step[i];
        size_t from = kept ? changes->step[kept - 1].at : 0;
        size_t to = i + 1 < changes->n_steps ? step[1].at : n;
        if (step->before == step->after) {
            if (to - from >= MT_LEAST_NOISY_NIGHTS)
                step->at =
                    from +
                    best_step(search->centred, to - from, centre(search, from, to - from)).at;
            step->before = mean(search, from, step->at);
            step->after = mean(search, step->at, to);
        }
        changes->step[kept++] = *step;
    }
    changes->n_steps = kept;
}

static size_t repeats(const double *value, size_t n)
{
    size_t same = 0;
    for (size_t i = 1; i < n; i++)
        same += value[i] == value[i - 1];
    return same;
}

int mt_changes_find(struct mt_changes *changes, const double *value, size_t n)
{
    struct search search = {changes, value, calloc(n + 1, sizeof *search.centred), 0};
    memset(changes, 0, sizeof *changes);
    changes->step = calloc(n + 1, sizeof *changes->step);
    changes->drift = calloc(n + 1, sizeof *changes->drift);
    int rc = search.centred && changes->step && changes->drift ? 0 : -ENOMEM;
    changes->is_exact = n >= MT_LEAST_NIGHTS && 2 * repeats(value, n) >= n - 1;
    if (!rc && changes->is_exact) {
        for (size_t i = 1; i < n; i++)
            if (value[i] != value[i - 1])
                add_step(&search, i, value[i - 1], value[i]);
    } else if (!rc) {
        find(&search, 0, n);
        settle(&search, n);
    }
    free(search.centred);
    return rc;
}

void mt_changes_clear(struct mt_changes *changes)
{
    free(changes->step);
    free(changes->drift);
    memset(changes, 0, sizeof *changes);
}
