/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "analyzer/model/user-line.h"
#include "analyzer/print/page.h"
#include "plan-report.h"

#define SETTINGS_SHOWN 8u

const char *mt_plan_phase(char out[MT_PLAN_PHASE], const struct mt_analysis *analysis, int device,
                          uint64_t event)
{
    const struct mt_device *found = mt_analysis_device(analysis, device);
    const struct mt_spans *spans = found ? found->spans : NULL;
    const struct mt_span *span = spans && event ? mt_spans_until(spans, event) : NULL;
    char where[MT_PLAN_PHASE];
    out[0] = '\0';
    if (!span)
        return out;
    mt_span_text(where, sizeof where, spans, span);
    int used = snprintf(out, MT_PLAN_PHASE, "in %s", where);
    if (span->iteration && used > 0 && (size_t)used < MT_PLAN_PHASE)
        snprintf(out + used, MT_PLAN_PHASE - (size_t)used, " of %u", spans->iterations);
    return out;
}

uint32_t mt_plan_line(const struct mt_analysis *analysis, const struct mt_request_totals *at)
{
    return mt_request_line(analysis->replay.definitions, at->stack, at->forward);
}

static const char *conf_text(const struct mt_plan_setting *setting)
{
    return *setting->conf ? setting->conf : "PyTorch's defaults";
}

static const char *allocations_text(char out[MT_SIZE_TEXT], uint64_t n)
{
    char count[MT_SIZE_TEXT];
    snprintf(out, MT_SIZE_TEXT, "%.16s allocation%s", mt_count_text(count, n), n == 1 ? "" : "s");
    return out;
}

static const char *times_text(char out[MT_SIZE_TEXT], uint64_t n)
{
    char count[MT_SIZE_TEXT];
    snprintf(out, MT_SIZE_TEXT, "%.16s time%s", mt_count_text(count, n), n == 1 ? "" : "s");
    return out;
}

/* Print what other settings begin with. */
static void print_state(const struct mt_plan *plan, FILE *out, const struct mt_style *style)
{
    char bytes[MT_SIZE_TEXT], text[400];
    const struct mt_requests *requests = plan->requests;
    uint64_t held = 0;
    if (!requests->is_late)
        return;
    for (size_t i = 0; i < requests->n_held; i++)
        held += requests->held[i].size;
    snprintf(text, sizeof text,
             held
                 ? "The recording began during the run. Each setting is tried from then on, with "
                   "the %s that PyTorch had reserved. With another setting from the start, PyTorch "
                   "might have reserved more or less by then."
                 : "The recording began during the run. Each setting is tried from then on, "
                   "without the memory that PyTorch had cached.",
             mt_size_text(bytes, held));
    mt_put_lines(out, style, text);
}

/* Print what the answers are based on. */
static void print_check(const struct mt_plan *plan, FILE *out, const struct mt_style *style)
{
    char a[MT_SIZE_TEXT], b[MT_SIZE_TEXT], text[900];
    const struct mt_plan_check *check = &plan->check;
    const struct mt_requests *requests = plan->requests;
    if (plan->is_exact) {
        snprintf(text, sizeof text,
                 "Replayed: with the recorded setting, allocated and reserved memory match to the "
                 "byte after all %s allocations and frees.",
                 mt_count_text(a, check->compared));
        mt_put_lines(out, style, text);
        print_state(plan, out, style);
        return;
    }
    snprintf(text, sizeof text,
             "Modelled: with the recorded setting, the totals match after %s of %s allocations "
             "and frees; reserved memory is off by up to %s.",
             mt_count_text(a, check->equal), mt_count_text(b, check->compared),
             mt_size_text((char[MT_SIZE_TEXT]){0}, check->most));
    mt_put_lines(out, style, text);
    if (plan->conf_problem[0]) {
        snprintf(text, sizeof text, "The recorded setting cannot be replayed: %s.",
                 plan->conf_problem);
        mt_put_lines(out, style, text);
    }
    if (requests->unread_confs) {
        snprintf(text, sizeof text,
                 "The program itself changes settings in a way that cannot be "
                 "replayed.");
        mt_put_lines(out, style, text);
    }
    if (check->ooms != requests->ooms) {
        snprintf(text, sizeof text, "Memory ran out %s in the run, and %s in its replay.",
                 times_text(a, requests->ooms), times_text(b, check->ooms));
        mt_put_lines(out, style, text);
    }
    if (requests->unknown) {
        snprintf(text, sizeof text,
                 "The trace lacks the requests of %s%s: the sizes of their blocks are used "
                 "instead, with one stream and pool.",
                 requests->unknown == requests->allocs ? "all " : "",
                 allocations_text(a, requests->unknown));
        mt_put_lines(out, style, text);
    }
    if (requests->from_before) {
        snprintf(text, sizeof text, "The trace lacks %s from before it begins.",
                 allocations_text(a, requests->from_before));
        mt_put_lines(out, style, text);
    }
    print_state(plan, out, style);
    if (!plan->knows_release)
        mt_put_lines(out, style, "PyTorch's version is not in the trace; the newest is assumed.");
}

/* Print the settings that the program makes itself, which override the environment. */
static void print_own_settings(const struct mt_plan *plan, FILE *out, const struct mt_style *style)
{
    char times[MT_SIZE_TEXT], how_often[MT_SIZE_TEXT + 16] = "";
    char safe[MT_PLAN_CONF], text[MT_PLAN_CONF + 320];
    const struct mt_requests *requests = plan->requests;
    if (!requests->n_confs)
        return;
    const char *last = requests->confs[requests->n_confs - 1];
    if (requests->n_confs > 1)
        snprintf(how_often, sizeof how_often, " %s, finally", times_text(times, requests->n_confs));
    mt_safe_text(safe, sizeof safe, *last ? last : "PyTorch's defaults", 0, MT_CUT_END, style);
    snprintf(
        text, sizeof text,
        "The program itself configures the allocator%s to %s. From then on, its settings override "
        "the same ones tried below, and max_split_size_mb, roundup_power2_divisions and "
        "garbage_collection_threshold in any case.",
        how_often, safe);
    mt_put_lines(out, style, text);
}

static void print_card(const struct mt_plan *plan, FILE *out, const struct mt_style *style)
{
    char card[MT_SIZE_TEXT], others[MT_SIZE_TEXT], device[MT_SIZE_TEXT], text[400], name[200];
    mt_device_text(device, plan->requests->device);
    mt_size_text(card, plan->card.total);
    if (plan->card.name)
        snprintf(name, sizeof name, "%s with %s", plan->card.name, card);
    else
        snprintf(name, sizeof name, "a card of %s", card);
    if (!plan->card.total)
        snprintf(text, sizeof text, "%s, card size unknown; pass --gpu or --memory", device);
    else if (plan->requests->knows_others)
        snprintf(text, sizeof text, "%s, %s, with up to %s used outside PyTorch", device, name,
                 mt_size_text(others, plan->requests->most_others));
    else
        snprintf(text, sizeof text, "%s, %s; use outside PyTorch is unknown", device, name);
    putc('\n', out);
    mt_put_lines(out, style, text);
}

/* Print a setting's row. alike: how many more settings have the same result. */
static void print_row(const struct mt_plan *plan, const struct mt_plan_setting *setting,
                      uint64_t recorded, size_t alike, FILE *out, const struct mt_style *style)
{
    char reserved[MT_SIZE_TEXT], change[MT_SIZE_TEXT], unused[MT_SIZE_TEXT], name[256];
    bool is_less = recorded > setting->peak_reserved;
    uint64_t difference =
        is_less ? recorded - setting->peak_reserved : setting->peak_reserved - recorded;
    mt_safe_text(name, sizeof name, conf_text(setting), 34, MT_CUT_END, style);
    fprintf(out, "%11s %c%10s %11s  %-4s  %s%s", mt_size_text(reserved, setting->peak_reserved),
            !difference ? ' '
            : is_less   ? '-'
                        : '+',
            difference ? mt_size_text(change, difference) : "",
            mt_size_text(unused, setting->peak_reserved - setting->peak_allocated),
            !plan->card.total ? "?"
            : setting->fits   ? "yes"
                              : "no",
            name,
            setting->is_recorded ? " *"
            : setting->is_async  ? " (modelled)"
                                 : "");
    if (alike)
        fprintf(out, " +%zu", alike);
    putc('\n', out);
}

static bool are_alike(const struct mt_plan_setting *a, const struct mt_plan_setting *b)
{
    return a->fits == b->fits && a->peak_reserved == b->peak_reserved && a->is_async == b->is_async;
}

static bool has_own_row(const struct mt_plan_setting *setting)
{
    return setting->is_recorded || setting->is_requested || !*setting->conf;
}

/* Count the settings with the same result as setting i that have no row of their own. */
static size_t count_alike(const struct mt_plan *plan, size_t i)
{
    size_t n = 0;
    for (size_t j = i + 1; j < plan->n && are_alike(&plan->setting[i], &plan->setting[j]); j++)
        n += !has_own_row(&plan->setting[j]);
    return n;
}

static void print_settings(const struct mt_plan *plan, FILE *out, const struct mt_style *style)
{
    const struct mt_plan_setting *recorded = mt_plan_recorded(plan), *before = NULL;
    uint64_t base = recorded ? recorded->peak_reserved : plan->requests->peak_reserved;
    size_t shown = 0, left = 0;
    bool lacks_graphs = false, lacks_streams = false;
    fputs("\n   reserved      change      unused  fits  setting (*: recorded; +N: N alike)\n", out);
    for (size_t i = 0; i < plan->n; i++) {
        const struct mt_plan_setting *setting = &plan->setting[i];
        bool is_alike = before && are_alike(before, setting);
        if (!is_alike)
            before = setting;
        if (has_own_row(setting) || (!is_alike && shown < SETTINGS_SHOWN)) {
            print_row(plan, setting, base, is_alike ? 0 : count_alike(plan, i), out, style);
            lacks_graphs |= setting->lacks_graphs;
            lacks_streams |= setting->is_async && !setting->fits && !plan->requests->others_streams;
            shown++;
        } else if (!is_alike) {
            left += 1 + count_alike(plan, i);
        }
    }
    if (plan->n && !plan->setting[plan->n - 1].fits)
        fputs("             (rows that do not fit were replayed without a memory limit)\n", out);
    if (lacks_streams && plan->card.total)
        fputs("             (backend:cudaMallocAsync: 70 MiB more, for streams it creates)\n", out);
    if (lacks_graphs)
        fputs("             (backend:cudaMallocAsync: memory of CUDA graphs is not modelled)\n",
              out);
    if (left)
        fprintf(out, "%11s  %s more; --format json lists %s\n",
                mt_count_text((char[MT_SIZE_TEXT]){0}, left),
                left == 1 ? "setting reserves" : "settings reserve", left == 1 ? "it" : "them");
}

static void print_floor(const struct mt_plan *plan, FILE *out)
{
    char live[MT_SIZE_TEXT], packed[MT_SIZE_TEXT], avoidable[MT_SIZE_TEXT];
    const struct mt_plan_setting *recorded = mt_plan_recorded(plan);
    uint64_t base = recorded ? recorded->peak_reserved : plan->requests->peak_reserved;
    uint64_t floor = plan->floor.packing ? plan->floor.packing : plan->floor.live;
    fprintf(out, "\n%11s  live at the peak, %s: no allocator needs less\n",
            mt_size_text(live, plan->floor.live),
            plan->requests->ooms ? "with the failed request" : "as requested");
    if (plan->floor.packing)
        fprintf(out, "%11s  smallest known packing of the recorded lifetimes\n",
                mt_size_text(packed, plan->floor.packing));
    if (base > floor)
        fprintf(out, "%11s  avoidable: %.1f %% of what the recorded setting reserves\n",
                mt_size_text(avoidable, base - floor),
                100.0 * (double)(base - floor) / (double)base);
}

static const char *const bars[] = {" ",      "\u2581", "\u2582", "\u2583", "\u2584",
                                   "\u2585", "\u2586", "\u2587", "\u2588"};
static const char *const plain[] = {" ", ".", ".", ":", ":", "+", "+", "#", "#"};

static void print_line(const struct mt_plan_setting *setting, uint64_t most, FILE *out,
                       const struct mt_style *style)
{
    for (unsigned i = 0; i < MT_PLAN_POINTS; i++) {
        unsigned height = (unsigned)((double)setting->unused[i] / (double)most * 8 + 0.5);
        fputs((style->utf8 ? bars : plain)[height > 8 ? 8 : height], out);
    }
}

/* Print the unused cache over time, for the recorded and the best setting. */
static void print_time(const struct mt_plan *plan, FILE *out, const struct mt_style *style)
{
    char size[MT_SIZE_TEXT];
    const struct mt_plan_setting *recorded = mt_plan_recorded(plan), *best = plan->setting;
    uint64_t most = 0;
    if (!recorded || !plan->n)
        return;
    for (unsigned i = 0; i < MT_PLAN_POINTS; i++) {
        most = most < recorded->unused[i] ? recorded->unused[i] : most;
        most = most < best->unused[i] ? best->unused[i] : most;
    }
    if (!most)
        return;
    fprintf(out, "\nReserved but unused, over the run (full height: %s)\n",
            mt_size_text(size, most));
    fputs("  recorded ", out);
    print_line(recorded, most, out, style);
    if (best != recorded) {
        fputs("\n  the best ", out);
        print_line(best, most, out, style);
    }
    putc('\n', out);
}

/* Print where the recorded setting, or the best, runs out of memory. */
static void print_oom(const struct mt_plan *plan, const struct mt_plan_setting *setting,
                      const struct mt_analysis *analysis, FILE *out, const struct mt_style *style)
{
    char wanted[MT_SIZE_TEXT], left[MT_SIZE_TEXT], place[512], safe[512], phase[MT_PLAN_PHASE];
    if (!setting || setting->fits || !plan->card.total)
        return;
    uint32_t line = mt_plan_line(analysis, setting->oom_at);
    mt_place_text(place, sizeof place, analysis->replay.definitions, line);
    mt_safe_text(safe, sizeof safe, line ? place : "an unknown line", 66, MT_CUT_END, style);
    mt_safe_text(place, sizeof place, conf_text(setting), 50, MT_CUT_END, style);
    mt_plan_phase(phase, analysis, plan->requests->device, setting->oom_at->event);
    fprintf(out, "\nDoes not fit with %s:\n  %s requested %s%sby %s;\n", place,
            mt_size_text(wanted, setting->oom.requested), phase, *phase ? "\n  " : "", safe);
    mt_size_text(wanted, setting->oom.wanted);
    if (setting->oom.limit)
        fprintf(out,
                "  PyTorch needs %s more and has reserved %s of the %s\n"
                "  that its memory fraction allows\n",
                wanted, mt_size_text(left, setting->oom.then.reserved),
                mt_size_text((char[MT_SIZE_TEXT]){0}, setting->oom.limit));
    else
        fprintf(out, "  PyTorch requests %s from CUDA; %s is free on the card\n", wanted,
                mt_size_text(left, setting->oom.card_free));
}

/* Print what the trace lacks. */
static void print_end(const struct mt_plan *plan, const struct mt_analysis *analysis, FILE *out,
                      const struct mt_style *style)
{
    struct mt_ended ended = mt_analysis_ended(analysis);
    if (plan->requests->ooms && ended.how == MT_ENDED_OUT_OF_MEMORY)
        mt_put_lines(out, style,
                     "The recorded run ran out of memory; what would have followed is unknown.");
    else if (plan->requests->ooms)
        mt_put_lines(
            out, style,
            "The run itself ran out of memory, caught the error and continued; the trace lacks "
            "what it would have requested otherwise.");
    else if (ended.how != MT_ENDED_WHOLE)
        mt_put_lines(out, style,
                     "The run is incomplete; what would have followed is not replayed.");
}

static void print_advice(const struct mt_plan *plan, FILE *out, const struct mt_style *style)
{
    const struct mt_plan_setting *best = plan->setting, *recorded = mt_plan_recorded(plan);
    char safe[MT_PLAN_CONF + 8];
    if (!plan->n || !best->fits || best->is_async) {
        if (plan->n && plan->card.total && !best->fits)
            fputs("\nNo setting fits this card.\n", out);
        return;
    }
    if (recorded && recorded->fits && best->peak_reserved >= recorded->peak_reserved) {
        fputs("\nNo setting reserves less than the recorded one.\n", out);
        return;
    }
    mt_safe_text(safe, sizeof safe, best->conf, 0, MT_CUT_END, style);
    if (*best->conf)
        fprintf(out, "\nTo use the best one:\n    export %s=%s\n", mt_plan_variable(plan), safe);
    else
        fprintf(out, "\nTo use the best one:\n    unset %s\n", mt_plan_variable(plan));
}

/* Print a device's plan. The main device has an answer; the others name the best setting. */
static void print_plan(const struct mt_plan *plan, bool has_answer,
                       const struct mt_analysis *analysis, FILE *out, const struct mt_style *style)
{
    const struct mt_plan_setting *recorded = mt_plan_recorded(plan);
    print_card(plan, out, style);
    print_check(plan, out, style);
    print_own_settings(plan, out, style);
    if (plan->n)
        print_settings(plan, out, style);
    print_floor(plan, out);
    print_time(plan, out, style);
    print_oom(plan, recorded, analysis, out, style);
    if (plan->n && plan->setting != recorded)
        print_oom(plan, plan->setting, analysis, out, style);
    print_end(plan, analysis, out, style);
    if (!has_answer || !plan->card.total)
        print_advice(plan, out, style);
}

void mt_plan_head_text(const struct mt_analysis *analysis, FILE *out, const struct mt_style *style)
{
    struct mt_page page = mt_page_of(analysis, out, style);
    mt_page_doubts(&page);
    mt_page_ended(&page);
    mt_page_head(&page);
}

void mt_plan_text(const struct mt_plan *plans, size_t n, const struct mt_analysis *analysis,
                  FILE *out, const struct mt_style *style)
{
    struct mt_page page = mt_page_of(analysis, out, style);
    for (size_t i = 0; i < n; i++)
        print_plan(&plans[i], &plans[i] == mt_plan_main(plans, n), analysis, out, style);
    mt_page_workspaces(&page);
    mt_page_notes(&page);
}
