/* SPDX-License-Identifier: Apache-2.0 */
#include "sites.h"
#include "analyzer/support/address-map.h"
#include "trace-format/meaning/marks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MOST_FRAMES 2048u /* of a stack */

/* Replace stacks in a key by the first one of the same lines: calls of several modules differ. 0 or
 * -ENOMEM. */
static int join_stacks(struct mt_sums *sums, unsigned key, const struct mt_definitions *definitions)
{
    struct mt_address_map by_lines = {0}; /* the caller's, and a line -> the first such stack */
    int rc = 0;
    for (size_t i = 0; i < sums->n && !rc; i++) {
        uint32_t path[MOST_FRAMES], first = 0;
        size_t n = 0;
        for (uint32_t at = sums->sum[i].key[key]; at && n < MOST_FRAMES;
             at = mt_stack(definitions, at)->parent)
            path[n++] = at;
        while (n-- && !rc) {
            uint64_t lines = (uint64_t)first << 32 | mt_stack_place(definitions, path[n]);
            first = mt_address_map_get(&by_lines, lines);
            if (!first)
                rc = mt_address_map_put(&by_lines, lines, first = path[n]);
        }
        sums->sum[i].key[key] = first;
    }
    mt_address_map_clear(&by_lines);
    mt_sums_sort(sums);
    return rc;
}

struct mt_query mt_site_query(const struct mt_naming *naming, bool by_stack)
{
    return (struct mt_query){naming,
                             {[MT_SITE_CATEGORY] = MT_BY_CATEGORY,
                              [MT_SITE_PLACE] = MT_BY_PLACE,
                              [MT_SITE_OPERATOR] = MT_BY_OPERATOR,
                              [MT_SITE_NAME] = MT_BY_NAME,
                              [MT_SITE_WHOLE] = MT_BY_BLAMED},
                             by_stack ? MT_SITE_KEYS : MT_SITE_WHOLE};
}

int mt_sites_collect(struct mt_sites *sites, const struct mt_naming *naming,
                     const struct mt_verdict *verdicts, size_t n, bool by_stack)
{
    const struct mt_query query = mt_site_query(naming, by_stack);
    struct mt_sums sums;
    int rc = mt_query_rows(&sums, &query, verdicts, n);
    if (!rc && by_stack)
        rc = join_stacks(&sums, MT_SITE_WHOLE, naming->definitions);
    *sites = (struct mt_sites){.site = calloc(sums.n + 1, sizeof *sites->site)};
    if (!sites->site)
        rc = -ENOMEM;
    for (; !rc && sites->n < sums.n; sites->n++) {
        const struct mt_sum *sum = &sums.sum[sites->n];
        sites->site[sites->n] =
            (struct mt_site){.bytes = sum->bytes,
                             .blocks = sum->blocks,
                             .category = (enum mt_category)sum->key[MT_SITE_CATEGORY],
                             .stack = sum->stack,
                             .whole = sum->key[MT_SITE_WHOLE],
                             .node_name = sum->key[MT_SITE_OPERATOR],
                             .name = sum->key[MT_SITE_NAME],
                             .guess = sum->guess,
                             .copy = sum->copy,
                             .certainty = (enum mt_certainty)sum->certainty};
        memcpy(sites->site[sites->n].of_certainty, sum->of_certainty, sizeof sum->of_certainty);
    }
    mt_sums_clear(&sums);
    return rc;
}

enum mt_certainty mt_sites_certainty(const struct mt_sites *sites, enum mt_category category)
{
    _Static_assert(MT_SUM_CERTAINTIES == MT_CERTAINTIES, "sums count each certainty");
    uint64_t bytes[MT_CERTAINTIES] = {0};
    for (size_t i = 0; i < sites->n; i++)
        for (unsigned j = 0; sites->site[i].category == category && j < MT_CERTAINTIES; j++)
            bytes[j] += sites->site[i].of_certainty[j];
    return mt_least_certain(bytes);
}

void mt_sites_clear(struct mt_sites *sites)
{
    for (size_t i = 0; i < sites->n; i++)
        if (sites->site[i].held) {
            mt_held_most_clear(sites->site[i].held);
            free(sites->site[i].held);
        }
    free(sites->site);
    *sites = (struct mt_sites){NULL, 0};
}

/* Return whether a frame is the few lines that start a package's program: pip's "bin/NAME". */
static bool is_console_script(const struct mt_frame *frame)
{
    const char *slash = strrchr(frame->file, '/');
    return slash && slash - frame->file >= 4 && !memcmp(slash - 4, "/bin", 4) &&
           !strchr(slash, '.') && !strcmp(frame->function, "<module>");
}

/* Return a frame's installed package; NULL: it is in none. */
static const char *package_of(const struct mt_frame *frame, size_t *n)
{
    size_t folder;
    const char *at = mt_packages_in(frame->file, strlen(frame->file), &folder);
    if (!at || !(frame->marks & MT_MARK_LIBRARY))
        return NULL;
    *n = strcspn(at + folder, "/");
    return at + folder;
}

/* Return the frame nearest to a stack's innermost one that is of the outermost frame's package; 0:
 * it is the innermost one itself. */
static uint32_t in_outermost_package(const struct mt_definitions *definitions, uint32_t stack)
{
    const char *package = NULL, *own;
    size_t n = 0, n_own;
    for (uint32_t at = stack; at; at = mt_stack(definitions, at)->parent) {
        own = package_of(mt_stack_frame(definitions, at), &n_own);
        if (own) {
            package = own;
            n = n_own;
        }
    }
    for (uint32_t at = stack; at && package; at = mt_stack(definitions, at)->parent) {
        own = package_of(mt_stack_frame(definitions, at), &n_own);
        if (own && n_own == n && !memcmp(own, package, n))
            return at == stack ? 0 : at;
    }
    return 0;
}

uint32_t mt_site_caller(const struct mt_definitions *definitions, const struct mt_site *site)
{
    if (!(mt_stack_frame(definitions, site->stack)->marks & MT_MARK_LIBRARY))
        return 0;
    uint32_t stack = mt_stack(definitions, site->stack)->parent;
    while (stack &&
           mt_stack_frame(definitions, stack)->marks & (MT_MARK_LIBRARY | MT_MARK_FRAMEWORK))
        stack = mt_stack(definitions, stack)->parent;
    return stack && !is_console_script(mt_stack_frame(definitions, stack))
               ? stack
               : in_outermost_package(definitions, site->stack);
}
