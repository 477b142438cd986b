/* SPDX-License-Identifier: Apache-2.0 */
/* What kernels, copies and fills show not to be needed: freed after its last use, allocated before
 * its first, never allocated, or on the host in between. */
#include "analyzer/findings/analysis.h"
#include "analyzer/model/user-line.h"
#include "analyzer/support/search.h"
#include "kinds.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A block need not be on the card between two moments. */
struct gap {
    uint64_t from, until;
    uint32_t statement; /* a stack: the use before the gap, or after one that begins with the
                         * block; 0: in backward, or none */
};

/* The lifetimes of what one line allocates. */
struct line {
    const struct mt_recording *recording;
    enum mt_unneeded_kind kind;
    uint64_t *released; /* by block: the event after which no node of autograd keeps it; 0: none
                         * saved it; MT_EVER: one that did not run */
    struct gap *gap;    /* by block; empty: it is needed, or of another line */
};

static bool is_of_one_thread(const struct mt_definitions *d, uint32_t stack, uint32_t statement)
{
    while (mt_stack(d, stack)->parent)
        stack = mt_stack(d, stack)->parent;
    while (mt_stack(d, statement)->parent)
        statement = mt_stack(d, statement)->parent;
    const struct mt_frame *one = mt_stack_frame(d, stack), *other = mt_stack_frame(d, statement);
    return !strcmp(one->function, other->function) && !strcmp(one->file, other->file);
}

/* Return the moment before the first allocation after an event that its thread makes elsewhere. */
static uint64_t after_statement(const struct mt_recording *recording, uint32_t statement,
                                uint64_t event)
{
    const struct mt_definitions *d = recording->definitions;
    for (size_t i = mt_first_made(recording, event + 1); i < recording->n; i++) {
        uint32_t stack = recording->block[i].stack;
        if (!mt_is_of_statement(d, stack, statement) && is_of_one_thread(d, stack, statement))
            return mt_moment_of(recording->block[i].begin) - 1;
    }
    return MT_EVER;
}

/* Return the moment before what a statement allocated up to an event. */
static uint64_t before_statement(const struct mt_recording *recording, uint32_t statement,
                                 uint64_t event)
{
    const struct mt_definitions *d = recording->definitions;
    uint64_t moment = mt_moment_of(event) + 1;
    for (size_t i = mt_first_made(recording, event + 1); i; i--) {
        uint32_t stack = recording->block[i - 1].stack;
        if (mt_is_of_statement(d, stack, statement))
            moment = mt_moment_of(recording->block[i - 1].begin) - 1;
        else if (is_of_one_thread(d, stack, statement))
            break;
    }
    return moment;
}

/* Find when backward is done with each saved block. 0 or -ENOMEM. */
static int find_released(struct line *line)
{
    const struct mt_recording *recording = line->recording;
    line->released = calloc(recording->n + 1, sizeof *line->released);
    for (size_t i = 0; line->released && i < recording->n_nodes; i++) {
        const struct mt_recorded_node *node = &recording->node[i];
        for (uint32_t j = 0; j < node->n_saves; j++) {
            const struct mt_recorded_block *block = mt_node_save(recording, node, j);
            uint64_t *released = block ? &line->released[block - recording->block] : NULL;
            uint64_t end = node->end ? node->end : MT_EVER;
            if (released && *released < end)
                *released = end;
        }
    }
    return line->released ? 0 : -ENOMEM;
}

/* Return whether the run was cut while the block was live, and it may have been used again. */
static bool may_be_used_again(const struct mt_recording *recording,
                              const struct mt_recorded_block *block,
                              const struct mt_recorded_uses *uses)
{
    uint64_t last = uses->last.ns ? uses->last.ns : uses->begin_ns;
    return block->end > recording->cut && last >= recording->quiet_ns;
}

/* Return the moment after a use: after its statement, and after what has saved the block. */
static uint64_t after_use(const struct line *line, size_t i, const struct mt_recorded_use *use,
                          uint32_t statement)
{
    uint64_t released = mt_moment_of(line->released[i]), after = MT_EVER;
    if (use->in_backward)
        return line->released[i] ? released : MT_EVER;
    if (statement)
        after = after_statement(line->recording, statement, use->event);
    return after > released ? after : released;
}

static struct gap gap_of(const struct line *line, size_t i)
{
    const struct mt_recording *recording = line->recording;
    const struct mt_recorded_block *block = &recording->block[i];
    const struct mt_recorded_uses *uses = mt_recorded_uses_of(recording, block);
    struct gap gap = {mt_moment_of(block->begin), mt_moment_of(block->end), 0};
    bool is_never = line->kind == MT_UNNEEDED_NEVER, is_late = line->kind == MT_UNNEEDED_AFTER;
    if (!uses || !uses->is_known || is_never == uses->is_read ||
        ((is_never || is_late) && may_be_used_again(recording, block, uses)))
        return (struct gap){0};
    if (is_never)
        return gap;
    const struct mt_recorded_use *use = is_late                           ? &uses->last
                                        : line->kind == MT_UNNEEDED_UNTIL ? &uses->first
                                                                          : &uses->before;
    if (!use->ns)
        return (struct gap){0};
    gap.statement =
        use->in_backward ? 0 : mt_use_statement(recording->definitions, block->stack, use->stack);
    if (line->kind != MT_UNNEEDED_UNTIL)
        gap.from = after_use(line, i, use, gap.statement);
    if (line->kind == MT_UNNEEDED_AFTER)
        return gap;
    use = line->kind == MT_UNNEEDED_UNTIL ? &uses->first : &uses->after;
    uint32_t next = mt_use_statement(recording->definitions, block->stack, use->stack);
    if (use->in_backward || !next)
        return (struct gap){0};
    gap.until = before_statement(recording, next, use->event);
    return gap;
}

/* Return whether the change's argument, "train.py:8" or with more of the path, is a line. */
static bool is_named(const char *argument, const struct mt_frame *frame)
{
    const char *colon = strrchr(argument, ':');
    size_t size = colon ? (size_t)(colon - argument) : 0, length = strlen(frame->file);
    return size && size <= length && mt_change_number(colon + 1) == frame->line &&
           !strncmp(frame->file + length - size, argument, size) &&
           (size == length || frame->file[length - size - 1] == '/');
}

static bool is_empty(const struct gap *gap)
{
    return gap->from >= gap->until;
}

static bool has(const struct gap *gap, uint64_t moment)
{
    return gap->from <= moment && moment < gap->until;
}

/* Fill in the gaps of the line's blocks. 0; -ENOMEM; -EINVAL: no block is of such a line. */
static int find_gaps(struct line *line, const char *argument)
{
    const struct mt_recording *recording = line->recording;
    bool is_there = false;
    int rc = find_released(line);
    line->gap = calloc(recording->n + 1, sizeof *line->gap);
    if (rc || !line->gap)
        return -ENOMEM;
    for (size_t i = 0; i < recording->n; i++) {
        uint32_t stack = recording->block[i].line;
        if (!stack || !is_named(argument, mt_stack_frame(recording->definitions, stack)))
            continue;
        is_there = true;
        line->gap[i] = gap_of(line, i);
    }
    return is_there ? 0 : -EINVAL;
}

/* Find the statement that the change is about: one change of the program is in one place, where
 * most bytes of the peak are used. *most: a block with it; recording->n: there is none. 0 or
 * -ENOMEM. */
static int find_most(const struct line *line, uint64_t peak, size_t *most)
{
    const struct mt_recording *recording = line->recording;
    struct mt_sums sums = {0};
    int rc = 0;
    for (size_t i = 0; i < recording->n && !rc; i++) {
        uint32_t place = mt_stack_place(recording->definitions, line->gap[i].statement);
        if (has(&line->gap[i], peak))
            rc = mt_sums_add(&sums, recording->block[i].size, &(struct mt_sum){.key = {place}});
    }
    mt_sums_sort(&sums);
    *most = sums.n ? 0 : recording->n;
    while (
        sums.n && *most < recording->n &&
        (!has(&line->gap[*most], peak) ||
         mt_stack_place(recording->definitions, line->gap[*most].statement) != sums.sum[0].key[0]))
        ++*most;
    mt_sums_clear(&sums);
    return rc;
}

static void cut_out(struct mt_edits *edits, size_t i, const struct gap *gap)
{
    struct mt_edit block = edits->block[i];
    if (is_empty(gap) || gap->from >= block.end || gap->until <= block.begin)
        return;
    if (gap->from <= block.begin && gap->until >= block.end) {
        mt_drop_block(edits, i);
    } else if (gap->from <= block.begin) {
        edits->block[i].begin = gap->until;
    } else {
        edits->block[i].end = gap->from;
        if (gap->until < block.end)
            mt_edits_add(edits, gap->until, block.end, block.size);
    }
}

static bool is_installed(const struct mt_frame *frame)
{
    size_t length;
    return mt_packages_in(frame->file, strlen(frame->file), &length);
}

/* Return the statement to name for a block that is freed after its last use: that of the program
 * which called a package's, if freeing the block after it is as early. */
static uint32_t own_statement(const struct line *line, size_t i)
{
    const struct mt_recording *recording = line->recording;
    const struct mt_definitions *d = recording->definitions;
    uint32_t statement = line->gap[i].statement, at = statement;
    const struct mt_recorded_use *last =
        &mt_recorded_uses_of(recording, &recording->block[i])->last;
    while (at && line->kind == MT_UNNEEDED_AFTER) {
        const struct mt_frame *frame = mt_stack_frame(d, at);
        if (after_use(line, i, last, at) != line->gap[i].from)
            break;
        if (mt_stack(d, at)->user == at && !frame->is_native && !is_installed(frame))
            return at;
        at = mt_stack(d, at)->parent;
    }
    return statement;
}

static void put_where(const struct line *line, size_t most, struct mt_modelled *change)
{
    const struct mt_frame *frame =
        mt_stack_frame(line->recording->definitions, own_statement(line, most));
    const char *before_use = line->kind == MT_UNNEEDED_UNTIL ? "just before" : "after";
    if (line->kind == MT_UNNEEDED_NEVER)
        return;
    if (change->statement)
        snprintf(change->where, sizeof change->where, "%s %.90s:%u", before_use,
                 mt_last_part(frame->file), frame->line);
    else
        snprintf(change->where, sizeof change->where, "before backward, which uses it last");
}

/* Apply the change to what the line allocates in the whole run, and is used by that statement. */
static void apply(struct mt_edits *edits, const struct line *line, size_t most,
                  struct mt_modelled *change)
{
    const struct mt_recording *recording = line->recording;
    const struct mt_definitions *d = recording->definitions;
    change->line = recording->block[most].line;
    change->statement = line->gap[most].statement;
    put_where(line, most, change);
    for (size_t i = 0; i < recording->n; i++)
        if (mt_stack_place(d, line->gap[i].statement) == mt_stack_place(d, change->statement))
            cut_out(edits, i, &line->gap[i]);
}

static int change_line(struct mt_edits *edits, const char *argument, struct mt_modelled *change,
                       enum mt_unneeded_kind kind)
{
    struct line line = {.recording = edits->recording, .kind = kind};
    struct mt_edits recorded;
    uint64_t bytes, peak;
    if (!edits->recording->n_uses) {
        change->why_not = "uses were not recorded; record with --uses";
        return -ENOENT;
    }
    int rc = mt_edits_begin(&recorded, edits->recording);
    if (!rc)
        rc = mt_edits_peak(&recorded, &bytes, &peak);
    if (!rc)
        rc = find_gaps(&line, argument);
    size_t most = edits->recording->n;
    if (!rc)
        rc = find_most(&line, peak, &most);
    if (!rc && most < edits->recording->n)
        apply(edits, &line, most, change);
    else if (!rc)
        change->why_not = "at the peak, no such block of that line is known to be unneeded";
    mt_edits_clear(&recorded);
    free(line.released);
    free(line.gap);
    return rc || !change->why_not ? rc ? rc : edits->rc : -ENOENT;
}

int mt_change_del(struct mt_edits *edits, const char *argument, struct mt_modelled *change)
{
    return change_line(edits, argument, change, MT_UNNEEDED_AFTER);
}

int mt_change_defer(struct mt_edits *edits, const char *argument, struct mt_modelled *change)
{
    return change_line(edits, argument, change, MT_UNNEEDED_UNTIL);
}

int mt_change_omit(struct mt_edits *edits, const char *argument, struct mt_modelled *change)
{
    return change_line(edits, argument, change, MT_UNNEEDED_NEVER);
}

int mt_change_offload_idle(struct mt_edits *edits, const char *argument, struct mt_modelled *change)
{
    return change_line(edits, argument, change, MT_UNNEEDED_BETWEEN);
}
