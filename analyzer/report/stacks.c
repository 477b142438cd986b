/* SPDX-License-Identifier: Apache-2.0 */
#include "analyzer/print/json.h"
#include "analyzer/support/search.h"
#include "report.h"
#include "trace-format/meaning/marks.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>

#define LEAST_PART 100u /* a hundredth of all bytes */
#define MOST_DEPTH 64u  /* a tree's */

enum { STACK, CATEGORY, SURE, KEYS };
static const enum mt_property keys[KEYS] = {MT_BY_BLAMED, MT_BY_CATEGORY, MT_BY_SURE};

/* Collect the blocks by stack and category. Blocks from backward count for the forward call. */
static int collect(struct mt_sums *sums, const struct mt_analysis *analysis,
                   const struct mt_device *device)
{
    const struct mt_naming naming = mt_replay_naming(&analysis->replay);
    return mt_sum_blocks(sums, &naming, keys, KEYS, device->shown, device->n_shown);
}

/* A sum's place in a tree. */
struct entry {
    const struct mt_sum *sum;
    uint32_t *path; /* stacks whose innermost frames the tree shows, from its root on */
    uint32_t length;
    uint32_t key; /* its current sort key */
};

struct entries {
    struct entry *entry;
    size_t n;
    uint32_t *paths;
};

/* Return whether a tree shows a frame: all except the framework's, and gaps. */
static bool is_shown(const struct mt_definitions *d, uint32_t stack, bool all)
{
    const struct mt_frame *frame = mt_stack_frame(d, stack);
    return all || frame->is_gap || !(frame->marks & MT_MARK_FRAMEWORK);
}

static int make_paths(struct entries *entries, const struct mt_definitions *d,
                      enum mt_direction direction, bool all)
{
    size_t room = 0, used = 0;
    for (size_t i = 0; i < entries->n; i++)
        room += mt_stack(d, entries->entry[i].sum->key[STACK])->depth;
    entries->paths = calloc(room + 1, sizeof *entries->paths);
    if (!entries->paths)
        return -ENOMEM;
    for (size_t i = 0; i < entries->n; i++) {
        struct entry *entry = &entries->entry[i];
        entry->path = entries->paths + used;
        for (uint32_t s = entry->sum->key[STACK]; mt_stack(d, s)->depth; s = mt_stack(d, s)->parent)
            if (is_shown(d, s, all) && entry->length < MOST_DEPTH)
                entry->path[entry->length++] = s;
        used += entry->length;
        for (uint32_t j = 0; direction == MT_TOP_DOWN && j < entry->length / 2; j++) {
            uint32_t other = entry->path[j];
            entry->path[j] = entry->path[entry->length - 1 - j];
            entry->path[entry->length - 1 - j] = other;
        }
    }
    return 0;
}

struct tree {
    const struct mt_definitions *definitions;
    FILE *out;
    const struct mt_style *style;
    bool all;              /* frames: also the framework's */
    uint64_t whole, least; /* bytes of all; least bytes of a shown branch */
};

static uint32_t frame_at(const struct tree *tree, const struct entry *entry, uint32_t depth)
{
    return depth < entry->length ? mt_stack_place(tree->definitions, entry->path[depth])
                                 : UINT32_MAX;
}

/* The largest sum first. */
MT_ORDER_OF_POINTERS(by_key, struct entry, MT_RISING(key) ?: MT_RISING(sum))

/* Sort entries by their frame at a depth. */
static void group(struct tree *tree, struct entry **entries, size_t n, uint32_t depth)
{
    for (size_t i = 0; i < n; i++)
        entries[i]->key = frame_at(tree, entries[i], depth);
    if (n > 1)
        qsort(entries, n, sizeof(struct entry *), by_key);
}

struct branch {
    struct entry **entries;
    size_t n;
    uint64_t bytes;
};

MT_ORDER(by_branch, struct branch, MT_FALLING(bytes) ?: MT_RISING(entries))

static void print_node(const struct tree *tree, const struct branch *branch, uint32_t depth,
                       unsigned indent)
{
    char size[MT_SIZE_TEXT], place[512], shown[512];
    mt_place_text(place, sizeof place, tree->definitions, branch->entries[0]->path[depth]);
    mt_safe_text(shown, sizeof shown, place, 100, MT_CUT_END, tree->style);
    fprintf(tree->out, "%11s %5.1f %%  %*s%s\n", mt_size_text(size, branch->bytes),
            100.0 * (double)branch->bytes / (double)tree->whole, (int)indent, "", shown);
}

/* Print the branches of entries with the same path up to a depth. 0 or -ENOMEM. */
static int walk(struct tree *tree, struct entry **entries, size_t n, uint32_t depth,
                unsigned indent)
{
    struct branch *branches = calloc(n + 1, sizeof *branches);
    size_t n_branches = 0;
    int rc = branches ? 0 : -ENOMEM;
    group(tree, entries, n, depth);
    for (size_t i = 0; i < n && !rc; i++) {
        uint32_t frame = frame_at(tree, entries[i], depth);
        if (frame == UINT32_MAX)
            continue;
        if (!n_branches || frame_at(tree, branches[n_branches - 1].entries[0], depth) != frame)
            branches[n_branches++].entries = &entries[i];
        branches[n_branches - 1].n++;
        branches[n_branches - 1].bytes += entries[i]->sum->bytes;
    }
    if (n_branches)
        qsort(branches, n_branches, sizeof *branches, by_branch);
    for (size_t i = 0; i < n_branches && !rc; i++) {
        struct branch *branch = &branches[i];
        if (branch->bytes < (tree->least ? tree->least : tree->whole / LEAST_PART))
            break;
        print_node(tree, branch, depth, indent);
        rc = walk(tree, branch->entries, branch->n, depth + 1, indent + 2);
    }
    free(branches);
    return rc;
}

static int device_tree(struct tree *tree, const struct mt_sums *sums, enum mt_direction direction)
{
    struct entries entries = {.entry = calloc(sums->n + 1, sizeof *entries.entry), .n = sums->n};
    struct entry **chosen = calloc(sums->n + 1, sizeof(struct entry *));
    int rc = entries.entry && chosen ? 0 : -ENOMEM;
    tree->whole = 0;
    for (size_t i = 0; i < sums->n && !rc; i++) {
        entries.entry[i].sum = &sums->sum[i];
        chosen[i] = &entries.entry[i];
        tree->whole += sums->sum[i].bytes;
    }
    if (!rc)
        rc = make_paths(&entries, tree->definitions, direction, tree->all);
    if (!rc && tree->whole)
        rc = walk(tree, chosen, entries.n, 0, 0);
    free(chosen);
    free(entries.paths);
    free(entries.entry);
    return rc;
}

int mt_stacks_tree(const struct mt_analysis *analysis, enum mt_direction direction, FILE *out,
                   const struct mt_style *style)
{
    struct tree tree = {.definitions = analysis->replay.definitions,
                        .out = out,
                        .style = style,
                        .all = analysis->replay.question.library_frames,
                        .least = analysis->replay.question.filter.least};
    int rc = 0;
    for (size_t i = 0; i < analysis->n_devices && !rc; i++) {
        const struct mt_device *device = &analysis->devices[i];
        char name[MT_SIZE_TEXT], size[MT_SIZE_TEXT], time[MT_SIZE_TEXT];
        fprintf(out, "%s%s: %s at %s, %s\n", i ? "\n" : "", mt_device_text(name, device->device),
                mt_size_text(size, device->at.allocated), mt_time_text(time, device->at.time_ns),
                direction == MT_TOP_DOWN ? "callers first" : "innermost frames first");
        struct mt_sums sums;
        rc = collect(&sums, analysis, device);
        if (!rc)
            rc = device_tree(&tree, &sums, direction);
        if (!rc && !tree.whole && device->n_verdicts)
            fputs(MT_NO_MATCH, out);
        mt_sums_clear(&sums);
    }
    return rc;
}

static int fold_frame(FILE *out, const void *definitions, uint32_t stack)
{
    char place[512];
    mt_place_text(place, sizeof place, definitions, stack);
    mt_put_text(out, place, MT_FOR_FOLDED);
    return 0;
}

int mt_stacks_folded(const struct mt_analysis *analysis, FILE *out)
{
    const struct mt_definitions *d = analysis->replay.definitions;
    struct mt_kept_texts *texts = mt_kept_texts_create();
    int rc = texts ? 0 : -ENOMEM;
    for (size_t i = 0; i < analysis->n_devices && !rc; i++) {
        struct mt_sums sums;
        rc = collect(&sums, analysis, &analysis->devices[i]);
        for (size_t j = 0; j < sums.n && !rc; j++) {
            uint32_t stack = sums.sum[j].key[STACK];
            fprintf(out, "%s%s%s", mt_categories[sums.sum[j].key[CATEGORY]].name,
                    sums.sum[j].guess ? " (guess)" : "", mt_stack(d, stack)->depth ? ";" : "");
            rc = mt_fold_stack(out, texts, d, stack, UINT32_MAX, 0, fold_frame, d);
            fprintf(out, " %" PRIu64 "\n", sums.sum[j].bytes);
            rc = rc ? rc : ferror(out) ? -EIO : 0;
        }
        mt_sums_clear(&sums);
    }
    mt_kept_texts_destroy(texts);
    return rc;
}

static int print_entry(const struct mt_definitions *d, const struct mt_sum *entry,
                       struct mt_kept_texts *texts, FILE *out)
{
    int rc = mt_json_piece(out, "{\"bytes\":", mt_json_number(entry->bytes));
    fprintf(out, ",\"blocks\":%" PRIu64 ",\"category\":\"%s\",\"certainty\":\"%s\"", entry->blocks,
            mt_categories[entry->key[CATEGORY]].name,
            mt_certainty_name((enum mt_certainty)entry->certainty));
    if (!rc)
        rc = mt_json_piece(out,
                           ",\"guess\":", entry->guess ? json_string(entry->guess) : json_null());
    fprintf(out, ",\"stack\":%" PRIu32 ",\"frames\":", entry->key[STACK]);
    if (!rc)
        rc = mt_json_put_frames(out, texts, d, entry->key[STACK]);
    fputs("}", out);
    return rc ? rc : ferror(out) ? -EIO : 0;
}

/* Print stack by stack: all of them may not fit in memory as text. */
static int print_device(const struct mt_analysis *analysis, const struct mt_device *device,
                        FILE *out)
{
    struct mt_sums sums;
    struct mt_kept_texts *texts = mt_kept_texts_create();
    int rc = collect(&sums, analysis, device);
    if (!rc && !texts)
        rc = -ENOMEM;
    if (!rc)
        rc = mt_json_piece(out, "{\"device\":", mt_json_index(device->device));
    if (!rc)
        rc = mt_json_piece(out, ",\"time_ns\":", mt_json_number(device->at.time_ns));
    if (!rc)
        rc = mt_json_piece(out, ",\"allocated\":", mt_json_number(device->at.allocated));
    fputs(",\"stacks\":[", out);
    for (size_t i = 0; i < sums.n && !rc; i++) {
        fputs(i ? "," : "", out);
        rc = print_entry(analysis->replay.definitions, &sums.sum[i], texts, out);
    }
    fputs("]}", out);
    mt_sums_clear(&sums);
    mt_kept_texts_destroy(texts);
    return rc;
}

int mt_stacks_json(const struct mt_analysis *analysis, FILE *out)
{
    struct mt_ended ended = mt_analysis_ended(analysis);
    int rc =
        mt_json_piece(out, "{\"schema\":\"memtap.stacks/1\",\"ended\":", mt_json_ended(&ended));
    fprintf(out, ",\"at\":\"%s\",\"devices\":[",
            mt_moment_name(analysis->replay.question.moment.kind));
    for (size_t i = 0; i < analysis->n_devices && !rc; i++) {
        fputs(i ? "," : "", out);
        rc = print_device(analysis, &analysis->devices[i], out);
    }
    fputs("]}\n", out);
    return rc;
}
