/* SPDX-License-Identifier: Apache-2.0 */
/* Two runs: compared, held to memtap's own budget and to one that is made of the first, and told in
 * one of the ways there are. */
#include "compare/check/budget.h"
#include "compare/check/check-formats.h"
#include "compare/diff/diff-report.h"
#include "compare/history/read-all.h"
#include "made-trace.h"
#include "outputs.h"
#include "target.h"
#include "two-runs.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define LARGE (UINT64_C(1) << 60)

static void compare(struct mt_two_runs *two)
{
    struct mt_diff diff;
    FILE *out = mt_safe_output();
    int rc = mt_diff_make(&diff, &two->run[0], 1, &two->run[1], 1);
    int phase = rc ? -1 : mt_diff_wants_phase(&diff);
    if (phase >= 0) {
        struct mt_question question = {.whole_run = 1};
        mt_diff_clear(&diff);
        if (mt_read_in_phase(two->run, 2, (enum mt_phase)phase, &question) < 0)
            abort();
        rc = mt_diff_make(&diff, &two->run[0], 1, &two->run[1], 1);
    }
    if (rc)
        abort();
    switch (two->choices[1] % 5) {
    case 0:
        rc = mt_diff_text(&diff, out, &mt_plain_style);
        break;
    case 1:
        rc = mt_diff_text(&diff, mt_any_output(), &mt_coloured_style);
        break;
    case 2:
        rc = mt_diff_markdown(&diff, out);
        break;
    case 3:
        rc = mt_diff_json(&diff, out);
        break;
    default:
        mt_diff_flame(&diff, out);
    }
    if (rc)
        abort();
    mt_diff_clear(&diff);
}

static void hold(const struct mt_budget *budget, const struct mt_two_runs *two, unsigned choice)
{
    static mt_check_printer *const printers[] = {mt_check_text,   mt_check_json,
                                                 mt_check_junit,  mt_check_github,
                                                 mt_check_gitlab, mt_check_summary};
    struct mt_check check;
    if (mt_check_make(&check, budget,
                      &(struct mt_check_allowed){.ends = (mt_allowed_ends)(choice & 15)},
                      &two->run[1], 1, &two->run[0], 1) ||
        printers[choice % 6](&check, mt_safe_output()))
        abort();
    mt_check_clear(&check);
}

/* No budget can have an amount as large as what some inputs say. */
static bool is_an_amount(const struct mt_digest *run)
{
    int fits = 1;
    for (size_t i = 0; i < run->n_devices; i++) {
        const struct mt_digest_device *device = &run->devices[i];
        fits &= device->allocated < LARGE && device->most_reserved < LARGE;
        for (unsigned j = 0; j < mt_n_categories; j++)
            fits &= device->category[j] < LARGE;
        for (unsigned j = 0; j < MT_PHASE_COUNT; j++)
            fits &= device->most_in_phase[j] < LARGE;
    }
    return fits;
}

/* All of the first run is within what is proposed for it. */
static void propose(const struct mt_two_runs *two, unsigned choice)
{
    char *text;
    size_t size;
    struct mt_budget budget;
    struct mt_budget_error error;
    struct mt_check check;
    FILE *out = open_memstream(&text, &size);
    if (!out || mt_propose_budget(two->run, 1, choice * 10, out) || fclose(out))
        abort();
    if (mt_budget_parse(&budget, "proposed", text, size, &error)) {
        fprintf(stderr, "%u:%u: %s\n%s", error.line, error.column, error.text, text);
        abort();
    }
    int fits = is_an_amount(two->run);
    if (mt_check_make(&check, &budget, &(struct mt_check_allowed){.ends = ~(mt_allowed_ends)0},
                      two->run, 1, NULL, 0) ||
        (fits && check.broken)) {
        mt_check_text(&check, stderr);
        fputs(text, stderr);
        abort();
    }
    mt_check_clear(&check);
    hold(&budget, two, choice);
    mt_budget_clear(&budget);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct mt_two_runs two;
    struct mt_budget budget;
    struct mt_budget_error error;
    if (mt_two_runs_read(&two, bytes, size))
        return 0;
    switch (two.choices[0] % 3) {
    case 0:
        compare(&two);
        break;
    case 1:
        if (mt_budget_parse(&budget, "", mt_budget_default, strlen(mt_budget_default), &error))
            abort();
        hold(&budget, &two, two.choices[2]);
        mt_budget_clear(&budget);
        break;
    default:
        propose(&two, two.choices[2]);
    }
    mt_two_runs_clear(&two);
    return 0;
}
