/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What jansson does not do by itself.
 */
#ifndef MT_JSON_H
#define MT_JSON_H

#include <jansson.h>
#include <stdint.h>
#include <stdio.h>

#include "analyzer/model/origins.h"
#include "analyzer/model/ranges.h"
#include "analyzer/trace/definitions.h"
#include "analyzer/trace/ended.h"

/* A string from any bytes: what is not UTF-8 becomes U+FFFD. A new reference; NULL: no memory. */
json_t *mt_json_text(const char *text);

/* A number; what is over the greatest that JSON readers can be relied on for (2^63 - 1) is that. */
json_t *mt_json_number(uint64_t number);

/* {"function": ..., "file": ..., "line": ...}, null where the stack is not known. */
json_t *mt_json_frame(const struct mt_definitions *definitions, uint32_t stack);

/* {"bytes", "blocks", "sites": [{"bytes", "blocks", "line", "callers"}]} */
json_t *mt_json_origins(const struct mt_definitions *definitions, const struct mt_origins *origins);

/* A device's number, null where it is not known. */
json_t *mt_json_device(int device);

/* The short name of a backward node's type, null for 0. */
json_t *mt_json_type_name(const struct mt_definitions *definitions, uint32_t node_name);

/* What the program calls a block, null for 0. */
json_t *mt_json_name(const struct mt_definitions *definitions, uint32_t name);

/* ["outermost", ..., "innermost"] of a path of ranges, null for 0. */
json_t *mt_json_range(const struct mt_definitions *definitions, const struct mt_ranges *ranges,
                      uint32_t path);

/* {"how": "killed", "exit_code": null, "signal": 9, "out_of_memory": 0, "recovered": false, "text"} */
json_t *mt_json_ended(const struct mt_ended *ended);

/* The info records. */
json_t *mt_json_process(const struct mt_definitions *definitions);

/* Writes the value and a newline, and gives it up. 0, or -EIO, or -ENOMEM where it is NULL. */
int mt_json_print(FILE *out, json_t *value, int compact);

/* A piece of compact JSON, after a text of ours. As mt_json_print. */
int mt_json_piece(FILE *out, const char *before, json_t *value);

#endif
