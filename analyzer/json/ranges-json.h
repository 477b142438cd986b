/* SPDX-License-Identifier: Apache-2.0 */
/* Ranges and marks of the program for the schema memtap.report/1. */
#ifndef MT_RANGES_JSON_H
#define MT_RANGES_JSON_H

#include "analyzer/classify/classify.h"
#include "analyzer/print/json.h"

/* Return every path of ranges that used the slot's device. NULL: no memory. */
json_t *mt_json_ranges(const struct mt_rule_context *context, unsigned slot);

json_t *mt_json_marks(const struct mt_definitions *definitions, const struct mt_ranges *ranges);

#endif
