/* SPDX-License-Identifier: Apache-2.0 */
#include "choose.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/base.h"
#include "say.h"

/* Each new row starts this much further on, so that even a few rows are spread over all loads. */
static const double golden = 0.618033988749894848;

uint64_t sim_seed(void)
{
    return sim_environment("CUDASIM_SEED", 0);
}

int64_t sim_found(int64_t n)
{
    int64_t boxes = (int64_t)sim_environment("CUDASIM_BOXES", 0);

    return boxes < n ? boxes : n;
}

/* Read the loads. Return false if they are even, or are for another number of experts. */
static bool read_loads(double *loads, size_t choices)
{
    static _Atomic bool is_reported;
    const char *skew = getenv("CUDASIM_SKEW");
    size_t count = 0;

    if (!skew || !strcmp(skew, "even"))
        return false;
    if (!strncmp(skew, "zipf:", strlen("zipf:"))) {
        double power = strtod(skew + strlen("zipf:"), NULL);

        for (size_t i = 0; i < choices; i++)
            loads[i] = pow((double)i + 1, -power);
        return true;
    }
    for (char *end; *skew; skew = *end ? end + 1 : end, count++) {
        double load = strtod(skew, &end);

        if (count < choices)
            loads[count] = load;
    }
    if (count != choices && !atomic_exchange(&is_reported, true))
        sim_print("--skew has the loads of %zu experts, but the program has %zu; choosing evenly",
                  count, choices);
    return count == choices;
}

/* Compute loads that add up to `picks`. None exceeds 1, since a row cannot choose the same thing
 * twice. */
static void level(double *loads, size_t choices, size_t picks)
{
    bool is_full[SIM_MANY_CHOICES] = {false};
    size_t full = 0;

    for (bool more = true; more;) {
        double rest = 0;

        more = false;
        for (size_t i = 0; i < choices; i++)
            rest += is_full[i] ? 0 : loads[i];
        for (size_t i = 0; i < choices; i++)
            if (!is_full[i])
                loads[i] = rest > 0 ? loads[i] * (double)(picks - full) / rest
                                    : (double)(picks - full) / (double)(choices - full);
        for (size_t i = 0; i < choices && full < picks; i++)
            if (!is_full[i] && loads[i] >= 1) {
                loads[i] = 1;
                is_full[i] = more = true;
                full++;
            }
    }
}

/* Place the loads end to end and choose those at u, u + 1, ..., one for each pick. */
static void pick(int64_t *row, size_t picks, const double *loads, size_t choices, double u)
{
    double end = 0;
    size_t chosen = 0;

    for (size_t i = 0; i < choices && chosen < picks; i++) {
        end += loads[i];
        if (end > u + (double)chosen || choices - i == picks - chosen)
            row[chosen++] = (int64_t)i;
    }
}

/* Choose for one row. */
static void spread(int64_t *row, size_t picks, size_t choices, uint64_t first)
{
    size_t step = choices > picks ? choices / picks : 1;

    for (size_t i = 0; i < picks; i++)
        row[i] = (int64_t)((first / picks + 1 + i * step) % choices);
    if (row[0] == 0 && picks > 1) {
        row[0] = row[picks - 1];
        row[picks - 1] = 0;
    }
}

/* Choose for all rows. */
static void choose(int64_t *chosen, size_t rows, size_t picks, size_t choices)
{
    static _Atomic uint64_t before;
    /* If there are few choices, or they are positions in a text, each call continues where the
     * previous one ended. A layer that checkpointing recomputes in backward chooses the same
     * again. */
    bool goes_on = rows * picks < choices || choices >= SIM_MANY_CHOICES;
    uint64_t first = (goes_on ? atomic_fetch_add(&before, rows * picks) : 0) + sim_seed();
    double loads[SIM_MANY_CHOICES];

    if (choices < SIM_MANY_CHOICES && picks <= choices && read_loads(loads, choices)) {
        level(loads, choices, picks);
        for (size_t row = 0; row < rows; row++)
            pick(chosen + row * picks, picks, loads, choices,
                 fmod((double)(first / picks + row) * golden, 1));
        return;
    }
    if (choices < SIM_MANY_CHOICES && rows == 1 && picks <= choices) {
        spread(chosen, picks, choices, first);
        return;
    }
    for (size_t i = 0; i < rows * picks; i++)
        chosen[i] =
            (int64_t)(choices < SIM_MANY_CHOICES ? (first + i) % choices
                                                 : choices / 4 + (first + i) % (choices / 2));
}

void sim_choose(int64_t *chosen, size_t rows, size_t picks, size_t choices, int64_t zero)
{
    bool excludes = zero >= 0 && picks < choices && choices > 1;

    choose(chosen, rows, picks, choices - excludes);
    for (size_t i = 0; excludes && i < rows * picks; i++)
        chosen[i] += chosen[i] >= zero;
}
