/* SPDX-License-Identifier: Apache-2.0 */
/* One line per broken limit. */
#include "analyzer/support/text.h"
#include "check-formats.h"
#include "check-words.h"

#include <string.h>

static const char *printable(char out[MT_LINE], const char *text)
{
    static const struct mt_style utf8 = {.utf8 = 1};
    mt_safe_text(out, MT_LINE, text, MT_LINE, MT_CUT_END, &utf8);
    return out;
}

static double part_of_limit(const struct mt_finding *finding)
{
    return finding->most ? (double)finding->value / (double)finding->most : 0;
}

static const struct mt_finding *check_nearest(const struct mt_check *check)
{
    const struct mt_finding *nearest = NULL;
    for (size_t i = 0; i < check->n; i++)
        if (!check->finding[i].is_unknown && mt_finding_has_amount(&check->finding[i]) &&
            (!nearest || part_of_limit(&check->finding[i]) > part_of_limit(nearest)))
            nearest = &check->finding[i];
    return nearest;
}

/* Break between words: a finding is a sentence, and a log or a terminal has 80 columns. */
static void put(FILE *out, const char *text)
{
    mt_put_wrapped(out, text, 80, &(struct mt_style){.utf8 = 1});
}

/* Return whether a finding is about a run as a whole, such as a missing rank, which has no trace.
 */
static bool is_of_job(const struct mt_finding *finding)
{
    return finding->part && !finding->part->lacks;
}

static void print_broken(const struct mt_finding *finding, FILE *out)
{
    char text[MT_FINDING_TEXT], line[2 * MT_FINDING_TEXT + 1100], next[MT_FINDING_TEXT];
    char safe[MT_LINE];
    snprintf(line, sizeof line, "%s%s%s;", is_of_job(finding) ? "" : finding->run->path,
             is_of_job(finding) ? "" : ": ", mt_finding_text(text, finding));
    put(out, printable(safe, line));
    fprintf(out, "  next: %s\n", printable(safe, mt_finding_next(next, finding)));
}

/* Print a limit that holds, with its allowance. */
static void print_allowed(const struct mt_finding *finding, FILE *out)
{
    char text[MT_FINDING_TEXT], line[2 * MT_FINDING_TEXT], safe[MT_LINE];
    snprintf(line, sizeof line, "%s: %s: %s", finding->run->path, mt_finding_text(text, finding),
             finding->allowance->reason);
    put(out, printable(safe, line));
}

/* Print an allowed end, and what is new or may be missing. */
static void print_unlimited(const struct mt_finding *finding, FILE *out)
{
    char text[MT_FINDING_TEXT], line[2 * MT_FINDING_TEXT], safe[MT_LINE];
    snprintf(line, sizeof line, "%s%s%s%s", is_of_job(finding) ? "" : finding->run->path,
             is_of_job(finding) ? "" : ": ", mt_finding_text(text, finding),
             finding->part ? "" : " (allowed)");
    put(out, printable(safe, line));
}

static const struct mt_finding *find_unknown(const struct mt_check *check)
{
    for (size_t i = 0; i < check->n; i++)
        if (check->finding[i].is_unknown)
            return &check->finding[i];
    return NULL;
}

/* Count the limits that hold, except limits on how a run ended. */
static size_t count_held(const struct mt_check *check)
{
    size_t held = 0;
    for (size_t i = 0; i < check->n; i++)
        held += !check->finding[i].is_broken && !check->finding[i].is_unknown &&
                mt_finding_has_amount(&check->finding[i]);
    return held;
}

static void print_sum(const struct mt_check *check, FILE *out)
{
    char text[MT_FINDING_TEXT], line[2 * MT_FINDING_TEXT + 100] = "", safe[MT_LINE];
    const struct mt_finding *nearest = check_nearest(check), *unknown = find_unknown(check);
    size_t held = count_held(check);
    if (check->broken)
        snprintf(line, sizeof line, "%zu of %zu limits broken", check->broken, check->n);
    else if (held)
        snprintf(line, sizeof line, "%zu limit%s; the nearest: %s", held,
                 held > 1 ? "s hold" : " holds", mt_finding_text(text, nearest));
    if (unknown)
        mt_text_append(line, sizeof line, "%s%s", *line ? "; " : "",
                       mt_finding_text(text, unknown));
    if (check->n)
        put(out, printable(safe, line));
}

int mt_check_text(const struct mt_check *check, FILE *out)
{
    char line[MT_LINE], safe[MT_LINE];
    for (size_t i = 0; i < check->n; i++)
        if (check->finding[i].is_broken)
            print_broken(&check->finding[i], out);
        else if (!mt_finding_has_amount(&check->finding[i]))
            print_unlimited(&check->finding[i], out);
        else if (check->finding[i].allowance)
            print_allowed(&check->finding[i], out);
    for (size_t i = 0; i < check->budget->n_allowances; i++)
        if (check->budget->allowance[i].has_expired)
            put(out, printable(safe,
                               mt_expired_text(line, check->budget, &check->budget->allowance[i])));
    print_sum(check, out);
    return 0;
}
