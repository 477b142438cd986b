/* SPDX-License-Identifier: Apache-2.0 */
#include "analyzer/support/to-integer.h"
#include "diff-report.h"

#include <stdlib.h>
#include <string.h>

static json_t *change_object(const struct mt_change *change)
{
    return json_pack("{s:o, s:o, s:I, s:o, s:b}", "old", mt_json_number(change->old), "new",
                     mt_json_number(change->now), "change", (json_int_t)mt_change_of(change),
                     "spread", mt_json_number(change->spread), "noise", change->is_noise);
}

static json_t *runs(const struct mt_digest *digests, size_t n)
{
    json_t *array = json_array();
    for (size_t i = 0; i < n; i++) {
        const struct mt_digest *run = &digests[i];
        json_array_append_new(
            array,
            json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:b, s:o}", "path",
                      mt_json_text(run->path), "ended", mt_json_ended(&run->ended), "program",
                      mt_json_text_or_null(run->program), "host", mt_json_text_or_null(run->host),
                      "torch", mt_json_text_or_null(run->torch), "rank", mt_json_index(run->rank),
                      "world_size", mt_json_index(run->world_size), "events",
                      mt_json_number(run->events), "lost", mt_json_number(run->lost), "complete",
                      run->complete, "fault", mt_json_text_or_null(run->fault)));
    }
    return array;
}

static json_t *peak(const struct mt_digest_device *device)
{
    return json_pack("{s:s, s:i}", "phase", mt_phase_names[device->phase].name, "iteration",
                     (int)device->iteration);
}

/* Return the line's old name; null: it kept its name. */
static json_t *renamed(const struct mt_diff_site *site)
{
    const struct mt_line *line = site->line;
    if (site->was)
        return json_pack("{s:o, s:o}", "file", mt_json_text(site->was->file), "function",
                         mt_json_text(site->was->function));
    if (!line->old_file && !line->old_function)
        return json_null();
    return json_pack("{s:o, s:o}", "file",
                     mt_json_text(line->old_file ? line->old_file : line->file), "function",
                     mt_json_text(line->old_function ? line->old_function : line->function));
}

static json_t *old_line(const struct mt_diff_site *site)
{
    uint32_t line = site->was ? site->was->line : site->line->old_line;
    return line ? json_integer(line) : json_null();
}

json_t *mt_diff_saver_json(const struct mt_digest_saver *saver)
{
    return saver ? json_pack("{s:o, s:o, s:I}", "function", mt_json_text(saver->function), "file",
                             mt_json_text(saver->file), "line", (json_int_t)saver->line)
                 : json_null();
}

static json_t *site_object(const struct mt_diff_site *site)
{
    const struct mt_line *line = site->line;
    json_t *object = json_pack(
        "{s:s, s:s, s:o, s:o, s:I, s:o, s:o, s:o, s:o, s:I, s:o, s:o, s:o, s:o}", "category",
        mt_categories[site->category].name, "kind", mt_diff_kind_names[site->kind], "function",
        mt_json_text(line->function), "file", mt_json_text(line->file), "line",
        (json_int_t)line->line, "old_line", old_line(site), "renamed_from", renamed(site),
        "operator", mt_json_text_or_null(site->operator_name), "module",
        mt_json_text_or_null(site->module), "blame", (json_int_t)mt_to_int64(site->blame), "bytes",
        change_object(&site->bytes), "blocks", change_object(&site->blocks), "allocations",
        change_object(&site->allocations), "stack", mt_json_text(site->stack));
    json_object_set_new(object, "certainty", json_string(mt_certainty_name(site->certainty)));
    json_object_set_new(object, "guess", site->guess ? json_string(site->guess) : json_null());
    json_object_set_new(object, "most", change_object(&site->most));
    json_object_set_new(object, "saver", mt_diff_saver_json(site->saver));
    json_object_set_new(object, "unused", change_object(&site->unused));
    char text[MT_DIFF_HELD_TEXT];
    mt_diff_held_text(text, site);
    json_t *held = *text ? mt_json_held_most(site->held) : json_null();
    if (*text)
        json_object_set_new(held, "text", mt_json_text(text));
    json_object_set_new(object, "held_by", held);
    json_object_set_new(object, "scaled", json_boolean(site->is_scaled));
    return object;
}

static json_t *sites(const struct mt_diff_device *device)
{
    json_t *array = json_array();
    for (size_t i = 0; i < device->n_sites; i++)
        if (mt_diff_is_shown(&device->site[i]) || device->site[i].is_scaled)
            json_array_append_new(array, site_object(&device->site[i]));
    return array;
}

static json_t *shares(const struct mt_diff_shares *shares)
{
    json_t *array = json_array();
    for (size_t i = 0; i < shares->n; i++)
        if (mt_change_of(&shares->share[i].bytes))
            json_array_append_new(array, json_pack("{s:o, s:o}", "name",
                                                   mt_json_text(shares->share[i].name), "bytes",
                                                   change_object(&shares->share[i].bytes)));
    return array;
}

/* Make the groups as memtap diff prints them: equal layers are one. */
static json_t *groups(const struct mt_diff_shares *of)
{
    struct mt_diff_shares folded;
    json_t *array = mt_diff_fold(&folded, of) ? NULL : shares(&folded);
    mt_diff_shares_clear(&folded);
    return array;
}

static const char *phase_name(size_t index)
{
    return mt_phase_names[index].name;
}

static void set_changes(json_t *object, const char *key, const struct mt_change *changes, size_t n,
                        const char *(*name)(size_t index))
{
    json_t *inner = json_object();
    for (size_t i = 0; i < n; i++)
        json_object_set_new(inner, name(i), change_object(&changes[i]));
    if (name == phase_name) /* what OUTSIDE was called before 0.1 */
        json_object_set_new(inner, "startup", change_object(&changes[MT_PHASE_OUTSIDE]));
    json_object_set_new(object, key, inner);
}

static const char *category_name(size_t index)
{
    return mt_categories[index].name;
}

static json_t *device_object(const struct mt_diff_device *device)
{
    const struct {
        const char *name;
        const struct mt_change *change;
    } totals[] = {{"allocated", &device->allocated}, {"reserved", &device->reserved},
                  {"cached", &device->cached},       {"unseen", &device->unseen},
                  {"at_end", &device->at_end},       {"growth", &device->growth}};
    json_t *object =
        json_pack("{s:o, s:o, s:b, s:b, s:o, s:o}", "rank", mt_json_index(device->rank), "device",
                  mt_json_index(device->device), "same", mt_diff_is_same(device), "peak_moved",
                  device->peak_moved, "old_peak", peak(device->old), "new_peak", peak(device->now));
    for (size_t i = 0; i < sizeof totals / sizeof *totals; i++)
        json_object_set_new(object, totals[i].name, change_object(totals[i].change));
    json_object_set_new(object, "compared_in",
                        device->in_phase < 0 ? json_null()
                                             : json_string(phase_name((size_t)device->in_phase)));
    json_object_set_new(object, "scale",
                        device->scale ? json_pack("{s:f, s:I, s:o}", "factor", device->scale,
                                                  "lines", (json_int_t)device->n_scaled, "bytes",
                                                  change_object(&device->scaled))
                                      : json_null());
    json_object_set_new(object, "process", mt_json_text_or_null(device->process));
    json_object_set_new(object, "compared", change_object(&device->compared));
    set_changes(object, "categories", device->category, mt_n_categories, category_name);
    json_t *certainty = json_object();
    for (unsigned i = 0; i < mt_n_categories; i++)
        json_object_set_new(certainty, mt_categories[i].name,
                            json_string(mt_certainty_name(device->certainty[i])));
    json_object_set_new(object, "certainty", certainty);
    set_changes(object, "phases", device->phase, MT_PHASE_COUNT, phase_name);
    json_object_set_new(object, "sites", sites(device));
    json_object_set_new(object, "modules", shares(&device->modules));
    json_object_set_new(object, "module_groups", groups(&device->modules));
    json_object_set_new(object, "operators", shares(&device->operators));
    return object;
}

static json_t *lines(char *text)
{
    json_t *array = json_array();
    char *rest = text;
    for (const char *line; text && (line = strsep(&rest, "\n")) && *line;)
        json_array_append_new(array, mt_json_text(line));
    free(text);
    return array;
}

static json_t *parts(const struct mt_diff *diff, bool is_missing)
{
    char text[2 * MT_PART_NAME];
    json_t *array = json_array();
    for (size_t i = 0; i < diff->parts.n; i++) {
        const struct mt_run_part *part = &diff->parts.part[i];
        if (part->is_missing == is_missing)
            json_array_append_new(
                array,
                json_pack("{s:s, s:o, s:o, s:o, s:o, s:o}", "kind", mt_part_kind_names[part->kind],
                          "name", mt_json_text(part->name), "text",
                          mt_json_text(mt_part_text(text, part)), "trace",
                          mt_json_text(part->has->path), "rank", mt_json_index(part->has->rank),
                          "allocated", mt_json_number(part->device ? part->device->allocated : 0)));
    }
    return array;
}

json_t *mt_diff_object(const struct mt_diff *diff)
{
    char verdict[MT_WORDS];
    const struct mt_diff_device *main = mt_diff_main_device(diff);
    json_t *devices = json_array();
    int same = !diff->parts.n;
    for (size_t i = 0; i < diff->n_devices; i++) {
        same &= mt_diff_is_same(&diff->device[i]);
        json_array_append_new(devices, device_object(&diff->device[i]));
    }
    mt_diff_verdict(verdict, sizeof verdict, diff);
    return json_pack("{s:s, s:o, s:b, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "schema",
                     "memtap.diff/1", "verdict", mt_json_text(verdict), "same", same, "doubts",
                     lines(mt_diff_doubts(diff)), "other_changes", lines(mt_diff_changes(diff)),
                     "old", runs(diff->old, diff->n_old), "new", runs(diff->now, diff->n_new),
                     "main", main ? json_integer(main - diff->device) : json_null(), "devices",
                     devices, "missing", parts(diff, true), "added", parts(diff, false));
}

int mt_diff_json(const struct mt_diff *diff, FILE *out)
{
    return mt_json_print(out, mt_diff_object(diff), 0);
}
