/* SPDX-License-Identifier: Apache-2.0 */
/* --top, --sort, --min-size, --category and --module: the options that filter tables. */
#ifndef MT_FILTER_OPTIONS_H
#define MT_FILTER_OPTIONS_H

#include "analyzer/replay/filter.h"
#include "tools/terminal/command.h"

/* Letters of these options. */
enum { MT_FILTER_TOP = 512, MT_FILTER_SORT, MT_FILTER_LEAST, MT_FILTER_CATEGORY, MT_FILTER_MODULE };

/* Read the value of --category, after all rules: a rule may define a category. Return 0, or -1
 * after a message. */
int mt_read_categories(const struct mt_command *command, const char *value, uint32_t *categories);

/* Read the value of another filter option. The filter keeps pointers to the value. Return 0, or -1
 * after a message. */
int mt_read_filter(const struct mt_command *command, int letter, const char *value,
                   struct mt_filter *filter);

#endif
