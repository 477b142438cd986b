/* SPDX-License-Identifier: Apache-2.0 */
/* GitHub's workflow commands, which become annotations of lines, and a step's summary. */
#include "analyzer/support/text.h"
#include "check-formats.h"
#include "check-words.h"

#include <stdbool.h>
#include <string.h>

static void put_command(const char *level, const struct mt_place_in_tree *place, const char *title,
                        const char *text, FILE *out)
{
    fprintf(out, "::%s ", level);
    if (*place->file) {
        fputs("file=", out);
        mt_put_text(out, place->file, MT_FOR_PROPERTY);
        if (place->line)
            fprintf(out, ",line=%u", place->line);
        fputs(",", out);
    }
    fputs("title=", out);
    mt_put_text(out, title, MT_FOR_PROPERTY);
    fputs("::", out);
    mt_put_text(out, text, MT_FOR_COMMAND);
    fputs("\n", out);
}

static void put_finding(const struct mt_check *check, const struct mt_finding *finding, FILE *out)
{
    char title[MT_FINDING_TEXT], text[MT_FINDING_TEXT], next[MT_FINDING_TEXT], line[MT_LINE];
    struct mt_place_in_tree place = mt_finding_place(finding, check->budget);
    snprintf(title, sizeof title, "GPU memory: %s", finding->name);
    snprintf(line, sizeof line, "%.2400s; next: %.2400s", mt_finding_text(text, finding),
             mt_finding_next(next, finding));
    put_command("error", &place, title, line, out);
}

int mt_check_github(const struct mt_check *check, FILE *out)
{
    const struct mt_budget *budget = check->budget;
    char line[MT_LINE];
    for (size_t i = 0; i < check->n; i++)
        if (check->finding[i].is_broken)
            put_finding(check, &check->finding[i], out);
    for (size_t i = 0; i < budget->n_allowances; i++) {
        struct mt_place_in_tree place = {.line = budget->allowance[i].line};
        if (!budget->allowance[i].has_expired)
            continue;
        snprintf(place.file, sizeof place.file, "%s", budget->path);
        put_command("warning", &place, "an allowance has expired",
                    mt_expired_text(line, budget, &budget->allowance[i]), out);
    }
    return 0;
}

/* --- the summary ---------------------------------------------------------------------------- */

static void put_cell(const char *text, FILE *out)
{
    fputs("| ", out);
    mt_put_text(out, text, MT_FOR_MARKDOWN);
    putc(' ', out);
}

static void put_row(const struct mt_finding *finding, bool with_trace, FILE *out)
{
    char value[MT_AMOUNT_TEXT], most[MT_AMOUNT_TEXT], base[MT_AMOUNT_TEXT], text[MT_FINDING_TEXT];
    enum mt_unit unit = finding->limit->subject == MT_OF_FRAGMENTATION ? MT_PERCENT : MT_BYTES;
    const struct mt_digest_site *site = finding->blame.site;
    bool is_end = finding->limit->subject == MT_OF_ENDED,
         has_amount = mt_finding_has_amount(finding);
    if (finding->is_unknown)
        snprintf(value, sizeof value, "unknown");
    else if (is_end)
        snprintf(value, sizeof value, "%s", mt_ended_name(finding->run->ended.how));
    else if (!has_amount)
        snprintf(value, sizeof value, "%s",
                 finding->part && !finding->part->is_missing ? "new" : "missing");
    else
        mt_amount_text(value, unit, finding->value);
    if (is_end)
        snprintf(most, sizeof most, "complete");
    else if (!has_amount)
        *most = '\0';
    else
        mt_amount_text(most, unit, finding->most);
    mt_amount_text(base, unit, finding->base);
    fputs(finding->is_broken    ? "| :x: "
          : finding->is_unknown ? "| :grey_question: "
                                : "| :white_check_mark: ",
          out);
    if (with_trace)
        put_cell(finding->run->path, out);
    put_cell(finding->name, out);
    put_cell(value, out);
    put_cell(most, out);
    put_cell(finding->n_baselines ? base : "", out);
    *text = '\0';
    if (is_end)
        mt_ended_text(text, &finding->run->ended);
    else if (!has_amount)
        mt_finding_text(text, finding);
    if (site)
        snprintf(text, sizeof text, "%s by %s:%u %s", mt_categories[site->category].label,
                 site->file, site->line, site->function);
    put_cell(text, out);
    fputs("|\n", out);
}

int mt_check_summary(const struct mt_check *check, FILE *out)
{
    bool with_trace = check->n && check->finding[0].run != check->finding[check->n - 1].run;
    char next[MT_FINDING_TEXT], line[MT_LINE];
    fprintf(out, "### GPU memory: %zu of %zu limits broken\n\n", check->broken, check->n);
    fprintf(out,
            "| |%s limit | measured | at most | baseline | line |\n|---|%s---|--:|--:|--:|---|\n",
            with_trace ? " trace |" : "", with_trace ? "---|" : "");
    for (int broken = 1; broken >= 0; broken--)
        for (size_t i = 0; i < check->n; i++)
            if (check->finding[i].is_broken == broken)
                put_row(&check->finding[i], with_trace, out);
    for (size_t i = 0, said = 0; i < check->n && !said; i++)
        if ((said = (size_t)check->finding[i].is_broken)) {
            fputs("\nNext: `", out);
            mt_put_text(out, mt_finding_next(next, &check->finding[i]), MT_FOR_CODE);
            fputs("`\n", out);
        }
    for (size_t i = 0; i < check->budget->n_allowances; i++)
        if (check->budget->allowance[i].has_expired) {
            putc('\n', out);
            mt_put_text(out, mt_expired_text(line, check->budget, &check->budget->allowance[i]),
                        MT_FOR_MARKDOWN);
            putc('\n', out);
        }
    return 0;
}
