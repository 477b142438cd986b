/* SPDX-License-Identifier: Apache-2.0 */
#include "filter-options.h"
#include "analyzer/support/categories.h"
#include "tools/terminal/values.h"

#include <string.h>

static const char *const sorts[] = {[MT_SORT_BYTES] = "bytes",
                                    [MT_SORT_BLOCKS] = "blocks",
                                    [MT_SORT_NAME] = "name",
                                    [MT_SORT_ADDRESS] = "address",
                                    [MT_SORT_AGE] = "age"};

static int read_sort(const struct mt_command *command, const char *value, enum mt_sort *sort)
{
    size_t at;
    int rc = mt_read_choice(command, "order", value, mt_option_of(command, MT_FILTER_SORT)->choices,
                            &at);
    *sort = MT_SORT_BYTES;
    while (!rc && strcmp(value, sorts[*sort]))
        ++*sort;
    return rc;
}

static int read_top(const struct mt_command *command, const char *value, uint32_t *top)
{
    uint64_t number = 0;
    int rc = mt_read_number(command, "top", value, 1, UINT32_MAX, &number);
    *top = (uint32_t)number;
    return rc;
}

int mt_read_categories(const struct mt_command *command, const char *value, uint32_t *categories)
{
    char choices[MT_CATEGORY_CHOICES];
    for (const char *at = value;; at++) {
        size_t n = strcspn(at, ",");
        unsigned found = mt_category_find(at, n);
        if (found == mt_n_categories) {
            mt_fail_unknown(command, "category", at, n, mt_category_choices(choices));
            return -1;
        }
        *categories |= 1u << found;
        at += n;
        if (!*at)
            return 0;
    }
}

int mt_read_filter(const struct mt_command *command, int letter, const char *value,
                   struct mt_filter *filter)
{
    switch (letter) {
    case MT_FILTER_TOP:
        return read_top(command, value, &filter->top);
    case MT_FILTER_SORT:
        return read_sort(command, value, &filter->sort);
    case MT_FILTER_LEAST:
        return mt_read_size(command, "min-size", value, &filter->least);
    default:
        filter->module = value;
        return 0;
    }
}
