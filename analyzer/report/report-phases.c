/* SPDX-License-Identifier: Apache-2.0 */
/* The report's parts about time: phases, how the peak would move, growth. */
#include "analyzer/print/page.h"
#include "analyzer/support/text.h"

#include <inttypes.h>

#include <string.h>

#define GROWTH_SHOWN 5u
#define WHERE_WIDTH 64u

void mt_span_text(char *out, size_t size, const struct mt_spans *spans, const struct mt_span *span)
{
    if (spans->serves && mt_serving_is_step((enum mt_serving)span->serving))
        snprintf(out, size, "%s %u", mt_serving_names[span->serving].where, span->iteration);
    else if (spans->serves && span->serving && span->iteration)
        snprintf(out, size, "%s after step %u", mt_serving_names[span->serving].where,
                 span->iteration);
    else if (spans->serves && span->serving)
        snprintf(out, size, "%s", mt_serving_names[span->serving].where);
    else if (mt_span_is_beside(spans, span) && span->iteration)
        snprintf(out, size, "the evaluation after iteration %u", span->iteration);
    else if (mt_span_is_beside(spans, span))
        snprintf(out, size, "the evaluation before training");
    else if (span->iteration && span->is_past)
        snprintf(out, size, "the %s after iteration %u",
                 span->phase == MT_PHASE_OUTSIDE ? "code" : mt_phase_names[span->phase].label,
                 span->iteration);
    else if (span->iteration && span->phase == MT_PHASE_OUTSIDE)
        snprintf(out, size, "iteration %u", span->iteration);
    else if (span->iteration)
        snprintf(out, size, "the %s%s of iteration %u", mt_phase_names[span->phase].label,
                 span->phase == MT_PHASE_STEP ? "" : " pass", span->iteration);
    else
        snprintf(out, size, "%s", mt_phase_names[span->phase].label);
}

void mt_moment_text(char *out, size_t size, const struct mt_device *device,
                    const struct mt_span *span)
{
    struct mt_span code = *span;
    if (span->is_past && mt_device_part(device) == MT_PART_AFTER)
        code.phase = MT_PHASE_OUTSIDE;
    mt_span_text(out, size, device->spans, &code);
}

const char *mt_loop_text(const struct mt_turns *turns, char *out, size_t size)
{
    char safe[256];
    if (turns->named) {
        mt_safe_text(safe, sizeof safe, turns->name, 60, MT_CUT_END, &(struct mt_style){.utf8 = 1});
        snprintf(out, size, "the range %s", safe);
        return out;
    }
    const struct mt_frame *frame = turns->caller ? turns->caller : turns->frame;
    uint32_t line = turns->caller ? frame->line : turns->line;
    mt_safe_text(safe, sizeof safe, mt_last_part(frame->file), 60, MT_CUT_BEGIN,
                 &(struct mt_style){.utf8 = 1});
    if (line)
        snprintf(out, size, "%s%s:%" PRIu32, turns->caller ? "a loop called from " : "", safe,
                 line);
    else
        snprintf(out, size, "%s", frame->function);
    return out;
}

/* Write how iterations were counted: "turns of train.py:12", "by optimizer steps"; "": not at all.
 */
static const char *counted_text(const struct mt_spans *spans, char *out, size_t size)
{
    static const char *const texts[] = {[MT_COUNTED_FORWARDS] = "by forward passes",
                                        [MT_COUNTED_BACKWARDS] = "by backward passes",
                                        [MT_COUNTED_STEPS] = "by optimizer steps",
                                        [MT_COUNTED_REQUESTS] = "",
                                        [MT_COUNTED_NOT] = ""};
    char loop[300];
    if (spans->turns && !spans->turns->are_steps)
        snprintf(out, size, spans->turns->named ? "by %s" : "turns of %s",
                 mt_loop_text(spans->turns, loop, sizeof loop));
    else if (spans->loop && spans->loop->frame)
        snprintf(out, size, "%s in %s%s",
                 spans->counted == MT_COUNTED_STEPS ? "steps" : "backward passes",
                 spans->loop->caller ? "" : "the loop at ",
                 mt_loop_text(spans->loop, loop, sizeof loop));
    else
        snprintf(out, size, "%s", texts[spans->counted]);
    if (spans->turns && spans->turns->threads > 1) {
        size_t used = strlen(out);
        snprintf(out + used, size - used, ", in %s %" PRIu32 " threads",
                 spans->turns->differ ? "the busiest of" : "each of", spans->turns->threads);
    }
    return out;
}

/* Say why turns of the program's loop are not the iterations, where they might be. */
static void put_uncounted(const struct mt_page *page, const struct mt_device *device)
{
    const struct mt_replay *replay = &page->analysis->replay;
    char count[MT_SIZE_TEXT];
    if (!mt_spans_may_turn(device->spans))
        return;
    if (replay->visits.gave_up)
        fprintf(page->out,
                "  loop turns not counted: the allocating line changed more than %s times\n",
                mt_count_text(count, MT_VISITS_MOST));
    else if (replay->survey.short_lived)
        fputs("  loop turns not counted: a light recording lacks short-lived blocks\n", page->out);
    else if (mt_definitions_stack_limit(replay->definitions) <= 1)
        fputs("  no lines or loop turns: recorded without stacks (memtap run --stacks)\n",
              page->out);
}

void mt_page_phase(const struct mt_page *page, const struct mt_device *device)
{
    char where[WHERE_WIDTH * 4 + 1];
    if (device->at.range) {
        mt_page_range_text(page, device->at.range, where, sizeof where, WHERE_WIDTH);
        fprintf(page->out, "  in the range %s\n", where);
    }
    if (!device->span)
        return;
    if (device->of_cuda && !device->spans->iterations) { /* nor phases, without PyTorch */
        put_uncounted(page, device);
        return;
    }
    bool is_over = mt_device_part(device) == MT_PART_AFTER && !device->span->is_past;
    mt_moment_text(where, sizeof where, device, device->span);
    int used = fprintf(page->out, "  %s %s", is_over ? "after" : "in", where);
    if (device->spans->iterations && device->span->iteration)
        used += fprintf(page->out, " of %u", device->spans->iterations);
    if (device->span->iteration && *counted_text(device->spans, where, sizeof where))
        fprintf(page->out, "%s(%s)", (size_t)used + strlen(where) + 3 > page->width ? "\n  " : " ",
                where);
    putc('\n', page->out);
    put_uncounted(page, device);
}

/* Return the largest category that every iteration allocates again, and that can be reduced. */
static enum mt_category largest_passing(const struct mt_device *device)
{
    static const enum mt_category passing[] = {MT_CATEGORY_ACTIVATIONS, MT_CATEGORY_GRADIENTS,
                                               MT_CATEGORY_TEMPORARIES, MT_CATEGORY_INPUTS};
    enum mt_category best = passing[0];
    for (size_t i = 1; i < sizeof passing / sizeof *passing; i++)
        if (device->category[passing[i]].bytes > device->category[best].bytes)
            best = passing[i];
    return best;
}

void mt_page_movement(const struct mt_page *page, const struct mt_device *device)
{
    char where[64], size[MT_SIZE_TEXT], less[MT_SIZE_TEXT];
    const struct mt_span *next = device->next;
    if (!device->is_peak || !device->span || !next || !next->iteration)
        return;
    uint64_t distance = device->at.allocated - next->most;
    enum mt_category category = largest_passing(device);
    mt_span_text(where, sizeof where, device->spans, next);
    fprintf(page->out, "\nHighest in any other phase: %s in %s.\n", mt_size_text(size, next->most),
            where);
    if (device->category[category].bytes > distance)
        fprintf(page->out, "Saving more than %s of %s moves the peak there.\n",
                mt_size_text(less, distance), mt_category_noun(category));
}

void mt_page_growth_site(const struct mt_page *page, const struct mt_growth *growth, size_t site,
                         const char *each)
{
    const struct mt_growth_site *row = &growth->site[site];
    char size[MT_SIZE_TEXT], count[32], place[160];
    mt_page_place(page, row->line, place, sizeof place, 38);
    if (row->iterations < growth->before)
        snprintf(count, sizeof count, "%u of %u", row->iterations, growth->before);
    else
        snprintf(count, sizeof count, "%u", row->iterations);
    fprintf(page->out, "%11s in %s %ss %c%-15s %s\n", mt_size_text(size, row->bytes), count, each,
            mt_certainty_mark(row->certainty), mt_categories[row->category].label, place);
    mt_page_held(page, &row->held, row->bytes);
}

void mt_page_growth(const struct mt_page *page, const struct mt_device *device)
{
    char size[MT_SIZE_TEXT], loop[300];
    const struct mt_growth *growth = &device->growth;
    if (!growth->per_iteration)
        return;
    const char *word = growth->turns ? "turn" : device->spans->serves ? "step" : "iteration";
    uint64_t left;
    uint32_t every = mt_growth_rhythm(growth, &left);
    mt_size_text(size, left);
    if (growth->turns)
        fprintf(page->out, "\nGrowth: each turn of %s leaves %s more allocated.\n",
                mt_loop_text(growth->turns, loop, sizeof loop), size);
    else if (every > 1)
        fprintf(page->out, "\nGrowth: every %u %ss leave %s more allocated.\n", every, word, size);
    else
        fprintf(page->out, "\nGrowth: each %s %s %s more allocated.\n", word,
                growth->is_likely ? "may leave" : "leaves", size);
    if (!growth->n)
        fputs("No line leaves blocks behind: larger blocks replace smaller ones.\n", page->out);
    size_t rows = mt_filter_rows(mt_page_filter(page), growth->n, GROWTH_SHOWN);
    for (size_t i = 0; i < rows; i++)
        if (mt_filter_has(mt_page_filter(page), growth->site[i].category))
            mt_page_growth_site(page, growth, i, word);
}
