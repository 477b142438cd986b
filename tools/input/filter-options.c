/* SPDX-License-Identifier: Apache-2.0 */
#include "filter-options.h"
#include "analyzer/support/categories.h"
#include "analyzer/support/nearest.h"
#include "settings/size.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static const char *const sorts[] = {[MT_SORT_BYTES] = "bytes",
                                    [MT_SORT_BLOCKS] = "blocks",
                                    [MT_SORT_NAME] = "name",
                                    [MT_SORT_ADDRESS] = "address",
                                    [MT_SORT_AGE] = "age"};

/* Return whether a value is one of an option's choices. */
static bool is_choice(const char *choices, const char *value)
{
    const char *at = strstr(choices, value);
    size_t n = strlen(value);
    return n && at && (at == choices || at[-1] == ' ') && (at[n] == ' ' || !at[n]);
}

static int read_sort(const struct mt_command *command, const char *value, enum mt_sort *sort)
{
    const struct mt_option *option = mt_option_of(command, MT_FILTER_SORT);
    for (unsigned i = MT_SORT_BYTES; i < sizeof sorts / sizeof *sorts; i++)
        if (!strcmp(value, sorts[i]) && is_choice(option->choices, value)) {
            *sort = (enum mt_sort)i;
            return 0;
        }
    char why[MT_UNKNOWN_TEXT];
    mt_fail_usage(command, "%s",
                  mt_unknown_text(why, "order", value, strlen(value), option->choices));
    return -1;
}

static int read_top(const struct mt_command *command, const char *value, uint32_t *top)
{
    char *end;
    unsigned long number = strtoul(value, &end, 10);
    *top = (uint32_t)number;
    if (*value >= '0' && *value <= '9' && !*end && number && number <= UINT32_MAX)
        return 0;
    mt_fail_usage(command, "--top is a number of rows, 1 or more, not '%s'", value);
    return -1;
}

static int read_least(const struct mt_command *command, const char *value, uint64_t *least)
{
    char wrong[MT_SIZE_WRONG];
    int rc = mt_size_parse(value, least);
    if (!rc)
        return 0;
    mt_fail_usage(command, "--min-size '%s' %s", value,
                  mt_size_wrong(value, rc, wrong, sizeof wrong));
    return -1;
}

int mt_read_categories(const struct mt_command *command, const char *value, uint32_t *categories)
{
    char why[MT_UNKNOWN_TEXT], choices[MT_CATEGORY_CHOICES];
    for (const char *at = value;; at++) {
        size_t n = strcspn(at, ",");
        unsigned found = mt_category_find(at, n);
        if (found == mt_n_categories) {
            mt_fail_usage(command, "%s",
                          mt_unknown_text(why, "category", at, n, mt_category_choices(choices)));
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
        return read_least(command, value, &filter->least);
    default:
        filter->module = value;
        return 0;
    }
}
