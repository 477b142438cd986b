/* SPDX-License-Identifier: Apache-2.0 */
/* What ran out, why, and what to paste: a line each, before all evidence. */
#include "analyzer/print/page.h"
#include "oom-report.h"

#include <string.h>

#define WIDTH 80u

void mt_oom_sentence(const struct mt_oom_story *story, const struct mt_analysis *analysis,
                     char *out, size_t size)
{
    static const struct mt_style plain = {0};
    const struct mt_page page = mt_page_of(analysis, NULL, &plain);
    const struct mt_oom *oom = story->oom;
    uint32_t line = mt_oom_line(page.definitions, oom);
    char wanted[MT_SIZE_TEXT], name[MT_SIZE_TEXT], where[200], on[MT_SIZE_TEXT + 8] = "";
    char phase[48] = "";
    if (analysis->n_devices > 1)
        snprintf(on, sizeof on, " on %s", mt_device_text(name, oom->device));
    const struct mt_spans *spans = story->device ? story->device->spans : NULL;
    if (story->span && spans &&
        (spans->serves || story->span->iteration || mt_span_is_beside(spans, story->span))) {
        mt_span_text(where, sizeof where, spans, story->span);
        bool has_article = !spans->serves && !strncmp(where, "the ", 4);
        snprintf(phase, sizeof phase, ", %.44s", where + (has_article ? 4 : 0));
    }
    size_t used = (size_t)snprintf(out, size, "Out of memory%s%s: %s", on, phase,
                                   mt_size_text(wanted, oom->wanted));
    if (!mt_stack(page.definitions, line)->depth || used >= size)
        return;
    mt_page_place(&page, line, where, sizeof where, sizeof where - 1);
    char *function = strchr(where, ' ');
    if (used + strlen(where) + 4 > WIDTH && function)
        *function = '\0'; /* the evidence has it */
    snprintf(out + used, size - used, " by %s", where);
}

bool mt_oom_is_grown(const struct mt_oom_story *story)
{
    return story->left > story->segment && story->left > story->oom->allocated / MT_GROWN_PART &&
           story->left > story->usable + story->on_card;
}

static void grown_text(const struct mt_oom_story *story, const struct mt_analysis *analysis,
                       char *out, size_t size)
{
    static const struct mt_style plain = {0};
    const struct mt_page page = mt_page_of(analysis, NULL, &plain);
    const struct mt_growth *kept = story->kept;
    char a[MT_SIZE_TEXT], b[MT_SIZE_TEXT], where[200], who[80] = "earlier iterations";
    if (story->of_forwards)
        snprintf(who, sizeof who, "%u forwards without a backward", kept->site[0].iterations);
    else if (story->device->spans->serves)
        snprintf(who, sizeof who, "earlier steps");
    size_t used =
        (size_t)snprintf(out, size, "%s left behind %s of the %s that is allocated", who,
                         mt_size_text(a, story->left), mt_size_text(b, story->oom->allocated));
    if (!kept->n || used >= size)
        return;
    mt_page_place(&page, kept->site[0].line, where, sizeof where, sizeof where - 1);
    snprintf(out + used, size - used, "%s %s",
             kept->n == 1                            ? ", by"
             : kept->site[0].bytes > story->left / 2 ? ", most of it by"
                                                     : ", the largest share by",
             where);
}

static void others_text(const struct mt_oom_story *story, const struct mt_analysis *analysis,
                        char *out, size_t size)
{
    char bytes[MT_SIZE_TEXT], where[250];
    mt_cached_text(where, sizeof where, analysis->replay.definitions, &story->device->cached_by,
                   MT_FREE_OTHERS);
    snprintf(out, size, "%s is free, but %s", mt_size_text(bytes, story->of_others), where);
}

/* Print the first cause that holds. The pieces are none where a replay with expandable segments
 * does not serve the request either. */
void mt_oom_cause(const struct mt_oom_story *story, const struct mt_analysis *analysis, char *out,
                  size_t size)
{
    char a[MT_SIZE_TEXT], b[MT_SIZE_TEXT], c[MT_SIZE_TEXT];
    const struct mt_oom *oom = story->oom;
    if (mt_oom_is_grown(story))
        grown_text(story, analysis, out, size);
    else if (oom->of_cuda)
        snprintf(out, size, "CUDA has no %s in one piece for the program's own call",
                 mt_size_text(a, oom->wanted));
    else if (oom->of_library)
        snprintf(out, size, "%s asked CUDA for it: of the card, %s is free, and PyTorch holds %s",
                 mt_library_of(analysis->replay.definitions, oom->stack),
                 story->on_card ? mt_size_text(a, story->on_card) : "too little",
                 mt_size_text(b, oom->reserved));
    else if (story->limit)
        snprintf(out, size,
                 "the program's memory fraction lets PyTorch reserve %s; %s of that are left",
                 mt_size_text(a, story->limit), mt_size_text(b, story->on_card));
    else if (story->is_in_pieces && story->more && !story->would_fit_expandable)
        snprintf(out, size,
                 "the card is full: %s is allocated, %s more would have served this request",
                 mt_size_text(a, oom->allocated), mt_size_text(b, story->more));
    else if (story->is_in_pieces)
        snprintf(out, size, "%s is free, in pieces that are too small: fragmentation",
                 mt_size_text(a, story->usable + story->on_card));
    else if (story->is_of_others)
        others_text(story, analysis, out, size);
    else if (story->missed_by)
        snprintf(out, size, "%s is allocated; all free memory together is %s too little",
                 mt_size_text(a, oom->allocated), mt_size_text(b, story->missed_by));
    else
        snprintf(out, size, "%s is allocated, %s of PyTorch's cache is unused, %s of the card",
                 mt_size_text(a, oom->allocated), mt_size_text(b, story->cached),
                 mt_size_text(c, story->on_card));
}

/* Return whether the advice is a remedy: it serves the request and, where what follows is modelled,
 * what comes next, too. */
static bool is_remedy(const struct mt_oom_story *story, const struct mt_advice *advice)
{
    return advice->served == MT_SERVED_YES &&
           (story->rest.known <= MT_REACH_REQUEST || advice->reach > MT_REACH_REQUEST);
}

/* Return whether a remedy comes before another one: where the run grew, or in a first forward or
 * backward whose rest is not known, what lets less be live, as much is still to come; then what was
 * replayed to serve the request, then what is modelled to come further, then the order in which it
 * stands, which is that of its cost. */
static bool is_better(const struct mt_oom_story *story, const struct mt_advice *one,
                      const struct mt_advice *other)
{
    if ((story->rest.is_first || mt_oom_is_grown(story)) && !one->set != !other->set)
        return !one->set;
    if (one->is_replayed != other->is_replayed)
        return one->is_replayed;
    return one->reach > other->reach;
}

static bool serves_request(const struct mt_oom_story *story)
{
    size_t i = 0;
    while (i < story->n_advice && story->advice[i].served != MT_SERVED_YES)
        i++;
    return i < story->n_advice;
}

/* Return the cheapest advice of which is not known whether it serves. */
static const struct mt_advice *first_unknown(const struct mt_oom_story *story)
{
    for (size_t i = 0; i < story->n_advice; i++)
        if (story->advice[i].served == MT_SERVED_UNKNOWN)
            return &story->advice[i];
    return NULL;
}

static const struct mt_advice *best_of(const struct mt_oom_story *story,
                                       const struct mt_advice *but)
{
    const struct mt_advice *best = NULL;
    for (size_t i = 0; i < story->n_advice; i++) {
        const struct mt_advice *advice = &story->advice[i];
        if (advice == but || !is_remedy(story, advice) || (but && advice->reach <= but->reach))
            continue;
        best = !best || is_better(story, advice, best) ? advice : best;
    }
    return best;
}

/* Write how advice that serves the request was tried, and how far the run comes with it. */
static void oom_reach_text(char *out, size_t size, const struct mt_advice *advice)
{
    const char *how = advice->is_replayed ? "replayed" : "modelled";
    if (advice->served == MT_SERVED_UNKNOWN)
        snprintf(out, size, "%s: may be served", how);
    else if (advice->reach <= MT_REACH_REQUEST)
        snprintf(out, size, "%s: this request is served; what follows is not known", how);
    else
        snprintf(out, size, "%s: through %s",
                 advice->is_replayed ? "replayed, modelled beyond" : how,
                 mt_reach_words[advice->reach]);
}

static void put(FILE *out, const char *text, const struct mt_style *style)
{
    mt_put_wrapped(out, text, WIDTH, style);
}

static void put_remedy(FILE *out, const char *label, const struct mt_oom_story *story,
                       const struct mt_advice *advice, const struct mt_style *style)
{
    char text[512], reach[120];
    oom_reach_text(reach, sizeof reach, advice);
    if (advice->set)
        snprintf(text, sizeof text, "%s export %s=%s (%s)", label, story->variable, advice->set,
                 reach);
    else
        snprintf(text, sizeof text, "%s %s%s%s (%s)", label, advice->what,
                 *advice->modules ? " of " : "", mt_modules_words(advice->modules), reach);
    put(out, text, style);
}

/* Put what helps a library: PyTorch gives nothing back for it. */
static void put_for_library(FILE *out, const struct mt_oom_story *story,
                            const struct mt_style *style)
{
    char text[200], a[MT_SIZE_TEXT];
    if (story->empty && story->missed_by <= story->empty)
        snprintf(text, sizeof text,
                 "Do: torch.cuda.empty_cache() before that line: %s of the cache is in empty "
                 "segments",
                 mt_size_text(a, story->empty));
    else if (story->missed_by && story->on_card)
        snprintf(text, sizeof text,
                 "Do: let PyTorch hold %s less by then: a smaller batch, checkpoints",
                 mt_size_text(a, story->missed_by));
    else
        snprintf(text, sizeof text,
                 "Do: let PyTorch hold less by then: a smaller batch, checkpoints");
    put(out, text, style);
}

void mt_oom_summary(const struct mt_oom_story *story, const struct mt_analysis *analysis, FILE *out,
                    const struct mt_style *style)
{
    char text[400], cause[300];
    mt_oom_sentence(story, analysis, text, sizeof text);
    put(out, text, style);
    mt_oom_cause(story, analysis, cause, sizeof cause);
    snprintf(text, sizeof text, "Why: %s", cause);
    put(out, text, style);
    const struct mt_advice *first = best_of(story, NULL);
    const struct mt_advice *other = first ? best_of(story, first) : NULL;
    const struct mt_advice *unknown = first ? NULL : first_unknown(story);
    if (story->oom->of_library)
        put_for_library(out, story, style);
    else if (first)
        put_remedy(out, "Do:", story, first, style);
    else if (unknown)
        put_remedy(out, "Try:", story, unknown, style);
    else if (serves_request(story))
        put(out,
            "Do: what was tried serves this request, and is not known to carry the run on; memtap "
            "plan tries more",
            style);
    else if (story->oom->of_cuda)
        put(out, "Do: request less, or free some of what is listed below first", style);
    else
        put(out, "Do: nothing that was tried is known to serve the request; memtap plan tries more",
            style);
    if (other)
        put_remedy(out, "Or:", story, other, style);
    putc('\n', out);
}
