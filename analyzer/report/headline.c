/* SPDX-License-Identifier: Apache-2.0 */
#include "analyzer/findings/job.h"
#include "analyzer/findings/oom.h"
#include "analyzer/print/page.h"
#include "analyzer/remarks/remark.h"
#include "analyzer/support/text.h"
#include "report.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define MOST_COLUMNS 156 /* of a place: two lines */
#define MUCH_FREE 5      /* a fifth of the reserved memory */
#define MUCH_HELD 10     /* a tenth of the allocated memory */

static const struct mt_style plain = {.utf8 = 1};

static void put_line(FILE *out, const struct mt_definitions *definitions, uint32_t stack)
{
    char place[512], safe[512];
    mt_place_text(place, sizeof place, definitions, mt_stack_line(definitions, stack));
    mt_safe_text(safe, sizeof safe, place, MOST_COLUMNS, MT_CUT_END, &plain);
    fputs(safe, out);
}

static void say_oom(const struct mt_analysis *analysis, FILE *out)
{
    const struct mt_replay *replay = &analysis->replay;
    const struct mt_oom *oom = mt_replay_last_oom(replay);
    if (!oom)
        return;
    char wanted[MT_SIZE_TEXT], device[MT_SIZE_TEXT];
    uint32_t line = mt_oom_line(replay->definitions, oom);
    fprintf(out, "Memory ran out on %s: %s was requested", mt_device_text(device, oom->device),
            mt_size_text(wanted, oom->wanted));
    if (line) {
        fputs(" by ", out);
        put_line(out, replay->definitions, line);
    }
    fputs(oom->went_on ? ", and the program continued; memtap oom explains why.\n"
                       : "; memtap oom explains why.\n",
          out);
}

static const struct mt_site *largest_of(const struct mt_device *device, enum mt_category category)
{
    for (size_t i = 0; i < device->sites.n; i++)
        if (device->sites.site[i].category == category)
            return &device->sites.site[i];
    return NULL;
}

/* Say "most of it from train.py:12 main", if one line has more than half of the bytes. */
static void say_line(const struct mt_analysis *analysis, const struct mt_site *site, uint64_t bytes,
                     FILE *out)
{
    if (!site || !site->stack)
        return;
    fputs(site->bytes > bytes / 2 ? ", most of it from " : ", the largest share from ", out);
    put_line(out, analysis->replay.definitions, site->stack);
}

/* Say "rank 3 on " of a process that is one of several. */
static void put_rank(const struct mt_definitions *definitions, FILE *out)
{
    const char *world_size = mt_world_size_text(definitions);
    long rank = mt_rank_in(definitions);
    if (rank >= 0 && !(world_size && !strcmp(world_size, "1")))
        fprintf(out, "rank %ld on ", rank);
}

static enum mt_category largest_category(const struct mt_device *device)
{
    enum mt_category most = 0;
    for (unsigned i = 0; i < mt_n_categories; i++)
        if (device->category[i].bytes > device->category[most].bytes)
            most = (enum mt_category)i;
    return most;
}

/* Return the mark of a category of which more than a hundredth is a guess. */
static const char *guess_text(const struct mt_sites *sites, enum mt_category category,
                              uint64_t bytes)
{
    uint64_t guessed = 0;
    if (mt_sites_certainty(sites, category) != MT_GUESS)
        return "";
    for (size_t i = 0; i < sites->n; i++)
        if (sites->site[i].category == category)
            guessed += sites->site[i].of_certainty[MT_GUESS];
    return guessed >= bytes / 2 ? " (a guess)" : " (partly a guess)";
}

/* Return the call site with most of what fills the memory; NULL: none is known. */
static const struct mt_site *main_site(const struct mt_device *device)
{
    enum mt_category most = largest_category(device);
    return most != MT_CATEGORY_OTHER ? largest_of(device, most)
           : device->sites.n         ? &device->sites.site[0]
                                     : NULL;
}

/* Say what fills the memory. "other" explains nothing: then only name the line. */
static void say_what_fills(const struct mt_analysis *analysis, const struct mt_device *device,
                           FILE *out)
{
    enum mt_category most = largest_category(device);
    uint64_t sum = 0;
    char name[MT_SIZE_TEXT], total[MT_SIZE_TEXT], bytes[MT_SIZE_TEXT];
    for (unsigned i = 0; i < mt_n_categories; i++)
        sum += device->category[i].bytes;
    if (!sum)
        return;
    uint64_t part = device->category[most].bytes;
    fputs(device->is_peak ? "The peak of " : "At this moment ", out);
    put_rank(analysis->replay.definitions, out);
    fprintf(out, device->is_peak ? "%s is %s" : "%s has %s", mt_device_text(name, device->device),
            mt_size_text(total, device->at.allocated));
    if (most == MT_CATEGORY_OTHER) {
        say_line(analysis, main_site(device), sum, out);
    } else {
        fprintf(out, "; the largest part is %s%s, %s (%.0f %%)", mt_category_noun(most),
                guess_text(&device->sites, most, part), mt_size_text(bytes, part),
                100.0 * (double)part / (double)sum);
        say_line(analysis, main_site(device), part, out);
    }
    fputs(".\n", out);
}

/* Return whether say_what_fills has said as much: that copies of weights are the largest part, by
 * that line. */
static bool is_said(const struct mt_analysis *analysis, const struct mt_remark *remark)
{
    const struct mt_device *device = mt_analysis_main_device(analysis);
    const struct mt_definitions *d = analysis->replay.definitions;
    const struct mt_site *largest = device ? largest_of(device, MT_CATEGORY_COPIES) : NULL;
    return remark->kind == MT_REMARK_COPIES && largest &&
           largest_category(device) == MT_CATEGORY_COPIES &&
           mt_stack_place(d, largest->stack) == mt_stack_place(d, remark->line);
}

void mt_remark_text(char *out, size_t size, const struct mt_definitions *definitions,
                    const struct mt_remark *remark)
{
    static const char *const words[MT_REMARK_KINDS] = {
        [MT_REMARK_PREVIOUS] =
            " from the previous iteration, still live while the next is allocated by ",
        [MT_REMARK_RECOMPUTED] = " that backward recomputes at once for the checkpoint at ",
        [MT_REMARK_GRADIENTS] = " of gradients for parameters that no PyTorch optimizer updates in "
                                "this run, mostly from ",
        [MT_REMARK_GRAPH] = " of activations saved for a backward that never comes, mostly from ",
        [MT_REMARK_DOUBLES] = " of tensors in float64, mostly from ",
    };
    char bytes[MT_SIZE_TEXT], rule[256], place[512], kind[300], safe[512];
    const char *what = words[remark->kind];
    mt_place_text(place, sizeof place, definitions, mt_stack_line(definitions, remark->line));
    mt_safe_text(safe, sizeof safe, place, MOST_COLUMNS, MT_CUT_END, &plain);
    if (remark->kind == MT_REMARK_COPIES) {
        mt_safe_text(rule, sizeof rule, remark->rule->name, MOST_COLUMNS, MT_CUT_END, &plain);
        snprintf(kind, sizeof kind, " of weight copies (%s%s), from ",
                 mt_rule_guesses(remark->rule) ? "a guess: " : "", rule);
        what = kind;
    }
    if (remark->kind == MT_REMARK_FORWARDS) {
        snprintf(kind, sizeof kind,
                 " of activations that %u forward calls save for one backward, at ", remark->calls);
        what = kind;
    }
    snprintf(out, size, "%s%s%s", mt_size_text(bytes, remark->bytes), what, safe);
}

/* Say what of it the program may not need. */
static void say_remark(const struct mt_analysis *analysis, FILE *out)
{
    static const char *const ends[MT_REMARK_KINDS] = {
        [MT_REMARK_RECOMPUTED] = "; checkpoints around smaller parts recompute less at once",
        [MT_REMARK_GRADIENTS] =
            "; if nothing else uses these, requires_grad_(False) on the parameters avoids them",
        [MT_REMARK_GRAPH] = "; torch.no_grad() avoids saving them",
        [MT_REMARK_FORWARDS] = "; if no call needs another's result, backward after each keeps "
                               "only one call's",
        [MT_REMARK_DOUBLES] = "; float32 takes half",
    };
    struct mt_remark remark;
    char text[MT_REMARK_TEXT], bytes[MT_SIZE_TEXT], device[MT_SIZE_TEXT];
    if (mt_remark_find(&remark, analysis) || is_said(analysis, &remark) || !remark.kind)
        return;
    if (remark.kind == MT_REMARK_CONTEXT) {
        fprintf(out,
                "CUDA context and modules use %s on %s, which has no tensors at the peak or later; "
                "the first tensor there was allocated by ",
                mt_size_text(bytes, remark.bytes), mt_device_text(device, remark.device));
        put_line(out, analysis->replay.definitions, remark.line);
        fputs(".\n", out);
        return;
    }
    mt_remark_text(text, sizeof text, analysis->replay.definitions, &remark);
    fprintf(out, "The total includes %s%s.\n", text, ends[remark.kind] ?: "");
}

static bool is_much_held(const struct mt_device *device, enum mt_held_kind kind)
{
    const struct mt_held_most *held = &device->held_by[kind];
    return held->path && held->bytes >= device->at.allocated / MUCH_HELD;
}

/* Say what only garbage or an exception holds, if it is a tenth or more. Garbage stays garbage: of
 * an earlier list it is the least that there is. */
static void say_held(const struct mt_device *device, FILE *out)
{
    char bytes[MT_SIZE_TEXT], safe[4 * MOST_COLUMNS], when[MT_HELD_WHEN_TEXT];
    for (unsigned kind = 0; kind < MT_HELD_KINDS; kind++) {
        const struct mt_held_most *held = &device->held_by[kind];
        if (!is_much_held(device, kind))
            continue;
        mt_safe_text(safe, sizeof safe, held->path, MOST_COLUMNS, MT_CUT_END, &plain);
        bool is_garbage = kind == MT_HELD_GARBAGE;
        mt_size_text(bytes, held->bytes);
        if (is_garbage && !held->is_later)
            fprintf(out, "The total includes %s%s of garbage: %s; gc.collect() frees it.\n",
                    held->is_then ? "" : "at least ", bytes, safe);
        else if (held->is_then)
            fprintf(out, "The total includes %s kept by an exception: %s.\n", bytes, safe);
        else
            fprintf(out, "%s of the total was %s %s: %s.\n", bytes,
                    is_garbage ? "garbage" : "kept by an exception", mt_held_when_text(when, held),
                    safe);
    }
}

static void say_pool(const struct mt_device *device, FILE *out)
{
    const struct mt_foreign_pool *pool = &device->foreign_pool;
    char bytes[MT_SIZE_TEXT];
    if (!pool->bytes)
        return;
    if (pool->pieces == 1)
        fprintf(out, "One allocation of %s has %s; it is", pool->package,
                mt_size_text(bytes, pool->bytes));
    else
        fprintf(out, "%zu allocations of %s have %s; they are", pool->pieces, pool->package,
                mt_size_text(bytes, pool->bytes));
    fprintf(out,
            " likely a pool, and memtap cannot see inside it. With %s in %s, the library "
            "requests %s from CUDA.\n",
            pool->setting, pool->place, pool->effect);
}

/* Say "mostly activations from train.py:12 main" of what is known best. */
static void put_growth_line(const struct mt_analysis *analysis, const struct mt_growth *growth,
                            FILE *out)
{
    const struct mt_growth_site *site = mt_growth_main(growth);
    if (!site)
        return;
    /* What stays is hardly an input, unless more than its place shows that it is one. */
    bool is_named = site->category != MT_CATEGORY_OTHER &&
                    (site->category != MT_CATEGORY_INPUTS || site->certainty != MT_GUESS);
    fprintf(out, ", mostly");
    if (is_named)
        fprintf(out, " %s", mt_category_noun(site->category));
    if (site->line) {
        fputs(" from ", out);
        put_line(out, analysis->replay.definitions, site->line);
    } else if (!is_named) {
        fputs(" by unknown lines", out);
    }
}

/* Say what holds some bytes of what the sentence before is about, unless say_held has. */
static void say_held_by(const struct mt_device *device, const struct mt_held_most *held, FILE *out)
{
    char bytes[MT_SIZE_TEXT], safe[4 * MOST_COLUMNS], when[MT_HELD_WHEN_TEXT];
    char views[MT_VIEWS_TEXT];
    for (unsigned kind = 0; kind < MT_HELD_KINDS; kind++)
        if (is_much_held(device, kind) && !strcmp(device->held_by[kind].path, held->path))
            return;
    mt_safe_text(safe, sizeof safe, held->path, MOST_COLUMNS, MT_CUT_END, &plain);
    mt_size_text(bytes, held->bytes);
    mt_held_when_text(when, held);
    if (held->is_then)
        fprintf(out, "%s of that is ", bytes);
    else
        fprintf(out, "%c%s, %s of that was ", toupper((unsigned char)*when), when + 1, bytes);
    fprintf(out, "%s %s%s.\n", mt_holder_verb(held->root), safe,
            mt_holder_views_text(views, held->blocks, held->n_views, held->views));
}

/* Say what keeps the most of what grows. */
static void say_growth_held(const struct mt_device *device, FILE *out)
{
    const struct mt_growth_site *site = mt_growth_main(&device->growth);
    if (device->growth.per_iteration && site && site->held.path)
        say_held_by(device, &site->held, out);
}

/* Say what keeps the most of what fills the memory, where it grew in a loop without iterations that
 * could be counted: in a constructor, in tasks, in another thread. */
static void say_filler_held(const struct mt_device *device, FILE *out)
{
    const struct mt_site *site = main_site(device);
    const struct mt_held_most *held = site ? site->held : NULL;
    bool is_counted = device->spans && device->spans->iterations;
    if (!is_counted && held && held->path && held->moment == MT_HOLDERS_GROWTH &&
        held->blocks > 1 && held->bytes >= device->at.allocated / MUCH_HELD)
        say_held_by(device, held, out);
}

/* Say that two iterations do not show growth, though something stayed. */
static void say_undecided(const struct mt_analysis *analysis, const struct mt_growth *growth,
                          FILE *out)
{
    char bytes[MT_SIZE_TEXT];
    fprintf(out, "Two iterations are too few to tell whether memory grows; the first left %s",
            mt_size_text(bytes, growth->undecided));
    if (growth->undecided_line) {
        fputs(", the largest of it from ", out);
        put_line(out, analysis->replay.definitions, growth->undecided_line);
    }
    fputs(".\n", out);
}

static void say_growth(const struct mt_analysis *analysis, const struct mt_device *device,
                       FILE *out)
{
    char bytes[MT_SIZE_TEXT], loop[300];
    const struct mt_growth *growth = &device->growth;
    const char *word = device->spans && device->spans->serves ? "step" : "iteration";
    if (growth->undecided)
        say_undecided(analysis, growth, out);
    if (!growth->per_iteration)
        return;
    uint64_t left;
    uint32_t every = mt_growth_rhythm(growth, &left);
    mt_size_text(bytes, left);
    if (growth->turns)
        fprintf(out, "Each of the %zu turns of %s leaves %s behind until that loop ends",
                growth->turns->n, mt_loop_text(growth->turns, loop, sizeof loop), bytes);
    else if (growth->is_likely)
        fprintf(out, "Memory may grow: each of %u %ss leaves %s behind", device->spans->iterations,
                word, bytes);
    else if (every > 1)
        fprintf(out, "Every %u %ss leave %s behind", every, word, bytes);
    else
        fprintf(out, "Each %s leaves %s behind", word, bytes);
    const struct mt_growth_site *site = mt_growth_main(growth);
    if (growth->turns && site && site->certainty != MT_CERTAIN) {
        fputs(": results", out);
        if (site->line) {
            fputs(" from ", out);
            put_line(out, analysis->replay.definitions, site->line);
        }
        fputs(" that the program keeps.\n", out);
        return;
    }
    put_growth_line(analysis, growth, out);
    if (growth->turns)
        fputs(", saved for a backward that never comes; torch.no_grad() avoids saving them.\n",
              out);
    else
        fputs("; memtap stacks --at last-turn shows what is left.\n", out);
}

static void say_host_growth(const struct mt_analysis *analysis, FILE *out)
{
    char bytes[MT_SIZE_TEXT];
    const struct mt_growth *growth = &analysis->host_growth;
    if (!growth->per_iteration)
        return;
    uint64_t left;
    uint32_t every = mt_growth_rhythm(growth, &left);
    mt_size_text(bytes, left);
    if (every > 1)
        fprintf(out, "Every %u iterations leave %s of page-locked host memory behind", every,
                bytes);
    else
        fprintf(out, "Each iteration leaves %s of page-locked host memory behind", bytes);
    put_growth_line(analysis, growth, out);
    fputs(".\n", out);
}

/* Return the bytes that no pointer leads to any more. */
static uint64_t lost_bytes(const struct mt_device *device)
{
    uint64_t lost = 0;
    for (size_t i = 0; i < device->n_held; i++)
        if (device->held[i].held.by->root == MT_HOLDER_LOST)
            lost += device->held[i].verdict->block->size;
    return lost;
}

/* Report leaks of a program without PyTorch, which should have freed everything. */
static void say_leaks(const struct mt_analysis *analysis, const struct mt_device *device, FILE *out)
{
    char bytes[MT_SIZE_TEXT], count[MT_SIZE_TEXT];
    const struct mt_sums *leaks = &device->leaks;
    if (!leaks->blocks)
        return;
    fprintf(out, "%s in %s allocation%s never freed", mt_size_text(bytes, leaks->bytes),
            mt_count_text(count, leaks->blocks), leaks->blocks == 1 ? " was" : "s were");
    if (leaks->n && leaks->sum[0].stack) {
        fputs(leaks->n == 1                            ? ", from "
              : leaks->sum[0].bytes > leaks->bytes / 2 ? ", most of it from "
                                                       : ", the largest share from ",
              out);
        put_line(out, analysis->replay.definitions, leaks->sum[0].stack);
    }
    uint64_t lost = lost_bytes(device);
    if (lost)
        fprintf(out, "; %s of it is lost: no pointer to it exists", mt_size_text(bytes, lost));
    fputs("; memtap stacks --at end shows it.\n", out);
}

void mt_rising_text(char *out, size_t size, const struct mt_definitions *definitions,
                    const struct mt_rising *rising)
{
    char count[MT_SIZE_TEXT], least[MT_SIZE_TEXT], most[MT_SIZE_TEXT], place[512], safe[512];
    mt_place_text(place, sizeof place, definitions, mt_stack_line(definitions, rising->stack));
    mt_safe_text(safe, sizeof safe, place, MOST_COLUMNS, MT_CUT_END, &plain);
    snprintf(out, size, "%s allocations by %s, %s to %s, each larger than the one before",
             mt_count_text(count, rising->n), safe, mt_size_text(least, rising->least),
             mt_size_text(most, rising->most));
}

static void say_rising(const struct mt_analysis *analysis, const struct mt_device *device,
                       FILE *out)
{
    char text[700];
    if (!device->rising.n)
        return;
    mt_rising_text(text, sizeof text, analysis->replay.definitions, &device->rising);
    fprintf(out, "Live at once: %s.\n", text);
}

/* Say what the peak of reserved memory was, where much of it was idle and belonged to others than
 * the pool that had most of the peak: nvidia-smi shows that moment. */
static bool say_most_reserved(const struct mt_analysis *analysis, const struct mt_device *device,
                              FILE *out)
{
    char idle[MT_SIZE_TEXT], reserved[MT_SIZE_TEXT], others[MT_SIZE_TEXT], where[400];
    const struct mt_totals *most = device->most_reserved;
    const struct mt_cached *cached = &device->most_cached_by;
    uint64_t free = most->reserved - most->allocated;
    if (!device->is_peak || most->reserved <= device->at.reserved || !cached->n ||
        cached->others < most->reserved / MUCH_FREE)
        return false;
    mt_cached_text(where, sizeof where, analysis->replay.definitions, cached, MT_FREE_OTHERS);
    fprintf(out, "PyTorch reserved %s at most, %s of it free: %s was %s.\n",
            mt_size_text(reserved, most->reserved), mt_size_text(idle, free),
            mt_size_text(others, cached->others), where);
    return true;
}

static void say_free(const struct mt_analysis *analysis, const struct mt_device *device, FILE *out)
{
    char free[MT_SIZE_TEXT], reserved[MT_SIZE_TEXT], part[MT_SIZE_TEXT], where[400];
    const struct mt_cached *cached = &device->cached_by;
    if (device->of_cuda || say_most_reserved(analysis, device, out) ||
        device->cached < device->at.reserved / MUCH_FREE || !device->cached)
        return;
    fprintf(out, "%s of the %s that PyTorch reserved is free at that moment",
            mt_size_text(free, device->cached), mt_size_text(reserved, device->at.reserved));
    enum mt_free_kind kind = mt_cached_kind(cached);
    uint64_t bytes = kind == MT_FREE_OTHERS  ? cached->others
                     : kind == MT_FREE_WHOLE ? cached->whole
                                             : cached->in_pieces;
    if (kind == MT_FREE_KINDS || bytes > device->cached) {
        fputs(".\n", out);
        return;
    }
    mt_cached_text(where, sizeof where, analysis->replay.definitions, cached, kind);
    fprintf(out, ": %s is %s.\n", mt_size_text(part, bytes), where);
}

/* Say that an answer could be too small. */
static void say_doubts(const struct mt_analysis *analysis, FILE *out)
{
    const struct mt_replay *replay = &analysis->replay;
    char text[MT_UNSIMULATED_TEXT], count[MT_SIZE_TEXT];
    uint64_t lost = mt_survey_lost(&replay->survey);
    if (lost)
        fprintf(out, "%s event%s lost; the peak may be higher, and other numbers may be wrong.\n",
                mt_count_text(count, lost), lost == 1 ? " was" : "s were");
    if (*mt_unsimulated_text(text, &replay->unsimulated, replay->definitions))
        fprintf(out, "%s.\n", text);
    if (*mt_unsimulated_numbers_text(text, &replay->unsimulated, replay->definitions))
        fprintf(out, "%s.\n", text);
}

/* Report what of the peak is not simulated, after what is. */
static void say_workspaces(const struct mt_analysis *analysis, FILE *out)
{
    const struct mt_replay *replay = &analysis->replay;
    const char *text = mt_unsimulated_workspaces_text(&replay->unsimulated);
    char cudnn[MT_CUDNN_TEXT];
    if (*text)
        fprintf(out, "%s.\n", text);
    if (*mt_cudnn_text(cudnn, &replay->unsimulated, replay->definitions))
        fprintf(out, "Simulated with %s.\n", cudnn);
}

/* Say how the run ended, and what the trace lacks of it. */
static void say_ended(const struct mt_analysis *analysis, FILE *out)
{
    char line[MT_ENDED_TEXT];
    struct mt_ended ended = mt_analysis_ended(analysis);
    if (mt_ended_is_reported(&ended))
        fprintf(out, "%s.\n", mt_ended_line(line, &ended));
}

static void say_all(const struct mt_analysis *analysis, FILE *out)
{
    const struct mt_device *device = mt_analysis_main_device(analysis);
    say_oom(analysis, out);
    if (device) {
        say_what_fills(analysis, device, out);
        say_filler_held(device, out);
        say_remark(analysis, out);
        say_held(device, out);
        mt_say_cuda_pools(analysis, device, out);
    }
    say_doubts(analysis, out);
    if (!device)
        return;
    say_pool(device, out);
    say_growth(analysis, device, out);
    say_growth_held(device, out);
    say_host_growth(analysis, out);
    say_rising(analysis, device, out);
    say_leaks(analysis, device, out);
    say_free(analysis, device, out);
    say_workspaces(analysis, out);
}

void mt_headline(const struct mt_analysis *analysis, FILE *out)
{
    say_ended(analysis, out);
    say_all(analysis, out);
}

static void put_sentences(const struct mt_page *page,
                          void (*say)(const struct mt_analysis *analysis, FILE *out))
{
    char *text = NULL;
    size_t size;
    FILE *sentences = open_memstream(&text, &size);
    if (!sentences)
        return;
    say(page->analysis, sentences);
    if (mt_close_memory(sentences) || !*text) {
        free(text);
        return;
    }
    if (page->style->colour)
        fputs("\033[1m", page->out);
    mt_put_wrapped(page->out, text, page->width, page->style);
    mt_colour(page->out, page->style, 0);
    putc('\n', page->out);
    free(text);
}

void mt_page_headline(const struct mt_page *page)
{
    put_sentences(page, say_all);
}

void mt_page_workspaces(const struct mt_page *page)
{
    put_sentences(page, say_workspaces);
}

void mt_page_doubts(const struct mt_page *page)
{
    put_sentences(page, say_doubts);
}
