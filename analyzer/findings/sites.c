/* SPDX-License-Identifier: Apache-2.0 */
#include "sites.h"
#include "trace-format/meaning/marks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int mt_sites_collect(struct mt_sites *sites, const struct mt_naming *naming,
                     const struct mt_verdict *verdicts, size_t n)
{
    enum { CATEGORY, PLACE, OPERATOR, NAME, KEYS };
    static const enum mt_property keys[KEYS] = {MT_BY_CATEGORY, MT_BY_PLACE, MT_BY_OPERATOR,
                                                MT_BY_NAME};
    struct mt_sums sums;
    int rc = mt_sum_blocks(&sums, naming, keys, KEYS, verdicts, n);
    *sites = (struct mt_sites){.site = calloc(sums.n + 1, sizeof *sites->site)};
    if (!sites->site)
        rc = -ENOMEM;
    for (; !rc && sites->n < sums.n; sites->n++) {
        const struct mt_sum *sum = &sums.sum[sites->n];
        sites->site[sites->n] = (struct mt_site){.bytes = sum->bytes,
                                                 .blocks = sum->blocks,
                                                 .category = (enum mt_category)sum->key[CATEGORY],
                                                 .stack = sum->stack,
                                                 .node_name = sum->key[OPERATOR],
                                                 .name = sum->key[NAME],
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
    free(sites->site);
    *sites = (struct mt_sites){NULL, 0};
}

uint32_t mt_site_caller(const struct mt_definitions *definitions, const struct mt_site *site)
{
    if (!(mt_stack_frame(definitions, site->stack)->marks & MT_MARK_LIBRARY))
        return 0;
    uint32_t stack = mt_stack(definitions, site->stack)->parent;
    while (stack &&
           mt_stack_frame(definitions, stack)->marks & (MT_MARK_LIBRARY | MT_MARK_FRAMEWORK))
        stack = mt_stack(definitions, stack)->parent;
    return stack;
}
