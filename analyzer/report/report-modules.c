/* SPDX-License-Identifier: Apache-2.0 */
/* The tree of torch.nn modules, each with all its parts. */
#include "analyzer/classify/modules.h"
#include "analyzer/print/page.h"
#include "analyzer/support/search.h"
#include "analyzer/support/to-integer.h"

#include <stdlib.h>
#include <string.h>

#define ROWS_SHOWN 40u
#define MOST_PATH 1024u
#define BEFORE_NAME 45u /* columns of a row before the module's name */

static int by_bytes(const void *left, const void *right, void *nodes)
{
    const struct mt_module_node *a = (struct mt_module_node *)nodes + *(const uint32_t *)left;
    const struct mt_module_node *b = (struct mt_module_node *)nodes + *(const uint32_t *)right;
    return MT_FALLING(bytes) ?: MT_COMPARE(a, b); /* a module comes before its parts */
}

/* List the nodes of the tree after equal layers were merged, without node 0. */
static size_t list(const struct mt_module_tree *tree, uint32_t parent, uint32_t *out, size_t n)
{
    for (uint32_t at = tree->node[parent].first_child; at; at = tree->node[at].next) {
        out[n++] = at;
        n = list(tree, at, out, n);
    }
    return n;
}

/* Mark the largest modules; the modules around them are marked too. Count the ones left out. */
static int choose(struct mt_module_tree *tree, const struct mt_filter *filter, char *is_shown,
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
static void append_name(char *out, size_t size, const struct mt_module_node *node)
{
    mt_text_append(out, size, "%s%s", *out ? "." : "", node->name);
    if (node->last)
        mt_text_append(out, size, "-%u", node->last);
}

static unsigned largest_category(const struct mt_module_node *node)
{
    unsigned largest = 0;
    for (unsigned i = 1; i < mt_n_categories; i++)
        if (node->category[i] > node->category[largest])
            largest = i;
    return largest;
}

static void print_row(const struct mt_page *page, const struct mt_module_node *node,
                      const char *name)
{
    char size[MT_SIZE_TEXT], blocks[MT_SIZE_TEXT], shown[1024];
    unsigned largest = largest_category(node);
    uint64_t most = node->category[largest];
    unsigned share =
        node->bytes ? (unsigned)mt_to_uint64(100.0 * (double)most / (double)node->bytes) : 0;
    size_t room = page->width - BEFORE_NAME < 200 ? page->width - BEFORE_NAME : 200;
    mt_safe_text(shown, sizeof shown, name, room, MT_CUT_BEGIN, page->style);
    fprintf(page->out, "%11s %8s %c", mt_size_text(size, node->bytes),
            mt_count_text(blocks, node->blocks), mt_certainty_mark(node->certainty[largest]));
    mt_put_category(page->out, page->style, largest, 15);
    fprintf(page->out, " %3u %%  %s\n", share, shown);
}

/* Return the only part of a module, which is shown in one row with it if it has all its bytes. */
static uint32_t only_part(const struct mt_module_tree *tree, uint32_t at)
{
    uint32_t child = tree->node[at].first_child;
    return child && tree->node[at].parent && tree->node[child].bytes == tree->node[at].bytes ? child
                                                                                             : 0;
}

/* Print the parts. of: the path of the parent; "" for an outermost module, whose class does not
 * belong to paths. */
static void print_parts(const struct mt_page *page, const struct mt_module_tree *tree,
                        const char *is_shown, uint32_t parent, const char *of)
{
    for (uint32_t at = tree->node[parent].first_child; at; at = tree->node[at].next) {
        char name[MOST_PATH];
        uint32_t last = at;
        if (!is_shown[at])
            continue;
        snprintf(name, sizeof name, "%s", of);
        append_name(name, sizeof name, &tree->node[last]);
        while (only_part(tree, last)) {
            last = only_part(tree, last);
            append_name(name, sizeof name, &tree->node[last]);
        }
        print_row(page, &tree->node[last], name);
        print_parts(page, tree, is_shown, last, parent ? name : "");
    }
}

void mt_page_modules(const struct mt_page *page, const struct mt_device *device)
{
    struct mt_module_tree tree;
    char size[MT_SIZE_TEXT];
    size_t left_out = 0;
    int rc = mt_modules_collect(&tree, page->definitions, device->shown, device->n_shown);
    char *is_shown = rc ? NULL : calloc(tree.n, 1);
    if (is_shown && !choose(&tree, mt_page_filter(page), is_shown, &left_out)) {
        fprintf(page->out, "\n%11s %8s  %-21s  module, with its submodules\n", "bytes", "blocks",
                "mostly");
        print_parts(page, &tree, is_shown, 0, "");
        if (left_out)
            fprintf(page->out, "%43s  and %s smaller ones\n", "", mt_count_text(size, left_out));
        if (tree.unknown)
            fprintf(page->out, "%11s %31s  no module, or module unknown\n",
                    mt_size_text(size, tree.unknown), "");
    }
    free(is_shown);
    mt_modules_clear(&tree);
}
