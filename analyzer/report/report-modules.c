/* SPDX-License-Identifier: Apache-2.0 */
/* The tree of torch.nn modules, each with all its parts. */
#include "analyzer/print/page.h"
#include "analyzer/query/module-tree.h"
#include "analyzer/support/search.h"
#include "analyzer/support/text.h"
#include "analyzer/support/to-integer.h"

#include <stdlib.h>
#include <string.h>

#define ROWS_SHOWN 40u
#define MOST_PATH 1024u
#define BEFORE_NAME 45u /* columns of a row before the module's name */

static int by_bytes(const void *left, const void *right, void *nodes)
{
    const struct mt_tree_node *a = (struct mt_tree_node *)nodes + *(const uint32_t *)left;
    const struct mt_tree_node *b = (struct mt_tree_node *)nodes + *(const uint32_t *)right;
    return MT_FALLING(bytes) ?: MT_COMPARE(a, b); /* a module comes before its parts */
}

/* List the nodes of the tree after equal layers were merged, without the root. */
static size_t list(const struct mt_tree *tree, uint32_t parent, uint32_t *out, size_t n)
{
    for (uint32_t at = tree->node[parent].first; at; at = tree->node[at].next) {
        out[n++] = at;
        n = list(tree, at, out, n);
    }
    return n;
}

/* Mark the largest modules; the modules around them are marked too. Count the ones left out. */
static int choose(struct mt_tree *tree, const struct mt_filter *filter, char *is_shown,
                  size_t *left_out)
{
    uint32_t *order = calloc(tree->n, sizeof *order);
    if (!order)
        return -1;
    size_t n = list(tree, 0, order, 0);
    qsort_r(order, n, sizeof *order, by_bytes, tree->node);
    while (n && tree->node[order[n - 1]].bytes < filter->least)
        n--;
    size_t rows = mt_filter_rows(filter, n, ROWS_SHOWN);
    for (size_t i = 0; i < rows; i++)
        is_shown[order[i]] = 1;
    *left_out = n - rows;
    free(order);
    return 0;
}

/* Append "layers.0-23" to the name of its parent. */
static void append_name(char *out, size_t size, const struct mt_module_tree *modules, uint32_t node)
{
    mt_text_append(out, size, "%s%s", *out ? "." : "", mt_tree_name(&modules->tree, node));
    if (modules->facts[node].last)
        mt_text_append(out, size, "-%u", modules->facts[node].last);
}

static unsigned largest_category(const struct mt_module_facts *facts)
{
    unsigned largest = 0;
    for (unsigned i = 1; i < mt_n_categories; i++)
        if (facts->category[i] > facts->category[largest])
            largest = i;
    return largest;
}

static void print_row(const struct mt_page *page, const struct mt_module_tree *modules, uint32_t at,
                      const char *name)
{
    const struct mt_tree_node *node = &modules->tree.node[at];
    const struct mt_module_facts *facts = &modules->facts[at];
    char size[MT_SIZE_TEXT], blocks[MT_SIZE_TEXT], shown[1024];
    unsigned largest = largest_category(facts);
    uint64_t most = facts->category[largest];
    unsigned share =
        node->bytes ? (unsigned)mt_to_uint64(100.0 * (double)most / (double)node->bytes) : 0;
    size_t room = page->width - BEFORE_NAME < 200 ? page->width - BEFORE_NAME : 200;
    mt_safe_text(shown, sizeof shown, name, room, MT_CUT_BEGIN, page->style);
    fprintf(page->out, "%11s %8s %c", mt_size_text(size, node->bytes),
            mt_count_text(blocks, node->blocks), mt_certainty_mark(facts->certainty[largest]));
    mt_put_category(page->out, page->style, largest, 15);
    fprintf(page->out, " %3u %%  %s\n", share, shown);
}

/* Return the only part of a module, which is shown in one row with it if it has all its bytes. */
static uint32_t only_part(const struct mt_tree *tree, uint32_t at)
{
    uint32_t child = tree->node[at].first;
    return child && tree->node[at].parent && tree->node[child].bytes == tree->node[at].bytes ? child
                                                                                             : 0;
}

/* Print the parts. of: the path of the parent; "" for an outermost module, whose class does not
 * belong to paths. */
static void print_parts(const struct mt_page *page, const struct mt_module_tree *modules,
                        const char *is_shown, uint32_t parent, const char *of)
{
    const struct mt_tree *tree = &modules->tree;
    for (uint32_t at = tree->node[parent].first; at; at = tree->node[at].next) {
        char name[MOST_PATH];
        uint32_t last = at;
        if (!is_shown[at])
            continue;
        snprintf(name, sizeof name, "%s", of);
        append_name(name, sizeof name, modules, last);
        while (only_part(tree, last)) {
            last = only_part(tree, last);
            append_name(name, sizeof name, modules, last);
        }
        print_row(page, modules, last, name);
        print_parts(page, modules, is_shown, last, parent ? name : "");
    }
}

void mt_page_modules(const struct mt_page *page, const struct mt_device *device)
{
    struct mt_module_tree modules;
    char size[MT_SIZE_TEXT];
    size_t left_out = 0;
    int rc = mt_modules_collect(&modules, page->definitions, device->shown, device->n_shown);
    char *is_shown = rc ? NULL : calloc(modules.tree.n, 1);
    if (is_shown && !choose(&modules.tree, mt_page_filter(page), is_shown, &left_out)) {
        fprintf(page->out, "\n%11s %8s  %-21s  module, with its submodules\n", "bytes", "blocks",
                "mostly");
        print_parts(page, &modules, is_shown, MT_TREE_ROOT, "");
        if (left_out)
            fprintf(page->out, "%43s  and %s smaller ones\n", "", mt_count_text(size, left_out));
        if (modules.unknown)
            fprintf(page->out, "%11s %31s  no module, or module unknown\n",
                    mt_size_text(size, modules.unknown), "");
    }
    free(is_shown);
    mt_modules_clear(&modules);
}
