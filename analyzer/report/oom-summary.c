/* SPDX-License-Identifier: Apache-2.0 */
/* What ran out, why, and what to paste: a line each, before all evidence. */
#include "analyzer/print/page.h"
#include "analyzer/remarks/remark.h"
#include "oom-report.h"
#include "report.h"

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
    char phase[80] = "";
    if (analysis->n_devices > 1)
        snprintf(on, sizeof on, " on %s", mt_device_text(name, oom->device));
    const struct mt_spans *spans = story->device->spans;
    if (story->span && spans &&
        (spans->serves || story->span->iteration || mt_span_is_beside(spans, story->span))) {
        mt_moment_text(where, sizeof where, story->device, story->span);
        const char *pass = spans->serves ? NULL : strstr(where, " pass of ");
        if (pass) /* the line has no room for "in the forward pass of" */
            snprintf(phase, sizeof phase, " in %.*s, %.44s", (int)(pass - where - 4), where + 4,
                     pass + strlen(" pass of "));
        else if (!strncmp(where, "the code ", 9))
            snprintf(phase, sizeof phase, " in %.44s", where);
        else
            snprintf(phase, sizeof phase, ", %.44s",
                     where + (!spans->serves && !strncmp(where, "the ", 4) ? 4 : 0));
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
    char bytes[MT_SIZE_TEXT], where[350];
    mt_cached_text(where, sizeof where, analysis->replay.definitions, &story->device->cached_by,
                   MT_FREE_OTHERS);
    snprintf(out, size, "%s is free, but %s", mt_size_text(bytes, story->of_others), where);
}

/* Return the bytes of the card, if the request alone is larger; 0: it is not, or the card is
 * unknown. */
static uint64_t smaller_card(const struct mt_oom_story *story)
{
    uint64_t card = story->device->balance.total;
    return story->oom->wanted > card ? card : 0;
}

/* Print the first cause that holds. The pieces are none where a replay with expandable segments
 * does not serve the request either. */
void mt_oom_cause(const struct mt_oom_story *story, const struct mt_analysis *analysis, char *out,
                  size_t size)
{
    char a[MT_SIZE_TEXT], b[MT_SIZE_TEXT], c[MT_SIZE_TEXT];
    const struct mt_oom *oom = story->oom;
    if (smaller_card(story))
        snprintf(out, size, "the request alone is larger than the card, which has %s",
                 mt_size_text(a, smaller_card(story)));
    else if (mt_oom_is_grown(story))
        grown_text(story, analysis, out, size);
    else if (oom->of_cuda)
        snprintf(out, size, "CUDA could not provide %s in one piece for the program's own call",
                 mt_size_text(a, oom->wanted));
    else if (oom->of_library)
        snprintf(out, size,
                 "%s requested it from CUDA; %s of the card is free, and PyTorch "
                 "holds %s",
                 mt_library_of(analysis->replay.definitions, oom->stack),
                 story->on_card ? mt_size_text(a, story->on_card) : "too little",
                 mt_size_text(b, oom->reserved));
    else if (story->limit)
        snprintf(out, size,
                 "the program's memory fraction limits PyTorch to %s; %s of that is left",
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
        snprintf(out, size, "%s is allocated; the request exceeds all free memory by %s",
                 mt_size_text(a, oom->allocated), mt_size_text(b, story->missed_by));
    else
        snprintf(out, size, "%s is allocated; %s of PyTorch's cache and %s of the card are unused",
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

/* Return the first remedy after a place, or the first that was replayed; NULL: there is none. */
static const struct mt_advice *remedy_from(const struct mt_oom_story *story, size_t i,
                                           bool is_replayed)
{
    for (; i < story->n_advice; i++)
        if (is_remedy(story, &story->advice[i]) && (!is_replayed || story->advice[i].is_replayed))
            return &story->advice[i];
    return NULL;
}

/* Return the first advice of which that is known of the request; NULL: there is none. */
static const struct mt_advice *first_served(const struct mt_oom_story *story, enum mt_served served)
{
    for (size_t i = 0; i < story->n_advice; i++)
        if (story->advice[i].served == served)
            return &story->advice[i];
    return NULL;
}

/* Write how advice that serves the request was tried, and how far the run comes with it. */
static void oom_reach_text(char *out, size_t size, const struct mt_advice *advice)
{
    const char *how = advice->is_replayed ? "replayed" : "modelled";
    if (advice->served == MT_SERVED_UNKNOWN)
        snprintf(out, size, "%s: may be served", how);
    else if (advice->reach <= MT_REACH_REQUEST)
        snprintf(out, size, "%s: serves this request; what follows is unknown", how);
    else
        snprintf(out, size, "%s: through %s",
                 advice->is_replayed ? "replayed, modelled beyond" : how,
                 mt_reach_words[advice->reach]);
}

static void put(FILE *out, const char *text, const struct mt_style *style)
{
    mt_put_wrapped(out, text, WIDTH, style);
}

static void remedy_text(char *out, size_t size, const struct mt_oom_story *story,
                        const struct mt_advice *advice)
{
    char reach[120];
    oom_reach_text(reach, sizeof reach, advice);
    if (!strcmp(advice->change, "set") && *advice->set)
        snprintf(out, size, "export %s=%s (%s)", story->variable, advice->set, reach);
    else
        snprintf(out, size, "%s (%s)", advice->what, reach);
}

void mt_oom_remedy(const struct mt_oom_story *story, char *out, size_t size)
{
    const struct mt_advice *first = remedy_from(story, 0, false);
    *out = '\0';
    if (first)
        remedy_text(out, size, story, first);
}

static void put_remedy(FILE *out, const char *label, const struct mt_oom_story *story,
                       const struct mt_advice *advice, const struct mt_style *style)
{
    char text[MT_ADVICE_TEXT + 160];
    size_t used = (size_t)snprintf(text, sizeof text, "%s ", label);
    remedy_text(text + used, sizeof text - used, story, advice);
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
                 "Do: reduce PyTorch's memory at that line by %s: a smaller batch, checkpointing",
                 mt_size_text(a, story->missed_by));
    else
        snprintf(text, sizeof text,
                 "Do: reduce PyTorch's memory at that line: a smaller batch, checkpointing");
    put(out, text, style);
}

/* Return the bytes that the request lacks, as far as known; the request, where it is not. */
static uint64_t lacking(const struct mt_oom_story *story)
{
    return story->more ? story->more : story->missed_by ? story->missed_by : story->segment;
}

/* Put that what is allocated is as many buffers, none large enough for the next request. */
static void put_rising(FILE *out, const struct mt_oom_story *story,
                       const struct mt_analysis *analysis, const struct mt_style *style)
{
    char text[700] = "Kept: ";
    if (!story->device->rising.n)
        return;
    mt_rising_text(text + 6, sizeof text - 6, analysis->replay.definitions, &story->device->rising);
    put(out, text, style);
}

/* Put that garbage is as much as the request lacks. Return whether it is. */
static bool put_garbage(FILE *out, const struct mt_oom_story *story, const struct mt_style *style)
{
    const struct mt_held_most *held = &story->device->held_by[MT_HELD_GARBAGE];
    char text[MT_HOLDER_TEXT + 200], bytes[MT_SIZE_TEXT];
    if (!held->path || held->is_later || held->bytes < lacking(story))
        return false;
    snprintf(text, sizeof text, "Do: gc.collect() before it: %s%s is garbage, %s",
             held->is_then ? "" : "at least ", mt_size_text(bytes, held->bytes), held->path);
    put(out, text, style);
    return true;
}

/* Put that a pool of CUDA's has free memory, at least as much as the request lacks. Return whether
 * it has. */
static bool put_cuda_pool(FILE *out, const struct mt_oom_story *story,
                          const struct mt_analysis *analysis, const struct mt_style *style)
{
    const struct mt_cuda_pool *pool = mt_oom_cuda_pool(story, analysis);
    char text[700] = "Do: ";
    if (!pool || mt_cuda_pool_free(&pool->failed) < lacking(story))
        return false;
    mt_oom_cuda_pool_text(text + 4, sizeof text - 4, analysis, pool);
    put(out, text, style);
    return true;
}

/* Put what an exception keeps, if it is as much as the request lacks. */
static void put_exception(FILE *out, const struct mt_oom_story *story, const struct mt_style *style)
{
    static const enum mt_held_kind kinds[] = {MT_HELD_TRACEBACK, MT_HELD_LAST_ERROR};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        const struct mt_held_most *held = &story->device->held_by[kinds[i]];
        char text[MT_HOLDER_TEXT + 200], bytes[MT_SIZE_TEXT];
        if (!held->path || !held->is_then || held->bytes < lacking(story))
            continue;
        snprintf(text, sizeof text, "Kept: %s by an exception, %s",
                 mt_size_text(bytes, held->bytes), held->path);
        put(out, text, style);
    }
}

/* Write what holds most of some blocks, with the time if it is another. */
static void kept_text(char *out, size_t size, const struct mt_held_most *held, uint64_t bytes)
{
    char when[MT_HELD_WHEN_TEXT];
    if (*mt_held_most_text(out, size, held, bytes) && !held->is_then)
        mt_text_append(out, size, ", %s", mt_held_when_text(when, held));
}

/* Put what was not used since, or perhaps not needed, if it is as much as the request lacks, with
 * what keeps it. */
static void put_late(FILE *out, const struct mt_oom_story *story,
                     const struct mt_analysis *analysis, const struct mt_style *style)
{
    static const struct mt_style plain = {0};
    const struct mt_page page = mt_page_of(analysis, NULL, &plain);
    const struct mt_unneeded *unneeded = &story->device->unneeded;
    enum mt_unneeded_kind kind =
        unneeded->kind[MT_UNNEEDED_AFTER].n ? MT_UNNEEDED_AFTER : MT_UNNEEDED_PERHAPS;
    const struct mt_sum *late = unneeded->kind[kind].sum;
    char text[MT_HOLDER_TEXT + 600], held[MT_HOLDER_TEXT + 100], bytes[MT_SIZE_TEXT], where[200];
    if (!unneeded->kind[kind].n || late->bytes < lacking(story))
        return;
    mt_page_place(&page, late->key[1], where, sizeof where, sizeof where - 1);
    kept_text(held, sizeof held, &unneeded->held[kind][0], late->bytes);
    snprintf(text, sizeof text, "%s: %s, last used %s%s%s%s",
             kind == MT_UNNEEDED_AFTER ? "Not needed" : "Perhaps not needed",
             mt_size_text(bytes, late->bytes), late->key[1] ? "by " : "",
             late->key[1]   ? where
             : late->key[2] ? "in backward"
                            : "at an unknown line",
             *held ? ", " : "", held);
    put(out, text, style);
}

/* Put what keeps what earlier iterations left. */
static void put_keeper(FILE *out, const struct mt_oom_story *story, const struct mt_style *style)
{
    char text[MT_HOLDER_TEXT + 100], held[MT_HOLDER_TEXT + 50];
    if (!mt_oom_is_grown(story) || !story->kept->n || !story->kept->site->held.path)
        return;
    kept_text(held, sizeof held, &story->kept->site->held, story->kept->site->bytes);
    snprintf(text, sizeof text, "Kept: %s", held);
    put(out, text, style);
}

/* Put what the program may not need, if it is as much as the request lacks. */
static void put_remark(FILE *out, const struct mt_oom_story *story,
                       const struct mt_analysis *analysis, const struct mt_style *style)
{
    struct mt_remark remark;
    char text[MT_REMARK_TEXT] = "Kept: ";
    if (mt_remark_find(&remark, analysis) || remark.device != story->oom->device ||
        remark.bytes < lacking(story))
        return;
    if (remark.kind != MT_REMARK_COPIES && remark.kind != MT_REMARK_PREVIOUS &&
        remark.kind != MT_REMARK_GRADIENTS && remark.kind != MT_REMARK_FORWARDS &&
        remark.kind != MT_REMARK_DOUBLES)
        return;
    mt_remark_text(text + 6, sizeof text - 6, analysis->replay.definitions, &remark);
    put(out, text, style);
}

/* Put that nothing is known to help. */
static void put_nothing(FILE *out, const struct mt_oom_story *story, bool has_more,
                        const struct mt_style *style)
{
    static const char *const ends[] = {"serve this request",    "serve this request",
                                       "finish this forward",   "finish this backward",
                                       "finish this iteration", "finish this iteration"};
    char text[200];
    snprintf(text, sizeof text, "%s we tried is certain to %s%s",
             has_more ? "Nothing" : "Do: free memory, or use a larger card; nothing",
             ends[story->rest.known], has_more ? "." : "");
    put(out, text, style);
}

/* Put what is left to do where no free memory is enough. Return whether that is so. */
static bool put_in_pieces(FILE *out, const struct mt_oom_story *story, const struct mt_style *style)
{
    if (smaller_card(story))
        put(out, "Do: compute it in pieces, or request less; freeing memory is not enough", style);
    return smaller_card(story);
}

void mt_oom_summary(const struct mt_oom_story *story, const struct mt_analysis *analysis, FILE *out,
                    const struct mt_style *style)
{
    char text[500], cause[400];
    mt_oom_sentence(story, analysis, text, sizeof text);
    put(out, text, style);
    mt_oom_cause(story, analysis, cause, sizeof cause);
    snprintf(text, sizeof text, "Why: %s", cause);
    put(out, text, style);
    put_keeper(out, story, style);
    put_exception(out, story, style);
    put_rising(out, story, analysis, style);
    put_remark(out, story, analysis, style);
    put_late(out, story, analysis, style);
    bool let_go = put_in_pieces(out, story, style) || put_garbage(out, story, style) ||
                  put_cuda_pool(out, story, analysis, style);
    const struct mt_advice *first = remedy_from(story, 0, false);
    const struct mt_advice *surer = first && !first->is_replayed
                                        ? remedy_from(story, (size_t)(first - story->advice), true)
                                        : NULL;
    const struct mt_advice *served = first_served(story, MT_SERVED_YES);
    const struct mt_advice *unknown = served ? served : first_served(story, MT_SERVED_UNKNOWN);
    if (first)
        put_remedy(out, let_go ? "Or:" : "Do:", story, first, style);
    else if (let_go)
        ; /* which comes first */
    else if (story->oom->of_library)
        put_for_library(out, story, style);
    else if (story->oom->of_cuda && story->device->rising.n)
        put(out, "Do: request the largest once, or free the smaller ones first", style);
    else if (story->oom->of_cuda)
        put(out, "Do: request less, or free some of what is listed below first", style);
    else if (served || !unknown)
        put_nothing(out, story, served, style);
    if (!first && unknown && !story->oom->of_cuda)
        put_remedy(out, "Try:", story, unknown, style);
    if (surer && surer != first)
        put_remedy(out, "Or:", story, surer, style);
    putc('\n', out);
}
