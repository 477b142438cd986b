/* SPDX-License-Identifier: Apache-2.0 */
#include "check-words.h"
#include "analyzer/support/text.h"
#include "compare/diff/diff-words.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ADD(out, ...) mt_text_append(out, MT_FINDING_TEXT, __VA_ARGS__)

static enum mt_unit unit_of(const struct mt_finding *finding)
{
    return finding->limit->subject == MT_OF_FRAGMENTATION ? MT_PERCENT : MT_BYTES;
}

static void add_name(char out[MT_FINDING_TEXT], const struct mt_finding *finding)
{
    if (finding->run->n_devices > 1 && mt_finding_has_amount(finding))
        ADD(out, "device %d: ", finding->device->device);
    ADD(out, "%s", finding->name);
}

/* Add what a relative limit tolerates: "+2 % of ", "+2 % and at least 1.00 MiB over ". */
static void add_tolerance(char out[MT_FINDING_TEXT], const struct mt_finding *finding)
{
    char amount[MT_AMOUNT_TEXT];
    const struct mt_limit *limit = finding->limit;
    enum mt_unit unit = unit_of(finding);
    uint64_t tolerance = finding->most - finding->extra - finding->base;
    if (unit == MT_PERCENT && limit->most.unit == MT_PERCENT) /* percentage points */
        ADD(out, "+%g points", (double)limit->most.value / 100);
    else
        ADD(out, "%s", limit->text);
    if (finding->tolerance == MT_BY_SPREAD)
        ADD(out, " and at least the baselines' spread of %s",
            mt_amount_text(amount, unit, tolerance));
    else if (finding->tolerance == MT_BY_IGNORE)
        ADD(out, " and at least %s", mt_amount_text(amount, unit, tolerance));
    bool is_part = unit == MT_BYTES && limit->most.unit == MT_PERCENT && !finding->tolerance;
    ADD(out, is_part ? " of " : " over ");
}

/* Add "(+2 % of 17.19 GiB, the median of 3 baselines with a spread of 1.00 MiB)". */
static void add_limit(char out[MT_FINDING_TEXT], const struct mt_finding *finding)
{
    char amount[MT_AMOUNT_TEXT];
    enum mt_unit unit = unit_of(finding);
    ADD(out, "the limit of %s", mt_amount_text(amount, unit, finding->most));
    if (finding->limit->most.is_relative) {
        ADD(out, " (");
        add_tolerance(out, finding);
        ADD(out, "%s", mt_amount_text(amount, unit, finding->base));
        if (finding->n_baselines > 1)
            ADD(out, ", the median of %zu baselines", finding->n_baselines);
        if (finding->spread)
            ADD(out, " with a spread of %s", mt_amount_text(amount, unit, finding->spread));
        ADD(out, ")");
    }
    if (finding->allowance)
        ADD(out, ", including %s (%s) allowed until %04d-%02d-%02d",
            mt_amount_text(amount, unit, finding->extra), finding->allowance->text,
            finding->allowance->year, finding->allowance->month, finding->allowance->day);
}

/* Add "370.00 MiB (2.1 %) over " */
static void add_excess(char out[MT_FINDING_TEXT], const struct mt_finding *finding)
{
    char amount[MT_AMOUNT_TEXT];
    uint64_t over = finding->value - finding->most;
    if (unit_of(finding) == MT_PERCENT)
        ADD(out, "%.1f points ", (double)over / 100);
    else
        ADD(out, "%s ", mt_amount_text(amount, unit_of(finding), over));
    if (unit_of(finding) == MT_BYTES && finding->most)
        ADD(out, "(%.1f %%) ", 100.0 * (double)over / (double)finding->most);
    ADD(out, "over ");
}

static void add_line(char out[MT_FINDING_TEXT], const struct mt_digest_site *site)
{
    ADD(out, "%s", site->file);
    if (site->line)
        ADD(out, ":%u", site->line);
    ADD(out, " %s", site->function);
    if (*site->operator_name)
        ADD(out, " (%s)", site->operator_name);
}

/* Return whether the responsible line has more than half of the growth since the baseline. */
static bool is_most_of_growth(const struct mt_finding *finding)
{
    return finding->n_baselines && finding->value > finding->base &&
           finding->blame.bytes > (finding->value - finding->base) / 2;
}

static void add_blame(char out[MT_FINDING_TEXT], const struct mt_finding *finding)
{
    char amount[MT_AMOUNT_TEXT], scale[128];
    const struct mt_blame *blame = &finding->blame;
    const struct mt_digest_site *site = blame->site;
    if (!site)
        return;
    mt_amount_text(amount, MT_BYTES, blame->bytes);
    const char *category = mt_categories[site->category].label;
    if (blame->scale) {
        mt_scale_text(scale, sizeof scale, blame->scale, blame->n_scaled);
        ADD(out, "; %s", scale);
    }
    if (finding->limit->subject == MT_OF_GROWTH)
        ADD(out, "; left behind in total: %s of %s by ", amount, category);
    else if (blame->is_growth)
        ADD(out, "; %s the growth, %s of %s by ",
            is_most_of_growth(finding) ? "most of" : "part of", amount, category);
    else
        ADD(out, "; the largest part, %s of %s by ", amount, category);
    add_line(out, site);
    if (blame->saver)
        ADD(out, ", now saved for backward at %s:%u %s", blame->saver->file, blame->saver->line,
            blame->saver->function);
}

/* Add the allocator's settings if they changed: they affect reserved memory, too. */
static void add_allocator(char out[MT_FINDING_TEXT], const struct mt_finding *finding)
{
    const struct mt_digest *baseline = finding->baseline;
    if (!baseline || !strcmp(baseline->allocator, finding->run->allocator))
        return;
    ADD(out, "; the allocator settings changed from '%s' to '%s'", baseline->allocator,
        finding->run->allocator);
}

static void add_unknown(char out[MT_FINDING_TEXT], unsigned iterations)
{
    if (iterations)
        ADD(out, ": unknown after %u iteration%s; growth needs at least %u", iterations,
            iterations > 1 ? "s" : "", MT_GROWTH_ITERATIONS);
    else
        ADD(out, ": unknown: the run has no iterations");
}

static const char *part_text(char out[MT_FINDING_TEXT], const struct mt_finding *finding)
{
    char text[2 * MT_PART_NAME], amount[MT_AMOUNT_TEXT];
    const struct mt_run_part *part = finding->part;
    ADD(out, "%s is %s", mt_part_text(text, part), part->is_missing ? "missing" : "new");
    if (part->device && part->kind != MT_PART_PHASE)
        ADD(out, "; its peak %s %s", part->is_missing ? "was" : "is",
            mt_amount_text(amount, MT_BYTES, part->device->allocated));
    if (finding->is_broken)
        ADD(out, "; to accept that, give --allow-missing %s:%s", mt_part_kind_names[part->kind],
            part->name);
    else if (part->is_missing)
        ADD(out, " (allowed)");
    return out;
}

const char *mt_finding_text(char out[MT_FINDING_TEXT], const struct mt_finding *finding)
{
    char amount[MT_AMOUNT_TEXT], ended[MT_ENDED_TEXT];
    *out = '\0';
    if (finding->part)
        return part_text(out, finding);
    add_name(out, finding);
    if (finding->is_absent) {
        ADD(out, ": matches no %s of this run; if it was renamed, rename it in the budget",
            finding->limit->subject == MT_OF_MODULE ? "module" : "call site");
        return out;
    }
    if (finding->limit->subject == MT_OF_ENDED) {
        ADD(out, ": %s", mt_ended_text(ended, &finding->run->ended));
        return out;
    }
    if (finding->is_unknown) {
        add_unknown(out, finding->device->iterations);
        return out;
    }
    ADD(out, ": %s%s, ", mt_amount_text(amount, unit_of(finding), finding->value),
        finding->limit->subject == MT_OF_GROWTH ? " per iteration" : "");
    if (!finding->is_broken) {
        ADD(out, "within ");
        add_limit(out, finding);
        return out;
    }
    add_excess(out, finding);
    add_limit(out, finding);
    add_allocator(out, finding);
    add_blame(out, finding);
    return out;
}

const char *mt_finding_title(char out[MT_FINDING_TEXT], const struct mt_finding *finding)
{
    char text[2 * MT_PART_NAME];
    *out = '\0';
    if (finding->part) {
        ADD(out, "%s", mt_part_text(text, finding->part));
        ADD(out, finding->part->is_missing ? " is missing" : " is new");
        return out;
    }
    add_name(out, finding);
    if (finding->is_absent) {
        ADD(out, " matches nothing");
        return out;
    }
    if (finding->limit->subject == MT_OF_ENDED) {
        ADD(out, ": %s", mt_ended_name(finding->run->ended.how));
        return out;
    }
    ADD(out, " is over its limit");
    if (finding->blame.site) {
        ADD(out, ": %s by ", mt_categories[finding->blame.site->category].label);
        ADD(out, "%s %s", finding->blame.site->file, finding->blame.site->function);
    }
    return out;
}

const char *mt_finding_next(char out[MT_FINDING_TEXT], const struct mt_finding *finding)
{
    bool is_part = finding->part, differs = finding->baseline && !is_part;
    const struct mt_digest *shown = is_part ? finding->part->has : finding->run;
    FILE *to = fmemopen(out, MT_FINDING_TEXT - 1, "w");
    *out = out[MT_FINDING_TEXT - 1] = '\0';
    if (!to)
        return out;
    fprintf(to, "memtap %s ",
            finding->limit->subject == MT_OF_ENDED ? mt_ended_command(&finding->run->ended)
            : differs                              ? "diff"
                                                   : "report");
    if (differs) {
        mt_put_word(to, finding->baseline->path);
        putc(' ', to);
    }
    mt_put_word(to, shown->path);
    fclose(to);
    return out;
}

/* --- a place in the source tree ------------------------------------------------------------- */

/* Write a readable file's path relative to the working directory. False: it is not below it. */
static bool is_in_tree(char *out, size_t size, const char *file)
{
    char here[1024];
    const char *at = file;
    if (*file == '/') {
        size_t n = getcwd(here, sizeof here) ? strlen(here) : 0;
        if (!n || strncmp(file, here, n) || file[n] != '/')
            return false;
        at = file + n + 1;
    }
    snprintf(out, size, "%s", at);
    return !access(out, R_OK);
}

/* Parse one frame: "function (file:line)". */
static int take_frame(struct mt_place_in_tree *place, const char *begin, size_t n)
{
    char text[2048], *open, *colon;
    snprintf(text, sizeof text, "%.*s", (int)n, begin);
    open = strrchr(text, '(');
    colon = open ? strrchr(open, ':') : NULL;
    if (!colon)
        return 0;
    *colon = '\0';
    place->line = (unsigned)strtoul(colon + 1, NULL, 10);
    return is_in_tree(place->file, sizeof place->file, open + 1);
}

static bool take_stack(struct mt_place_in_tree *place, const char *stack)
{
    const char *end = stack + strlen(stack);
    while (end > stack) {
        const char *begin = memrchr(stack, ';', (size_t)(end - stack));
        begin = begin ? begin + 1 : stack;
        if (take_frame(place, begin, (size_t)(end - begin)))
            return true;
        end = begin > stack ? begin - 1 : stack;
    }
    return false;
}

struct mt_place_in_tree mt_finding_place(const struct mt_finding *finding,
                                         const struct mt_budget *budget)
{
    struct mt_place_in_tree place = {.line = 0};
    const struct mt_digest_site *site = finding->blame.site;
    const struct mt_digest_saver *saver = finding->blame.saver;
    if (saver && is_in_tree(place.file, sizeof place.file, saver->file)) {
        place.line = saver->line;
        return place;
    }
    if (site &&
        (is_in_tree(place.file, sizeof place.file, site->file) ? (place.line = site->line, 1)
                                                               : take_stack(&place, site->stack)))
        return place;
    snprintf(place.file, sizeof place.file, "%s", budget->path);
    place.line = *budget->path ? finding->limit->line : 0;
    return place;
}

const char *mt_expired_text(char out[MT_LINE], const struct mt_budget *budget,
                            const struct mt_allowance *allowance)
{
    snprintf(out, MT_LINE, "%s:%u: the allowance of %s for %s expired on %04d-%02d-%02d (%s)",
             budget->path, allowance->line, allowance->text, allowance->limit, allowance->year,
             allowance->month, allowance->day, allowance->reason);
    return out;
}
