/* SPDX-License-Identifier: Apache-2.0 */
#include "analyzer/print/json.h"
#include "analyzer/query/tree.h"
#include "report.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>

#define LEAST_PART 100u /* a hundredth of all bytes */
#define MOST_DEPTH 64u  /* a tree's */

enum { STACK, CATEGORY, SURE, KEYS };

/* Collect the blocks by stack and category. Blocks from backward count for the forward call. */
static int collect(struct mt_sums *sums, const struct mt_analysis *analysis,
                   const struct mt_device *device)
{
    const struct mt_naming naming = mt_replay_naming(&analysis->replay);
    const struct mt_query query = {&naming, {MT_BY_BLAMED, MT_BY_CATEGORY, MT_BY_SURE}, KEYS};
    return mt_query_rows(sums, &query, device->shown, device->n_shown);
}

/* Build the tree of a device's sums: its nodes have the first stack that led there as value. */
static void grow(struct mt_tree *tree, const struct mt_sums *sums,
                 const struct mt_analysis *analysis, enum mt_direction direction)
{
    const struct mt_naming naming = mt_replay_naming(&analysis->replay);
    const struct mt_tree_level frames = {
        .by = MT_BY_BLAMED,
        .as = direction == MT_TOP_DOWN ? MT_LEVEL_CALLERS : MT_LEVEL_INNERMOST,
        .is_optional = true,
        .frames = analysis->replay.question.library_frames ? MT_PATH_ALL : MT_PATH_WITHOUT_LIBRARY,
        .most = MOST_DEPTH};
    for (size_t i = 0; i < sums->n; i++) {
        const struct mt_sum *sum = &sums->sum[i];
        uint32_t end = mt_tree_descend(tree, MT_TREE_ROOT, &frames, &naming, sum->key[STACK]);
        mt_tree_count(tree, end, sum->bytes, sum->blocks);
    }
}

struct printer {
    const struct mt_definitions *definitions;
    FILE *out;
    const struct mt_style *style;
    uint64_t least; /* bytes of a shown branch; 0: a hundredth of all */
};

static void print_node(const struct printer *printer, const struct mt_tree *tree, uint32_t at,
                       unsigned indent)
{
    char size[MT_SIZE_TEXT], place[512], shown[512];
    const struct mt_tree_node *node = &tree->node[at];
    mt_place_text(place, sizeof place, printer->definitions, node->value);
    mt_safe_text(shown, sizeof shown, place, 100, MT_CUT_END, printer->style);
    fprintf(printer->out, "%11s %5.1f %%  %*s%s\n", mt_size_text(size, node->bytes),
            100.0 * (double)node->bytes / (double)tree->node[MT_TREE_ROOT].bytes, (int)indent, "",
            shown);
}

/* Print what is below a node. 0 or -ENOMEM. */
static int print_below(const struct printer *printer, const struct mt_tree *tree, uint32_t at,
                       unsigned indent)
{
    size_t n;
    uint64_t least = printer->least ?: tree->node[MT_TREE_ROOT].bytes / LEAST_PART;
    uint32_t *children = mt_tree_children(tree, at, least, &n);
    int rc = children ? 0 : -ENOMEM;
    for (size_t i = 0; i < n && !rc; i++) {
        print_node(printer, tree, children[i], indent);
        rc = print_below(printer, tree, children[i], indent + 2);
    }
    free(children);
    return rc;
}

int mt_stacks_tree(const struct mt_analysis *analysis, enum mt_direction direction, FILE *out,
                   const struct mt_style *style)
{
    const struct mt_definitions *d = analysis->replay.definitions;
    const struct printer printer = {.definitions = d,
                                    .out = out,
                                    .style = style,
                                    .least = analysis->replay.question.filter.least};
    int rc = 0;
    for (size_t i = 0; i < analysis->n_devices && !rc; i++) {
        const struct mt_device *device = &analysis->devices[i];
        char name[MT_SIZE_TEXT], size[MT_SIZE_TEXT], time[MT_SIZE_TEXT];
        fprintf(out, "%s%s: %s at %s, %s\n", i ? "\n" : "", mt_device_text(name, device->device),
                mt_size_text(size, device->at.allocated), mt_time_text(time, device->at.time_ns),
                direction == MT_TOP_DOWN ? "callers first" : "innermost frames first");
        struct mt_sums sums;
        struct mt_tree tree = {0};
        rc = collect(&sums, analysis, device);
        if (!rc)
            grow(&tree, &sums, analysis, direction);
        if (!rc && tree.has_no_memory)
            rc = -ENOMEM;
        if (!rc && tree.n && tree.node[MT_TREE_ROOT].bytes)
            rc = print_below(&printer, &tree, MT_TREE_ROOT, 0);
        else if (!rc && device->n_verdicts)
            fputs(MT_NO_MATCH, out);
        mt_tree_clear(&tree);
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
