/* SPDX-License-Identifier: Apache-2.0 */
#include "holder-words.h"
#include "analyzer/support/demangle.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const roots[] = {
    [MT_HOLDER_UNKNOWN] = "unknown",
    [MT_HOLDER_LOCAL] = "local",
    [MT_HOLDER_GLOBAL] = "global",
    [MT_HOLDER_CLASS] = "class",
    [MT_HOLDER_CLOSURE] = "closure",
    [MT_HOLDER_DEFAULT] = "default_argument",
    [MT_HOLDER_LRU_CACHE] = "lru_cache",
    [MT_HOLDER_GENERATOR] = "generator",
    [MT_HOLDER_TRACEBACK] = "traceback",
    [MT_HOLDER_LAST_ERROR] = "last_error",
    [MT_HOLDER_NOTEBOOK] = "notebook",
    [MT_HOLDER_THREAD] = "thread_local",
    [MT_HOLDER_AUTOGRAD] = "autograd",
    [MT_HOLDER_HOOK] = "hook",
    [MT_HOLDER_OPTIMIZER] = "optimizer",
    [MT_HOLDER_DATALOADER] = "data_loader",
    [MT_HOLDER_AUTOCAST] = "autocast",
    [MT_HOLDER_GRAPH_POOL] = "graph_pool",
    [MT_HOLDER_GARBAGE] = "garbage",
    [MT_HOLDER_CYCLE] = "uncollectable_cycle",
    [MT_HOLDER_NATIVE] = "native",
    [MT_HOLDER_LOST] = "lost",
    [MT_HOLDER_SYMBOL] = "native_variable",
    [MT_HOLDER_STACK] = "native_stack",
    [MT_HOLDER_HEAP] = "heap",
    [MT_HOLDER_NOT_FOUND] = "not_found",
};

static const struct {
    const char *name, *words;
} moments[] =
    {
        [0] = {"unknown", "an unknown moment"},
        [MT_HOLDERS_OOM] = {"out_of_memory", "memory ran out"},
        [MT_HOLDERS_GROWTH] = {"growth", "growth was noticed"},
        [MT_HOLDERS_END] = {"end", "the program ended"},
        [MT_HOLDERS_REQUESTED] = {"requested", "they were requested"},
},
  results[] = {
      [MT_HOLDERS_COMPLETE] = {"complete", NULL},
      [MT_HOLDERS_TIME] = {"time_limit", "the time limit was reached"},
      [MT_HOLDERS_REFUSED] = {"refused",
                              "the system did not allow the child process that reads them"},
      [MT_HOLDERS_CRASHED] = {"crashed", "the child process that reads them crashed"},
      [MT_HOLDERS_MEMORY] = {"memory", "memory for more of them ran out"},
      [MT_HOLDERS_PYTHON_UNKNOWN] = {"python_unknown", "memtap cannot read this Python's objects"},
      [MT_HOLDERS_TORCH_UNKNOWN] = {"torch_unknown", "memtap cannot read this PyTorch's tensors"},
      [MT_HOLDERS_PYTHON_ENDED] = {"python_ended", "Python was shutting down"},
};

#define COUNT(array) (sizeof(array) / sizeof *(array))

const char *mt_holder_root_name(uint64_t root)
{
    return root < COUNT(roots) && roots[root] ? roots[root] : roots[MT_HOLDER_UNKNOWN];
}

const char *mt_holder_verb(uint64_t root)
{
    return root == MT_HOLDER_GARBAGE     ? "garbage:"
           : root == MT_HOLDER_CYCLE     ? "garbage that Python's collector cannot see:"
           : root == MT_HOLDER_LOST      ? "lost:"
           : root == MT_HOLDER_NOT_FOUND ? "perhaps lost:"
                                         : "held by";
}

const char *mt_holders_moment_name(uint64_t moment)
{
    return moments[moment < COUNT(moments) ? moment : 0].name;
}

const char *mt_holders_moment_words(uint64_t moment)
{
    return moments[moment < COUNT(moments) ? moment : 0].words;
}

const char *mt_holders_result_name(uint64_t result)
{
    return result < COUNT(results) ? results[result].name : "unknown";
}

const char *mt_holders_result_words(uint64_t result)
{
    return result < COUNT(results) ? results[result].words
                                   : "for a reason this version does not know";
}

void mt_holder_put_step(char *out, size_t size, const char *text, size_t n)
{
    const char *begin = memmem(text, n, "`_Z", 3), *end;
    char *symbol = NULL, *name = NULL;
    if (begin && (end = memchr(begin + 1, '`', n - (size_t)(begin + 1 - text)))) {
        symbol = strndup(begin + 1, (size_t)(end - begin) - 1);
        name = symbol ? mt_function_name(symbol) : NULL;
    }
    if (name)
        mt_text_append(out, size, "%.*s%s%.*s", (int)(begin + 1 - text), text, name,
                       (int)(n - (size_t)(end - text)), end);
    else
        mt_text_append(out, size, "%.*s", (int)n, text);
    free(symbol);
    free(name);
}

char *mt_holder_step_text(char *out, size_t size, const struct mt_holder_step *step)
{
    const char *quote = step->length == 5 ? "'" : "";
    *out = '\0';
    if (!step->places)
        mt_holder_put_step(out, size, step->text, step->length);
    else if (step->places == 1)
        snprintf(out, size, "[%s%" PRIu64 "%s]", quote, step->low, quote);
    else if (step->high - step->low + 1 == step->places)
        snprintf(out, size, "[%s%" PRIu64 "%s..%s%" PRIu64 "%s]", quote, step->low, quote, quote,
                 step->high, quote);
    else
        snprintf(out, size, "[%s%" PRIu64 "%s..%s%" PRIu64 "%s, %" PRIu64 " of these]", quote,
                 step->low, quote, quote, step->high, quote, step->places);
    return out;
}

/* Return what is between two steps. Attributes and elements are part of an expression; its root is
 * a phrase. */
static const char *between(bool is_first, bool is_after_root, char begin)
{
    bool joins = begin == '.' || begin == '[';
    return is_first ? "" : joins && !is_after_root ? "" : " -> ";
}

char *mt_holder_run_text(char *out, size_t size, const struct mt_holder_tree *tree, size_t first,
                         size_t last)
{
    char step[512];
    *out = '\0';
    for (size_t at = first; at <= last; at++) {
        mt_holder_step_text(step, sizeof step, &tree->step[at]);
        mt_text_append(out, size, "%s%s", between(at == first, tree->step[at].depth == 1, *step),
                       step);
    }
    return out;
}

char *mt_holder_path_text(char *out, size_t size, const char *path)
{
    unsigned depth = 0;
    *out = '\0';
    while (*path) {
        size_t n = strcspn(path, "\n");
        if (n) {
            mt_text_append(out, size, "%s", between(!depth, depth == 1, *path));
            mt_holder_put_step(out, size, path, n);
        }
        depth += n > 0;
        path += n + (path[n] == '\n');
    }
    return out;
}

char *mt_holder_views_text(char out[MT_VIEWS_TEXT], uint64_t n, uint64_t n_views, uint64_t views)
{
    char size[MT_SIZE_TEXT];
    *out = '\0';
    if (n_views && n_views == n)
        snprintf(out, MT_VIEWS_TEXT, ", by %s of %s", n > 1 ? "views" : "a view",
                 mt_size_text(size, views));
    return out;
}

#define MOST_NAMES 3u

/* Append the names of a few attributes which together have everything below a step: ".gave, .seen".
 */
static void put_names(char *text, size_t size, const struct mt_holder_tree *tree, size_t at)
{
    char step[512];
    unsigned n = 0;
    for (size_t i = at + 1; i < tree->step[at].end; i = tree->step[i].end, n++)
        if (*tree->step[i].text != '.')
            return;
    if (n < 2 || n > MOST_NAMES || tree->step[at].own)
        return;
    for (size_t i = at + 1; i < tree->step[at].end; i = tree->step[i].end)
        mt_text_append(text, size, "%s%s", i == at + 1 ? "" : ", ",
                       mt_holder_step_text(step, sizeof step, &tree->step[i]));
}

/* Set a path to the one with most below a root. 0 or -ENOMEM. */
static int set_path(struct mt_held_most *most, const struct mt_holder_tree *tree, size_t at)
{
    char text[MT_HOLDER_TEXT];
    size_t end = mt_holder_run_end(tree, at);
    mt_holder_run_text(text, sizeof text, tree, at, end);
    put_names(text, sizeof text, tree, end);
    most->root = tree->step[at].root;
    most->path = strdup(text);
    return most->path ? 0 : -ENOMEM;
}

int mt_held_most_find(struct mt_held_most *most, const struct mt_holder_tree *tree)
{
    *most = (struct mt_held_most){0};
    if (!tree->n)
        return 0;
    most->bytes = tree->step->bytes;
    most->blocks = tree->step->blocks;
    most->n_views = tree->step->n_views;
    most->views = tree->step->views;
    return set_path(most, tree, 0);
}

int mt_held_most_of_root(struct mt_held_most *most, const struct mt_holder_tree *tree,
                         uint32_t root)
{
    int rc = 0;
    *most = (struct mt_held_most){0};
    for (size_t at = 0; at < tree->n; at = tree->step[at].end) {
        if (tree->step[at].root != root)
            continue;
        if (!most->path && !rc) /* the largest comes first */
            rc = set_path(most, tree, at);
        most->bytes += tree->step[at].only;
        most->blocks += tree->step[at].blocks;
        most->n_views += tree->step[at].n_views;
        most->views += tree->step[at].views;
    }
    return rc;
}

void mt_held_most_clear(struct mt_held_most *most)
{
    free(most->path);
    *most = (struct mt_held_most){0};
}

char *mt_held_when_text(char out[MT_HELD_WHEN_TEXT], const struct mt_held_most *most)
{
    char first[MT_SIZE_TEXT], last[MT_SIZE_TEXT];
    if (most->first_ns != most->last_ns)
        snprintf(out, MT_HELD_WHEN_TEXT, "between %s and %s", mt_time_text(first, most->first_ns),
                 mt_time_text(last, most->last_ns));
    else if (most->moment == MT_HOLDERS_REQUESTED)
        snprintf(out, MT_HELD_WHEN_TEXT, "when holders were requested");
    else
        snprintf(out, MT_HELD_WHEN_TEXT, "when %s", mt_holders_moment_words(most->moment));
    return out;
}

char *mt_held_most_text(char *out, size_t size, const struct mt_held_most *most, uint64_t bytes)
{
    char part[MT_SIZE_TEXT], count[MT_SIZE_TEXT], views[MT_VIEWS_TEXT];
    *out = '\0';
    if (!most->path)
        return out;
    if (most->bytes < bytes)
        mt_text_append(out, size, "%s in ", mt_size_text(part, most->bytes));
    if (most->bytes < bytes || most->blocks > 1)
        mt_text_append(out, size, "%s block%s ", mt_count_text(count, most->blocks),
                       most->blocks == 1 ? "" : "s");
    mt_text_append(out, size, "%s", mt_holder_verb(most->root));
    mt_text_append(out, size, " %s%s", most->path,
                   mt_holder_views_text(views, most->blocks, most->n_views, most->views));
    return out;
}
