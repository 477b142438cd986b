/* SPDX-License-Identifier: Apache-2.0 */
/* memtap-check(1) describes the members. */
#include "analyzer/print/json.h"
#include "check-formats.h"
#include "check-words.h"
#include "compare/diff/diff-report.h"

#include <errno.h>
#include <stdbool.h>

static json_t *date(const struct mt_allowance *allowance)
{
    return json_sprintf("%04d-%02d-%02d", allowance->year, allowance->month, allowance->day);
}

static json_t *allowance_json(const struct mt_allowance *allowance)
{
    if (!allowance)
        return json_null();
    return json_pack("{s:o, s:o, s:o, s:o}", "limit", mt_json_text(allowance->limit), "extra",
                     mt_json_text(allowance->text), "reason", mt_json_text(allowance->reason),
                     "until", date(allowance));
}

static json_t *blame_json(const struct mt_blame *blame)
{
    const struct mt_digest_site *site = blame->site;
    if (!site)
        return json_null();
    return json_pack("{s:s, s:s, s:o, s:o, s:I, s:o, s:o, s:o, s:b, s:o, s:o, s:o}", "category",
                     mt_categories[site->category].name, "certainty",
                     mt_certainty_name(blame->certainty), "function", mt_json_text(site->function),
                     "file", mt_json_text(site->file), "line", (json_int_t)site->line, "operator",
                     mt_json_text_or_null(site->operator_name), "module",
                     mt_json_text_or_null(blame->module), "bytes", mt_json_number(blame->bytes),
                     "is_growth", blame->is_growth, "stack", mt_json_text(site->stack), "saver",
                     mt_diff_saver_json(blame->saver), "scale",
                     blame->scale ? json_real(blame->scale) : json_null());
}

/* Make an amount. Fragmentation is a fraction (0 to 1). */
static json_t *amount_json(const struct mt_finding *finding, uint64_t value)
{
    return finding->limit->subject == MT_OF_FRAGMENTATION ? json_real((double)value / 10000)
                                                          : mt_json_number(value);
}

static json_t *finding_json(const struct mt_finding *f)
{
    char text[MT_FINDING_TEXT], next[MT_FINDING_TEXT];
    bool has_base = f->n_baselines != 0, has_amount = mt_finding_has_amount(f);
    return json_pack(
        "{s:o, s:b, s:b, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:I, s:o, s:o, s:o, s:o}", "limit",
        mt_json_text(f->name), "holds", !f->is_broken, "known", !f->is_unknown, "trace",
        mt_json_text(f->run->path), "rank", mt_json_index(f->run->rank), "device",
        has_amount ? mt_json_index(f->device->device) : json_null(), "value",
        has_amount ? amount_json(f, f->value) : json_null(), "most",
        has_amount ? amount_json(f, f->most) : json_null(), "baseline",
        has_base ? amount_json(f, f->base) : json_null(), "spread",
        has_base ? amount_json(f, f->spread) : json_null(), "baselines", (json_int_t)f->n_baselines,
        "allowed", allowance_json(f->allowance), "blame", blame_json(&f->blame), "text",
        mt_json_text(mt_finding_text(text, f)), "next", mt_json_text(mt_finding_next(next, f)));
}

static json_t *expired_json(const struct mt_budget *budget)
{
    json_t *list = json_array();
    for (size_t i = 0; list && i < budget->n_allowances; i++)
        if (budget->allowance[i].has_expired)
            json_array_append_new(list, allowance_json(&budget->allowance[i]));
    return list;
}

static json_t *runs_json(const struct mt_check *check)
{
    json_t *list = json_array();
    for (size_t i = 0; list && i < check->n_runs; i++) {
        const struct mt_digest *run = &check->runs[i];
        json_array_append_new(list, json_pack("{s:o, s:o, s:b}", "trace", mt_json_text(run->path),
                                              "ended", mt_json_ended(&run->ended), "allowed",
                                              mt_is_allowed_end(check->allowed, &run->ended)));
    }
    return list;
}

int mt_check_json(const struct mt_check *check, FILE *out)
{
    json_t *list = json_array();
    int rc = 0;
    for (size_t i = 0; list && i < check->n && !rc; i++)
        rc = json_array_append_new(list, finding_json(&check->finding[i]));
    if (rc) {
        json_decref(list);
        list = NULL;
    }
    json_t *value = json_pack(
        "{s:s, s:o, s:o, s:b, s:I, s:o, s:o}", "schema", "memtap.check/1", "runs", runs_json(check),
        "budget", mt_json_text_or_null(check->budget->path), "holds", !check->broken, "broken",
        (json_int_t)check->broken, "limits", list, "expired", expired_json(check->budget));
    return mt_json_print(out, value, 0) == -ENOMEM ? -ENOMEM : 0;
}
