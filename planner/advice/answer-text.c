/* SPDX-License-Identifier: Apache-2.0 */
#include "answer.h"

#include <stdlib.h>
#include <string.h>

#define WIDTH 80u
#define INDENT 4u
#define WAYS_SHOWN 8u
#define DOUBTFUL_SHOWN 3u /* of what may fit, where something fits for certain */

/* Put later lines stand below the first one, which begins with `label`. */
static void put_below(FILE *out, const char *label, const char *text, const struct mt_style *style)
{
    char *lines = NULL;
    size_t size;
    FILE *memory = open_memstream(&lines, &size);
    if (!memory)
        return;
    mt_put_wrapped(memory, text, WIDTH - INDENT, style);
    if (!mt_close_memory(memory))
        for (char *line = lines, *end; (end = strchr(line, '\n')); line = end + 1) {
            fprintf(out, "%*s%.*s\n", (int)INDENT, line == lines ? label : "", (int)(end - line),
                    line);
        }
    free(lines);
}

static void put_actions(FILE *out, const struct mt_way_words *words, const char *label,
                        const struct mt_style *style)
{
    char text[MT_WAY_TEXT + 8];
    for (size_t i = 0; i < words->n; i++) {
        if (!strncmp(words->action[i], "export ", 7)) { /* a line to paste */
            char line[MT_WAY_TEXT];
            mt_safe_text(line, sizeof line, words->action[i], 0, MT_CUT_END, style);
            fprintf(out, "%*s%s\n", (int)INDENT, i ? "" : label, line);
            continue;
        }
        snprintf(text, sizeof text, "%s%.*s", i ? "and " : "", (int)MT_WAY_TEXT, words->action[i]);
        put_below(out, i ? "" : label, text, style);
    }
}

static void put_way(FILE *out, const struct mt_plan_answer *answer, size_t i,
                    const struct mt_style *style)
{
    const struct mt_way *way = &answer->way[i];
    struct mt_way_words words;
    char label[16], text[3 * MT_WAY_TEXT], peak[MT_SIZE_TEXT], left[MT_SIZE_TEXT], how[64];
    mt_way_words(&words, answer, way);
    snprintf(label, sizeof label, "%zu. ", i + 1);
    put_actions(out, &words, label, style);
    if (way->is_replayed && answer->rest && answer->rest->known > MT_REACH_REQUEST)
        snprintf(how, sizeof how, "replayed to the request, modelled beyond");
    else if (way->is_replayed)
        snprintf(how, sizeof how, "replayed");
    else if (answer->rest || !way->error)
        snprintf(how, sizeof how, "modelled");
    else
        snprintf(how, sizeof how, "modelled, within %u.%u %% of the card", way->error / 10,
                 way->error % 10);
    snprintf(text, sizeof text, "Costs %s. Peak %s reserved, %s free (%s).", words.price,
             mt_size_text(peak, way->peak_reserved), mt_size_text(left, way->free), how);
    put_below(out, "", text, style);
}

static void put_ways(FILE *out, const struct mt_plan_answer *answer, const struct mt_style *style)
{
    char count[MT_SIZE_TEXT];
    unsigned was_known = answer->n ? mt_way_known(&answer->way[0]) : 0;
    size_t certain = 0, shown;
    while (certain < answer->n && answer->way[certain].served == MT_SERVED_YES)
        certain++;
    shown = certain ? certain + DOUBTFUL_SHOWN : WAYS_SHOWN;
    shown = shown > WAYS_SHOWN ? WAYS_SHOWN : shown;
    shown = shown > answer->n ? answer->n : shown;
    for (size_t i = 0; i < shown; i++) {
        unsigned known = mt_way_known(&answer->way[i]);
        if (known != was_known)
            fputs(known == 1
                      ? "Each of these serves the failed request; memory may run out again later:\n"
                      : "Each of these may make it fit; the model cannot tell:\n",
                  out);
        was_known = known;
        put_way(out, answer, i, style);
    }
    if (answer->n > shown)
        fprintf(out, "%s more; see --format json\n", mt_count_text(count, answer->n - shown));
    if (answer->is_cut)
        mt_put_lines(out, style,
                     "The trace is long, so not all combinations of changes were "
                     "tried.");
}

static void put_fits(FILE *out, const struct mt_plan_answer *answer, const struct mt_style *style)
{
    char text[240], left[MT_SIZE_TEXT];
    snprintf(text, sizeof text, "It fits as it is: at least %s of the card stays free (%s).%s",
             mt_size_text(left, answer->free), answer->plan->is_exact ? "replayed" : "modelled",
             answer->n ? " These leave more room:" : "");
    mt_put_lines(out, style, text);
    put_ways(out, answer, style);
}

static void put_nothing(FILE *out, const struct mt_plan_answer *answer,
                        const struct mt_style *style)
{
    struct mt_way_words words;
    char text[120], more[MT_SIZE_TEXT];
    mt_put_lines(out, style,
                 answer->changes ? "It does not fit. No setting, no change that memtap can "
                                   "model, and no pair of them makes it fit."
                                 : "It does not fit, and none of these settings makes it fit.");
    if (!answer->missing)
        return;
    mt_way_words(&words, answer, &answer->nearest);
    snprintf(text, sizeof text, "%s %s more than the card has%s",
             words.n ? "The nearest miss needs" : "As it is, it needs",
             mt_size_text(more, answer->missing), words.n ? ":" : ".");
    mt_put_lines(out, style, text);
    put_actions(out, &words, "", style);
}

static const char *heading(const struct mt_plan_answer *answer)
{
    if (answer->fits == MT_SERVED_UNKNOWN)
        return "It may fit as it is; the model cannot tell. Each of these makes it fit, the "
               "cheapest "
               "first:";
    if (mt_way_known(&answer->way[0]) == 1)
        return "It does not fit as it is: memory ran out, and nothing we tried is certain to "
               "keep it from running out again later. Each of these serves the failed request, the "
               "cheapest first:";
    if (answer->way[0].served != MT_SERVED_YES)
        return "It does not fit, and nothing makes it fit for certain. Each of these may, the "
               "cheapest first; the model cannot tell:";
    return answer->plan->requests->ooms && !answer->plan->is_other_card
               ? "It does not fit as it is: memory ran out. Each of these would make it fit, the "
                 "cheapest first:"
               : "It does not fit as it is. Each of these makes it fit, the cheapest first:";
}

/* Write how far "fits" goes, where the trace ends as memory ran out. */
static void put_through(FILE *out, const struct mt_rest *rest, const struct mt_style *style)
{
    char text[240 + MT_HANDLES_TEXT], of[96], handles[MT_HANDLES_TEXT];
    if (!rest)
        return;
    mt_rest_text(of, sizeof of, rest);
    mt_handles_text(handles, sizeof handles, &rest->handles, ", ");
    if (rest->known > MT_REACH_REQUEST)
        snprintf(text, sizeof text,
                 "\"Fits\" means through %s: replayed as far as the trace reaches, modelled "
                 "beyond, from "
                 "%s%s%s.",
                 mt_reach_words[rest->known], of, *handles ? ", " : "", handles);
    else
        snprintf(text, sizeof text,
                 "\"Fits\" means up to the failed request; what follows it is unknown.");
    mt_put_lines(out, style, text);
}

void mt_answer_text(const struct mt_plan_answer *answer, bool names_device, FILE *out,
                    const struct mt_style *style)
{
    if (names_device)
        fprintf(out, "\nThe answer, for device %d\n", answer->plan->requests->device);
    else
        fputs("\nThe answer\n", out);
    if (!answer->plan->card.total) {
        mt_put_lines(out, style, "Card size unknown; pass --gpu or --memory.");
    } else if (answer->fits == MT_SERVED_YES) {
        put_through(out, answer->rest, style);
        put_fits(out, answer, style);
    } else if (!answer->n) {
        put_nothing(out, answer, style);
    } else {
        put_through(out, answer->rest, style);
        mt_put_lines(out, style, heading(answer));
        put_ways(out, answer, style);
    }
}
