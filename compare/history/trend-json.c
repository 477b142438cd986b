/* SPDX-License-Identifier: Apache-2.0 */
#include "analyzer/print/json.h"
#include "trend.h"

#include <errno.h>
#include <string.h>

#define MOST_SITES 50u

static json_t *run_object(const struct mt_run *run)
{
    return json_pack("{s:I, s:o, s:o, s:o}", "run", (json_int_t)run->id, "ended",
                     mt_json_text_or_null(run->ended), "started_unix_ns",
                     mt_json_number(run->started_unix_ns), "commit",
                     mt_json_text(run->text[MT_RUN_COMMIT]));
}

static json_t *step_object(const struct mt_trend *trend, const struct mt_step *step)
{
    return json_pack("{s:I, s:I, s:f, s:f}", "run", (json_int_t)trend->runs.run[step->at].id,
                     "previous", (json_int_t)trend->runs.run[step->at - 1].id, "before",
                     step->before, "after", step->after);
}

static json_t *drift_object(const struct mt_trend *trend, const struct mt_drift *drift)
{
    return json_pack("{s:I, s:I, s:f}", "from", (json_int_t)trend->runs.run[drift->from].id, "to",
                     (json_int_t)trend->runs.run[drift->to - 1].id, "per_run", drift->slope);
}

static json_t *series_object(const struct mt_trend *trend, unsigned series)
{
    const struct mt_changes *changes = &trend->changes[series];
    json_t *bytes = json_array(), *steps = json_array(), *drifts = json_array();
    for (size_t i = 0; i < trend->runs.n; i++)
        json_array_append_new(bytes, mt_json_number(trend->runs.run[i].bytes[series]));
    for (size_t i = 0; i < changes->n_steps; i++)
        json_array_append_new(steps, step_object(trend, &changes->step[i]));
    for (size_t i = 0; i < changes->n_drifts; i++)
        json_array_append_new(drifts, drift_object(trend, &changes->drift[i]));
    return json_pack("{s:s, s:o, s:o, s:o}", "name", mt_series(series).name, "bytes", bytes,
                     "steps", steps, "drifts", drifts);
}

static json_t *site_object(const struct mt_site_change *site)
{
    return json_pack("{s:o, s:s, s:o, s:o, s:I, s:o, s:o, s:o, s:o, s:o}", "category",
                     mt_json_text(site->category), "certainty", mt_certainty_name(site->certainty),
                     "function", mt_json_text(site->function), "file", mt_json_text(site->file),
                     "line", (json_int_t)site->line, "operator", mt_json_text(site->operator_name),
                     "module", mt_json_text(site->module), "was",
                     site->was ? mt_json_text(site->was) : json_null(), "before",
                     mt_json_number(site->before), "after", mt_json_number(site->after));
}

static json_t *causes(const struct mt_run *before, const struct mt_run *after)
{
    json_t *object = json_object();
    for (size_t i = 0; i < mt_run_causes_count; i++) {
        enum mt_run_text cause = mt_run_causes[i];
        if (strcmp(before->text[cause], after->text[cause]))
            json_object_set_new(object, mt_run_text_names[cause],
                                json_pack("[o, o]", mt_json_text(before->text[cause]),
                                          mt_json_text(after->text[cause])));
    }
    return object;
}

/* Make a night with all that changed at it. */
static json_t *night_object(const struct mt_trend *trend, struct mt_store *store,
                            const struct mt_trend_step *step)
{
    const struct mt_run *before = &trend->runs.run[step->at - 1], *after = before + 1;
    json_t *series = json_array(), *sites = json_array();
    struct mt_site_changes changes;
    for (unsigned i = 0; i < mt_series_count(); i++)
        if (step->of[i])
            json_array_append_new(series, json_string(mt_series(i).name));
    mt_site_changes_find(&changes, store, before->id, after->id, MOST_SITES);
    for (size_t i = 0; i < changes.n; i++)
        json_array_append_new(sites, site_object(&changes.site[i]));
    mt_site_changes_clear(&changes);
    return json_pack("{s:o, s:o, s:o, s:o, s:o}", "before", run_object(before), "after",
                     run_object(after), "series", series, "differs", causes(before, after), "sites",
                     sites);
}

int mt_trend_json(const struct mt_trend *trend, struct mt_store *store, FILE *out)
{
    json_t *runs = json_array(), *left_out = json_array(), *series = json_array(),
           *nights = json_array();
    size_t n = trend->runs.n;
    const struct mt_run *newest = n ? &trend->runs.run[n - 1] : NULL;
    for (size_t i = 0; i < n; i++)
        json_array_append_new(runs, run_object(&trend->runs.run[i]));
    for (unsigned i = 0; i < mt_series_count(); i++)
        json_array_append_new(series, series_object(trend, i));
    for (size_t i = 0; i < trend->n_steps; i++)
        json_array_append_new(nights, night_object(trend, store, &trend->step[i]));
    for (size_t i = 0; i < trend->left_out.n; i++)
        json_array_append_new(left_out, run_object(&trend->left_out.run[i]));
    json_t *object =
        json_pack("{s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "schema", "memtap.trend/1", "program",
                  mt_json_text(newest ? newest->text[MT_RUN_PROGRAM] : ""), "branch",
                  mt_json_text(newest ? newest->text[MT_RUN_BRANCH] : ""), "left_out",
                  mt_json_number(trend->left_out.n), "left_out_runs", left_out, "runs", runs,
                  "series", series, "nights", nights);
    if (store->failed) {
        json_decref(object);
        return -EIO;
    }
    return mt_json_print(out, object, 0);
}
