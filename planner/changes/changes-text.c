/* SPDX-License-Identifier: Apache-2.0 */
#include "analyzer/print/json.h"
#include "changes.h"
#include "trace-format/settings/nearest.h"

#include <string.h>

static void put_row(FILE *out, const struct mt_modelled *change, const struct mt_style *style)
{
    char bytes[MT_SIZE_TEXT], peak[MT_SIZE_TEXT], name[MT_CHANGE_NAME];
    mt_safe_text(name, sizeof name, change->name, 0, MT_CUT_END, style);
    if (change->why_not) {
        char text[2 * MT_CHANGE_NAME + 120];
        snprintf(text, sizeof text, "%s: not modelled: %s", change->name, change->why_not);
        mt_put_lines(out, style, text);
        return;
    }
    mt_size_text(bytes, (uint64_t)(change->saves < 0 ? -change->saves : change->saves));
    fprintf(out, "%c%11s  %12s  %s%s\n", change->saves < 0 ? '+' : '-', bytes,
            mt_size_text(peak, change->peak), name, change->is_replayed ? " (replayed)" : "");
    if (*change->where && !change->kind[1]) {
        mt_safe_text(name, sizeof name, change->where, 0, MT_CUT_END, style);
        fprintf(out, "%28s%s\n", "", name);
    }
    if (change->other_peak)
        fprintf(out, "%12s  %12s    or this; the trace is unclear, so no error bound\n", "",
                mt_size_text(peak, change->other_peak));
}

static bool is_of(const struct mt_modelled *change, const struct mt_change_kind *kind)
{
    size_t i = 0;
    while (i < MT_CHANGE_PARTS && change->kind[i] != kind)
        i++;
    return i < MT_CHANGE_PARTS && !change->why_not;
}

/* Write each kind's assumptions once, with its error bound if one of its rows has one. */
static void put_assumptions(FILE *out, const struct mt_modelled_changes *changes,
                            const struct mt_style *style)
{
    bool is_untried = false;
    for (const struct mt_change_kind *kind = mt_change_kinds; kind->name; kind++) {
        unsigned error = 0;
        bool is_there = false;
        for (size_t i = 0; i < changes->n; i++) {
            const struct mt_modelled *change = &changes->change[i];
            is_there |= is_of(change, kind);
            is_untried |= is_of(change, kind) && change->is_untried;
            if (is_of(change, kind) && !change->other_peak && !change->is_untried &&
                kind->error + change->unused > error)
                error = kind->error + change->unused;
        }
        if (!is_there)
            continue;
        char text[320];
        if (changes->rest || !error)
            snprintf(text, sizeof text, "  %s: %s", kind->name, kind->assumes);
        else
            snprintf(text, sizeof text, "  %s, within %u.%u %%: %s", kind->name, error / 10,
                     error % 10, kind->assumes);
        mt_put_lines(out, style, text);
    }
    if (changes->is_short && !changes->rest)
        mt_put_wrapped(out,
                       "  No error bound: the run ended before its first optimizer step, and what "
                       "would have followed is unknown.",
                       80, style);
    else if (is_untried && !changes->rest)
        mt_put_wrapped(
            out,
            "  No error bound: the program multiplies activations with each other outside "
            "attention, which was not compared with real runs. With the batch, such a product of "
            "rows with rows is scaled by the square.",
            80, style);
}

#define CHECKPOINTS_MOST 16u

static bool is_checkpoint(const struct mt_modelled_changes *changes,
                          const struct mt_modelled *change)
{
    return !change->why_not && !change->kind[1] && !strncmp(change->name, "checkpoint:", 11) &&
           mt_saved_per_operator(changes, change);
}

/* Print the checkpoints, sorted by memory saved per repeated operator. */
static void put_checkpoints(FILE *out, const struct mt_modelled_changes *changes,
                            const struct mt_style *style)
{
    const struct mt_modelled *row[CHECKPOINTS_MOST];
    size_t n = 0;
    for (size_t i = 0; i < changes->n && n < CHECKPOINTS_MOST; i++) {
        const struct mt_modelled *change = &changes->change[i];
        size_t at = n;
        if (!is_checkpoint(changes, change))
            continue;
        for (n++; at && mt_saved_per_operator(changes, row[at - 1]) <
                            mt_saved_per_operator(changes, change);
             at--)
            row[at] = row[at - 1];
        row[at] = change;
    }
    if (n)
        fputs("\n"
              "Checkpoints, by memory saved per operator that runs again\n"
              "per operator            by            to  of forward  module\n",
              out);
    for (size_t i = 0; i < n; i++) {
        char each[MT_SIZE_TEXT], bytes[MT_SIZE_TEXT], peak[MT_SIZE_TEXT], name[MT_CHANGE_NAME];
        mt_safe_text(name, sizeof name, row[i]->name + 11, 28, MT_CUT_END, style);
        fprintf(out, "%12s  %12s  %12s  %8.1f %%  %s\n",
                mt_size_text(each, mt_saved_per_operator(changes, row[i])),
                mt_size_text(bytes, (uint64_t)row[i]->saves), mt_size_text(peak, row[i]->peak),
                changes->forward ? 100.0 * (double)row[i]->operators / (double)changes->forward : 0,
                name);
    }
}

/* Write that the continuation of a run that ran out of memory is modelled, too. */
static void put_rest(FILE *out, const struct mt_rest *rest, const struct mt_style *style)
{
    char text[400], of[96];
    if (!rest)
        return;
    mt_rest_text(of, sizeof of, rest);
    if (rest->known > MT_REACH_REQUEST)
        snprintf(text, sizeof text,
                 "Memory ran out; what follows, through %s, is modelled from %s%s. The error is "
                 "unknown.",
                 mt_reach_words[rest->known], of,
                 rest->supposes_adam ? " and Adam's two values per parameter" : "");
    else
        snprintf(text, sizeof text,
                 "Memory ran out; what the program would have requested next is unknown, and so is "
                 "the error.");
    mt_put_lines(out, style, text);
}

void mt_modelled_text(FILE *out, const struct mt_modelled_changes *changes,
                      const struct mt_style *style)
{
    char peak[MT_SIZE_TEXT];
    fprintf(out, "\nChanges to the peak of %s (modelled, not run)\n",
            mt_size_text(peak, changes->peak));
    put_rest(out, changes->rest, style);
    if (!changes->n) {
        fputs("  nothing that memtap can model\n", out);
        return;
    }
    fprintf(out, "%12s  %12s  change\n", "by", "to");
    for (size_t i = 0; i < changes->n; i++)
        put_row(out, &changes->change[i], style);
    put_assumptions(out, changes, style);
    put_checkpoints(out, changes, style);
}

/* Print a kind as it is typed, "zero1:RANKS". */
static void put_kind(FILE *out, const struct mt_change_kind *kind)
{
    fprintf(out, "%s%s%s", kind->name, kind->argument ? ":" : "",
            kind->argument ? kind->argument : "");
}

static void put_unknown(FILE *out, const char *name, size_t size)
{
    const struct mt_change_kind *kind = mt_change_kinds;
    struct mt_nearest nearest = {.typed = name, .length = size};
    for (; kind->name; kind++)
        mt_nearest_offer(&nearest, kind->name);
    fprintf(out, "unknown change '%.*s'; %s", (int)size, name,
            nearest.found ? "did you mean '" : "use ");
    for (kind = mt_change_kinds; kind->name; kind++)
        if (!nearest.found || nearest.found == kind->name) {
            put_kind(out, kind);
            fputs(nearest.found ? "'?" : kind[1].name ? ", " : "", out);
        }
}

void mt_change_wrong(FILE *out, const char *name)
{
    const struct mt_change_kind *kind[MT_CHANGE_PARTS];
    size_t n = 0;
    for (const char *at = name; n < MT_CHANGE_PARTS; at++) {
        size_t size = strcspn(at, ":+");
        kind[n] = mt_change_kind_of(at, size);
        if (!kind[n++]) {
            put_unknown(out, at, size);
            return;
        }
        at += strcspn(at, "+");
        if (!*at)
            break;
    }
    fprintf(out, "invalid change '%s'; use ", name);
    for (size_t i = 0; i < n; i++) {
        fputs(i ? "+" : "", out);
        put_kind(out, kind[i]);
    }
}

static json_t *change_json(const struct mt_modelled_changes *changes,
                           const struct mt_modelled *change)
{
    json_t *name = mt_json_text(change->name);
    if (change->why_not)
        return json_pack("{s:o, s:s, s:n, s:s}", "change", name, "how", "modelled", "saves",
                         "why_not", change->why_not);
    char assumes[768] = "";
    for (size_t i = 0; i < MT_CHANGE_PARTS && change->kind[i]; i++)
        mt_text_append(assumes, sizeof assumes, "%s%s", i ? "; " : "", change->kind[i]->assumes);
    bool has_bound = !changes->rest && !change->other_peak && !change->is_untried;
    json_t *other = mt_json_number_or_null(change->other_peak);
    return json_pack(
        "{s:o, s:s, s:I, s:o, s:o, s:o, s:o, s:s, s:o, s:s?, s:o, s:o}", "change", name, "how",
        change->is_replayed ? "replayed" : "modelled", "saves", (json_int_t)change->saves,
        "new_peak", mt_json_number(change->peak), "peak_event", mt_json_number(change->moment),
        "operators_again", mt_json_number(change->operators), "saves_per_operator",
        mt_json_number(mt_saved_per_operator(changes, change)), "assumes", assumes,
        "error_per_thousand", has_bound ? json_integer((json_int_t)change->error) : json_null(),
        "through", changes->rest ? mt_reach_names[changes->rest->known] : NULL, "or_peak", other,
        "where", *change->where ? mt_json_text(change->where) : json_null());
}

json_t *mt_modelled_json(const struct mt_modelled_changes *changes)
{
    json_t *all = json_array();
    for (size_t i = 0; all && i < changes->n; i++)
        if (json_array_append_new(all, change_json(changes, &changes->change[i]))) {
            json_decref(all);
            return NULL;
        }
    return all;
}
