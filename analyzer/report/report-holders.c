/* SPDX-License-Identifier: Apache-2.0 */
/* What keeps blocks alive: a line in the reports, and what memtap holders prints. */
#include "analyzer/model/user-line.h"
#include "analyzer/print/page.h"
#include "held-report.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define BEFORE_HELD 14 /* columns of a row before its line of holders */
#define LEAST_PART 100 /* smaller branches are left out */
#define TEXT_SIZE (4 * MT_HOLDER_TEXT)

void mt_page_held(const struct mt_page *page, const struct mt_held_most *held, uint64_t bytes)
{
    char text[MT_HOLDER_TEXT + 100], safe[TEXT_SIZE];
    if (!*mt_held_most_text(text, sizeof text, held, bytes))
        return;
    mt_safe_text(safe, sizeof safe, text, page->width - BEFORE_HELD, MT_CUT_END, page->style);
    fprintf(page->out, "%*s%s\n", BEFORE_HELD, "", safe);
}

/* Return whether a frame's file is the one that the user names, by its last folders. */
static bool is_file(const char *file, const char *wanted, size_t n)
{
    size_t length = strlen(file);
    return length >= n && !memcmp(file + length - n, wanted, n) &&
           (length == n || *wanted == '/' || file[length - n - 1] == '/');
}

static bool is_at_line(const struct mt_definitions *definitions, uint32_t stack,
                       const struct mt_held_choice *choice)
{
    for (; mt_stack(definitions, stack)->depth; stack = mt_stack(definitions, stack)->parent) {
        const struct mt_frame *frame = mt_stack_frame(definitions, stack);
        if (frame->line == choice->line && is_file(frame->file, choice->file, choice->file_size))
            return true;
    }
    return false;
}

static bool is_chosen(const struct mt_device *device, const struct mt_verdict *verdict,
                      const struct mt_held_choice *choice)
{
    const struct mt_block *block = verdict->block;
    if (choice->address)
        return choice->address - block->address < block->size;
    return !choice->file || is_at_line(device->context.definitions, block->stack, choice) ||
           is_at_line(device->context.definitions, block->forward_stack, choice);
}

int mt_held_chosen(struct mt_held_rows *rows, const struct mt_device *device,
                   const struct mt_held_choice *choice)
{
    *rows = (struct mt_held_rows){.verdict = calloc(device->n_shown + 1, sizeof *rows->verdict)};
    if (!rows->verdict)
        return -ENOMEM;
    for (size_t i = 0; i < device->n_shown; i++) {
        if (!is_chosen(device, &device->shown[i], choice))
            continue;
        rows->verdict[rows->n++] = device->shown[i];
        rows->bytes += device->shown[i].block->size;
    }
    return mt_held_tree(&rows->tree, device, rows->verdict, rows->n);
}

void mt_held_rows_clear(struct mt_held_rows *rows)
{
    free(rows->verdict);
    mt_holder_tree_clear(&rows->tree);
    *rows = (struct mt_held_rows){0};
}

/* Print the lists of holders, the nearest to the moment first. */
static void print_lists(const struct mt_page *page)
{
    const struct mt_holders *holders = &page->analysis->replay.holders;
    char time[MT_SIZE_TEXT], count[MT_SIZE_TEXT];
    for (unsigned i = 0; i < holders->n; i++) {
        const struct mt_holder_list *list = &holders->list[i];
        const char *why = mt_holders_result_words(list->result);
        fprintf(page->out, "Holders at %s, when %s", mt_time_text(time, list->time_ns),
                mt_holders_moment_words(list->moment));
        if (list->objects)
            fprintf(page->out, ": %s objects visited", mt_count_text(count, list->objects));
        putc('\n', page->out);
        if (why)
            fprintf(page->out, "  incomplete: %s\n", why);
    }
    if (holders->n_ever > holders->n)
        fprintf(page->out, "%s more lists of holders were left out\n",
                mt_count_text(count, holders->n_ever - holders->n));
}

/* Print a run of steps as a row. */
static void print_row(const struct mt_page *page, const struct mt_holder_tree *tree, size_t first,
                      size_t last, unsigned indent)
{
    const struct mt_holder_step *step = &tree->step[last];
    char text[MT_HOLDER_TEXT], safe[TEXT_SIZE], size[MT_SIZE_TEXT], count[MT_SIZE_TEXT];
    char views[MT_VIEWS_TEXT];
    mt_holder_run_text(text, sizeof text, tree, first, last);
    mt_safe_text(safe, sizeof safe, text, 0, MT_CUT_END, page->style);
    fprintf(page->out, "%11s %8s  %*s%s%s%s", mt_size_text(size, step->bytes),
            mt_count_text(count, step->blocks), (int)(2 * indent), "",
            !tree->step[first].depth && mt_holder_is_garbage(step->root) ? "garbage: " : "", safe,
            mt_holder_views_text(views, step->blocks, step->n_views, step->views));
    if (step->only < step->bytes)
        fprintf(page->out, " (%s also held elsewhere)",
                mt_size_text(size, step->bytes - step->only));
    putc('\n', page->out);
}

/* Print a tree, without branches of fewer bytes than `least`. */
static void print_tree(const struct mt_page *page, const struct mt_holder_tree *tree,
                       uint64_t least)
{
    unsigned indent[MT_HOLDER_DEPTH + 1] = {0}; /* by depth */
    for (size_t at = 0; at < tree->n;) {
        const struct mt_holder_step *step = &tree->step[at];
        if (step->bytes < least) {
            at = step->end;
            continue;
        }
        size_t last = mt_holder_run_end(tree, at);
        print_row(page, tree, at, last, indent[step->depth]);
        for (size_t i = at; i <= last; i++)
            indent[tree->step[i].depth + 1] = indent[step->depth] + 1;
        at = last + 1;
    }
}

uint64_t mt_held_garbage(const struct mt_holder_tree *tree, uint32_t root)
{
    uint64_t bytes = 0;
    for (size_t at = 0; at < tree->n; at = tree->step[at].end)
        bytes += tree->step[at].root == root ? tree->step[at].bytes : 0;
    return bytes;
}

static void print_garbage(const struct mt_page *page, const struct mt_holder_tree *tree)
{
    char size[MT_SIZE_TEXT];
    uint64_t garbage = mt_held_garbage(tree, MT_HOLDER_GARBAGE);
    uint64_t unseen = mt_held_garbage(tree, MT_HOLDER_CYCLE);
    uint64_t lost = mt_held_garbage(tree, MT_HOLDER_LOST);
    if (garbage)
        fprintf(page->out, "%s is garbage in reference cycles: gc.collect() frees it.\n",
                mt_size_text(size, garbage));
    if (unseen)
        fprintf(page->out,
                "%s is garbage in cycles that Python's collector cannot see: only breaking them "
                "frees it.\n",
                mt_size_text(size, unseen));
    if (lost)
        fprintf(page->out, "%s is lost: no pointer to it exists.\n", mt_size_text(size, lost));
}

void mt_page_paths(const struct mt_page *page, const struct mt_block_held *held)
{
    char text[MT_HOLDER_TEXT], safe[TEXT_SIZE], time[MT_SIZE_TEXT], views[MT_VIEWS_TEXT];
    fprintf(page->out, "\nHolders at %s, when %s\n", mt_time_text(time, held->list->time_ns),
            mt_holders_moment_words(held->list->moment));
    for (size_t i = 0; i < held->n; i++) {
        const struct mt_holder *by = &held->by[i];
        mt_holder_path_text(text, sizeof text, mt_string(page->definitions, by->path));
        mt_safe_text(safe, sizeof safe, text, 0, MT_CUT_END, page->style);
        fprintf(page->out, "  %s%s", mt_holder_is_garbage(by->root) ? "garbage: " : "", safe);
        fprintf(page->out, "%s\n", mt_holder_views_text(views, 1, by->view > 0, by->view));
    }
    if (held->n == MT_HELD_MOST)
        fputs("  and perhaps others\n", page->out);
}

/* Print the block of an address with all its paths. */
static void print_block(const struct mt_page *page, const struct mt_device *device,
                        const struct mt_verdict *verdict)
{
    const struct mt_block_held *held = mt_device_held(device, verdict->block);
    char size[MT_SIZE_TEXT], name[MT_SIZE_TEXT], place[1024];
    mt_page_place(page, mt_line_stack(page->definitions, verdict->block), place, sizeof place,
                  page->width);
    fprintf(page->out, "Block %#" PRIx64 ", %s on %s, by %s\n", verdict->block->address,
            mt_size_text(size, verdict->block->size), mt_device_text(name, device->device), place);
    if (held)
        mt_page_paths(page, held);
    else
        fputs("\nNo list of holders has it.\n", page->out);
}

/* Print that no block was live. */
static void print_none(const struct mt_page *page)
{
    const struct mt_holders *holders = &page->analysis->replay.holders;
    char time[MT_SIZE_TEXT];
    for (unsigned i = 0; i < holders->n; i++)
        fprintf(page->out, "Holders at %s, when %s: no memory was live\n",
                mt_time_text(time, holders->list[i].time_ns),
                mt_holders_moment_words(holders->list[i].moment));
}

/* Print what was chosen of a device, if there is any, and before the first the lists. */
static int print_device(const struct mt_page *page, const struct mt_device *device,
                        const struct mt_held_choice *choice, bool *found)
{
    struct mt_held_rows rows;
    char name[MT_SIZE_TEXT], size[MT_SIZE_TEXT], time[MT_SIZE_TEXT];
    const struct mt_filter *filter = mt_page_filter(page);
    int rc = mt_held_chosen(&rows, device, choice);
    if (!rc && rows.n && !choice->address && !*found)
        print_lists(page);
    if (!rc && rows.n && (*found || !choice->address))
        putc('\n', page->out);
    if (!rc && choice->address && rows.n) {
        print_block(page, device, rows.verdict);
    } else if (!rc && rows.n) {
        fprintf(page->out, "%s: %s at %s\n", mt_device_text(name, device->device),
                mt_size_text(size, rows.bytes), mt_time_text(time, device->at.time_ns));
        print_garbage(page, &rows.tree);
        fprintf(page->out, "\n%11s %8s  %s\n", "bytes", "blocks", "held by");
        print_tree(page, &rows.tree, filter->least ? filter->least : rows.bytes / LEAST_PART);
        if (rows.bytes > rows.tree.bytes)
            fprintf(page->out, "%11s %8zu  not in a list of holders\n",
                    mt_size_text(size, rows.bytes - rows.tree.bytes),
                    rows.n - (size_t)rows.tree.blocks);
    }
    *found |= !rc && rows.n;
    mt_held_rows_clear(&rows);
    return rc;
}

int mt_holders_text(const struct mt_analysis *analysis, const struct mt_held_choice *choice,
                    FILE *out, const struct mt_style *style)
{
    const struct mt_page page = mt_page_of(analysis, out, style);
    bool found = false;
    int rc = 0;
    for (size_t i = 0; i < analysis->n_devices && !rc; i++)
        rc = print_device(&page, &analysis->devices[i], choice, &found);
    if (!rc && !found && !choice->address && !choice->file)
        print_none(&page);
    return rc ? rc : found ? 0 : -ENOENT;
}
