/* SPDX-License-Identifier: Apache-2.0 */
#include "analyzer/print/page.h"
#include "analyzer/support/demangle.h"
#include "analyzer/trace/definitions.h"
#include "oom-report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CALLERS = 6 }; /* shown of the requesting line */
#define SITES_SHOWN 5u

static const char *const pool_names[MT_POOLS] = {"small", "large"};

/* Print the running backward node, and its forward line if it is another than `line`. */
static void print_backward(const struct mt_page *page, const struct mt_oom *oom, uint32_t line)
{
    const struct mt_definitions *d = page->definitions;
    uint32_t forward = mt_oom_forward_line(d, oom);
    char where[1024], name[256], type[128];
    if (!oom->node_name)
        return;
    mt_short_type_name(mt_string(d, oom->node_name), type, sizeof type);
    mt_safe_text(name, sizeof name, type, 60, MT_CUT_END, page->style);
    if (!forward || forward == line) {
        fprintf(page->out, "     in its backward, %s%s\n", name,
                forward ? "" : "; its forward line is unknown");
        return;
    }
    mt_page_place(page, forward, where, sizeof where, page->width - 24);
    fprintf(page->out, "     in the backward of %s, %s\n", where, name);
}

/* Print the requesting line, with its text if available. */
static void print_line(const struct mt_page *page, uint32_t line, const char *where)
{
    char text[512], safe[512];
    fprintf(page->out, "  by %s\n", where);
    if (!mt_source_line(text, sizeof text, page->definitions, line))
        return;
    mt_safe_text(safe, sizeof safe, text, page->width - 8, MT_CUT_END, page->style);
    mt_put_coloured(page->out, page->style, 244, "     %s", safe);
    putc('\n', page->out);
}

/* Print the callers outside the framework: the nearest ones and, however far it is, the first that
 * is not a library's. */
static void print_callers(const struct mt_page *page, uint32_t line)
{
    const struct mt_definitions *d = page->definitions;
    char where[1024], count[MT_SIZE_TEXT];
    unsigned shown = 0, left_out = 0;
    bool has_own = !(mt_stack_frame(d, line)->marks & MT_MARK_LIBRARY);
    uint32_t caller = mt_stack(d, line)->parent;
    for (; mt_stack(d, caller)->user && (shown < CALLERS || !has_own);
         caller = mt_stack(d, caller)->parent) {
        caller = mt_stack(d, caller)->user;
        bool is_own = !(mt_stack_frame(d, caller)->marks & MT_MARK_LIBRARY);
        if (shown >= CALLERS && !is_own) {
            left_out++;
            continue;
        }
        if (left_out)
            fprintf(page->out, "     (%s more in libraries)\n", mt_count_text(count, left_out));
        mt_page_place(page, caller, where, sizeof where, page->width - 10);
        fprintf(page->out, "     from %s\n", where);
        has_own |= is_own;
        shown++;
        left_out = 0;
    }
}

static void print_request(const struct mt_page *page, const struct mt_oom_story *story)
{
    const struct mt_oom *oom = story->oom;
    const struct mt_definitions *d = page->definitions;
    char time[MT_SIZE_TEXT], wanted[MT_SIZE_TEXT], segment[MT_SIZE_TEXT], name[MT_SIZE_TEXT];
    char where[1024];
    uint32_t line = mt_oom_line(d, oom);
    const char *who = oom->of_cuda      ? "the program"
                      : oom->of_library ? mt_library_of(d, oom->stack)
                                        : "PyTorch";
    mt_put_coloured(page->out, page->style, 160, "\nOut of memory on %s at %s",
                    mt_device_text(name, oom->device), mt_time_text(time, oom->time_ns));
    if (oom->went_on)
        fputs("; the program continued", page->out);
    putc('\n', page->out);
    if (story->device->spans)
        mt_page_phase(page, story->device);
    fprintf(page->out, "  %s requested (%llu bytes; %s asked CUDA for %s)\n",
            mt_size_text(wanted, oom->wanted), (unsigned long long)oom->wanted, who,
            mt_size_text(segment, story->segment));
    mt_page_place(page, line, where, sizeof where, page->width - 8);
    if (mt_stack(d, line)->depth)
        print_line(page, line, where);
    else
        fputs("  requesting line unknown\n", page->out);
    print_backward(page, oom, line);
    print_callers(page, line);
}

static void print_totals(const struct mt_page *page, const struct mt_oom_story *story)
{
    const struct mt_oom *oom = story->oom;
    char a[MT_SIZE_TEXT], b[MT_SIZE_TEXT], c[MT_SIZE_TEXT];
    if (oom->of_cuda) {
        fprintf(page->out, "\n  allocated by CUDA calls %s\n", mt_size_text(a, oom->allocated));
        return;
    }
    fprintf(page->out, "\n  allocated %s, reserved %s (%s of it unused cache)\n",
            mt_size_text(a, oom->allocated), mt_size_text(b, oom->reserved),
            mt_size_text(c, story->cached));
}

/* Print why the free memory did not help. */
static void print_pieces(const struct mt_page *page, const struct mt_oom_story *story)
{
    char a[MT_SIZE_TEXT], b[MT_SIZE_TEXT], c[MT_SIZE_TEXT];
    const struct mt_pool_state *pool = &story->device->segments.pool[story->pool];
    const struct mt_pool_state *other = &story->device->segments.pool[!story->pool];
    char text[400];
    fputs("\nWhy it did not fit\n", page->out);
    if (!story->knows_pieces) {
        fputs("  The trace has no segments, so the free pieces are unknown.\n", page->out);
        return;
    }
    if (pool->pieces > 1)
        fprintf(page->out, "  %s free in %s pieces of the %s pool; the largest is %s\n",
                mt_size_text(a, pool->free), mt_count_text(b, pool->pieces),
                pool_names[story->pool], mt_size_text(c, pool->largest_free));
    else if (pool->pieces)
        fprintf(page->out, "  %s free in one piece of the %s pool\n", mt_size_text(a, pool->free),
                pool_names[story->pool]);
    else
        fprintf(page->out, "  nothing free in the %s pool\n", pool_names[story->pool]);
    if (other->free)
        fprintf(page->out, "  %s free in the %s pool, which serves blocks %s 1 MiB only\n",
                mt_size_text(a, other->free), pool_names[!story->pool],
                story->pool == MT_POOL_LARGE ? "up to" : "over");
    if (story->of_others) {
        mt_cached_text(text, sizeof text, page->definitions, &story->device->cached_by,
                       MT_FREE_OTHERS);
        mt_text_append(text, sizeof text, ".");
        fprintf(page->out, "  %s free for blocks of that size is\n",
                mt_size_text(a, story->of_others));
        mt_put_wrapped(page->out, text, page->width, page->style);
    }
    if (story->fitting)
        fprintf(page->out,
                "  %s in large enough pieces that belong to another stream or a CUDA graph\n",
                mt_size_text(a, story->fitting));
}

/* Print the card. A new segment must be one piece of its free memory. */
static void print_card(const struct mt_page *page, const struct mt_oom_story *story)
{
    char free_text[MT_SIZE_TEXT], segment[MT_SIZE_TEXT], limit[MT_SIZE_TEXT];
    if (story->limit)
        fprintf(page->out,
                "  The program's memory fraction limits PyTorch to %s:\n"
                "  %s is left, too little for a segment of %s\n",
                mt_size_text(limit, story->limit), mt_size_text(free_text, story->on_card),
                mt_size_text(segment, story->segment));
    else if (story->on_card)
        fprintf(page->out, "  %s free on the card, too little for a segment of %s\n",
                mt_size_text(free_text, story->on_card), mt_size_text(segment, story->segment));
}

/* Print why a library's request failed. */
static void print_beside(const struct mt_page *page, const struct mt_oom_story *story)
{
    char a[MT_SIZE_TEXT], b[MT_SIZE_TEXT];
    fputs("\nWhy it did not fit\n", page->out);
    if (story->on_card)
        fprintf(page->out, "  %s free on the card, %s too little\n",
                mt_size_text(a, story->on_card), mt_size_text(b, story->missed_by));
    fprintf(page->out, "  PyTorch does not lend its unused cache (%s) to a library",
            mt_size_text(a, story->cached));
    if (story->empty)
        fprintf(page->out, ";\n  torch.cuda.empty_cache() would give back %s of it",
                mt_size_text(a, story->empty));
    fputs(".\n", page->out);
}

static void print_private(const struct mt_page *page, const struct mt_private_pools *pools)
{
    char free_text[MT_SIZE_TEXT], name[sizeof pools->pool->name];
    for (size_t i = 0; i < pools->n; i++) {
        const struct mt_private_pool *pool = &pools->pool[i];
        if (pool->reserved == pool->used)
            continue;
        mt_safe_text(name, sizeof name, pool->name, sizeof name, MT_CUT_END, page->style);
        fprintf(page->out, "  %s free in %s, which serves only its own blocks\n",
                mt_size_text(free_text, pool->reserved - pool->used), name);
    }
}

/* Print what the run would have requested next. */
static void print_rest(const struct mt_page *page, const struct mt_oom_rest *rest)
{
    char a[MT_SIZE_TEXT], handles[MT_HANDLES_TEXT];
    if (rest->known <= MT_REACH_REQUEST)
        return;
    if (rest->of_backward)
        fprintf(page->out, "  With %s more, the run gets through this backward (modelled).\n",
                mt_size_text(a, rest->of_backward));
    if (rest->more)
        fprintf(page->out, "  With %s more, the run gets through %s%s (modelled).\n",
                mt_size_text(a, rest->more), mt_reach_words[rest->known],
                rest->of_backward ? " with Adam" : "");
    if (rest->layers)
        fprintf(page->out, "    modelled from %zu equal layers (%zu seen)\n", rest->layers,
                rest->seen);
    if (rest->state)
        fprintf(page->out, "    the optimizer's first step still needs %s for its state%s\n",
                mt_size_text(a, rest->state), rest->supposes_adam ? ",\n    if it is Adam" : "");
    if (rest->passing)
        fprintf(page->out, "    and %s while it runs\n", mt_size_text(a, rest->passing));
    if (*mt_handles_text(handles, sizeof handles, &rest->handles, "\n    "))
        fprintf(page->out, "    %s\n", handles);
}

static void print_verdict(const struct mt_page *page, const struct mt_oom_story *story)
{
    char a[MT_SIZE_TEXT];
    if (story->is_in_pieces)
        fprintf(page->out, "  %s is free in total, but in pieces that are too small.\n",
                mt_size_text(a, story->usable + story->on_card));
    else if (story->missed_by)
        fprintf(page->out, "  The request exceeds all free memory%s by %s.\n",
                story->device->private_pools.free ? " outside private pools" : "",
                mt_size_text(a, story->missed_by));
    if (story->without_limit != MT_SERVED_UNKNOWN)
        fprintf(page->out, "  Without that limit, the request is %s (replayed).\n",
                story->without_limit == MT_SERVED_YES ? "served" : "not served either");
    else if (story->more)
        fprintf(page->out, "  With %s more on the card, the request is served (replayed).\n",
                mt_size_text(a, story->more));
    print_rest(page, &story->rest);
}

static void print_iterations(const struct mt_page *page, const struct mt_oom_story *story)
{
    char a[MT_SIZE_TEXT], b[MT_SIZE_TEXT];
    bool serves = story->device && story->device->spans && story->device->spans->serves;
    if (story->last_most)
        fprintf(page->out, "\n%s %u reached %s; the one before reached %s.\n",
                serves ? "Step" : "Iteration", story->span->iteration,
                mt_size_text(a, story->this_most), mt_size_text(b, story->last_most));
}

/* Print what forwards left behind for those after them. */
static void print_forwards(const struct mt_page *page, const struct mt_oom_story *story)
{
    const struct mt_growth *kept = story->kept;
    if (!story->of_forwards)
        return;
    fputs("\nLeft behind by forwards without a backward:\n", page->out);
    for (size_t i = 0; i < kept->n && i < SITES_SHOWN; i++)
        mt_page_growth_site(page, kept, i, "forward");
}

#define ADVICE_INDENT 32
#define ADVICE_WIDTH 48u

/* Put what to do, its later lines below the first. */
static void put_advice(const struct mt_page *page, const char *text)
{
    char *lines = NULL;
    size_t size;
    FILE *memory = open_memstream(&lines, &size);
    if (!memory)
        return;
    mt_put_wrapped(memory, text, ADVICE_WIDTH, page->style);
    if (!mt_close_memory(memory))
        for (char *line = lines, *end; (end = strchr(line, '\n')); line = end + 1)
            fprintf(page->out, "%*s%.*s\n", line == lines ? 0 : ADVICE_INDENT, "",
                    (int)(end - line), line);
    free(lines);
}

static void print_advice(const struct mt_page *page, const struct mt_oom_story *story)
{
    static const char *const outcomes[] = {"may be served", "served", "not served"};
    char a[MT_SIZE_TEXT], text[MT_ADVICE_TEXT + 64];
    const struct mt_oom_rest *rest = &story->rest;
    if (!story->n_advice)
        return;
    fputs(rest->known > MT_REACH_REQUEST
              ? "\nWhat each change achieves (modelled beyond this request)\n"
              : "\nWhat each change achieves for this request\n",
          page->out);
    for (size_t i = 0; i < story->n_advice; i++) {
        const struct mt_advice *advice = &story->advice[i];
        bool is_far = advice->served == MT_SERVED_YES && rest->known > MT_REACH_REQUEST;
        bool is_set = !strcmp(advice->change, "set");
        fprintf(page->out, "  %-18s  %s  ",
                is_far ? mt_reach_words[advice->reach] : outcomes[advice->served],
                advice->is_replayed ? "replayed" : "modelled");
        if (is_set && *advice->set)
            fprintf(page->out, "%s=%s\n", story->variable, advice->set);
        else if (is_set)
            fprintf(page->out, "%s\n", advice->what);
        else {
            int used = snprintf(text, sizeof text, "%s", advice->what);
            if (advice->bytes)
                snprintf(text + used, sizeof text - (size_t)used, " (at most %s less)",
                         mt_size_text(a, advice->bytes));
            put_advice(page, text);
        }
    }
    if (rest->known == MT_REACH_REQUEST)
        fputs("What the program would have requested next is unknown.\n", page->out);
    if (rest->evaluates)
        fputs("memtap assumes that this forward is an evaluation: no backward has followed the "
              "line that\n"
              "called the model, or none has been seen at all.\n",
              page->out);
}

static void print_others(const struct mt_page *page)
{
    const struct mt_replay *replay = &page->analysis->replay;
    char time[MT_SIZE_TEXT], wanted[MT_SIZE_TEXT], place[1024];
    if (replay->ooms.n < 2)
        return;
    fprintf(page->out, "\nMemory ran out %llu times. The earlier times:\n",
            (unsigned long long)replay->ooms.n);
    for (uint64_t i = mt_replay_first_oom(replay); i + 1 < replay->ooms.n; i++) {
        const struct mt_oom *oom = &replay->ooms.kept[i % MT_OOMS_KEPT];
        mt_page_place(page, mt_oom_line(page->definitions, oom), place, sizeof place,
                      page->width - 51);
        fprintf(page->out, "  %9s  %11s requested, %-10s %s\n", mt_time_text(time, oom->time_ns),
                mt_size_text(wanted, oom->wanted), oom->went_on ? "caught" : "not caught", place);
    }
}

/* Print how far the run came with the advised setting. */
static void print_tried(const struct mt_page *page, const struct mt_oom_story *story)
{
    const struct mt_oom_tried *tried = &story->tried;
    char text[sizeof tried->set + sizeof tried->place + 100];
    if (!*tried->set)
        return;
    if (tried->is_full)
        snprintf(text, sizeof text, "Tried: %s is not enough. %s", tried->set, tried->place);
    else if (tried->repeats)
        snprintf(text, sizeof text, "Tried: %s is enough; stopped once iterations repeated.",
                 tried->set);
    else
        snprintf(text, sizeof text, "Tried: %s is enough; the run finished.", tried->set);
    mt_put_wrapped(page->out, text, page->width, page->style);
    putc('\n', page->out);
}

void mt_oom_text(const struct mt_oom_story *story, const struct mt_analysis *analysis, FILE *out,
                 const struct mt_style *style)
{
    struct mt_page page = mt_page_of(analysis, out, style);
    mt_oom_summary(story, analysis, out, style);
    print_tried(&page, story);
    mt_page_doubts(&page);
    mt_page_workspaces(&page);
    mt_page_ended(&page);
    mt_page_head(&page);
    print_request(&page, story);
    print_totals(&page, story);
    mt_page_categories(&page, story->device);
    mt_page_sites(&page, story->device, SITES_SHOWN);
    mt_page_precision(&page, story->device);
    if (story->oom->of_library) {
        print_beside(&page, story);
    } else if (!story->oom->of_cuda) {
        print_pieces(&page, story);
        print_card(&page, story);
        print_private(&page, &story->device->private_pools);
        print_verdict(&page, story);
    }
    mt_page_unneeded(&page, story->device);
    if (!story->oom->of_library)
        mt_page_pins(&page, &story->pins);
    mt_page_balance(&page, story->device);
    mt_page_cuda_pools(&page, story->device);
    mt_page_host(&page);
    print_iterations(&page, story);
    mt_page_growth(&page, story->device);
    print_forwards(&page, story);
    print_advice(&page, story);
    print_others(&page);
    mt_page_notes(&page);
}
