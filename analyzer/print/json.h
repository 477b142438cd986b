/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON helpers beyond jansson.
 */
#ifndef MT_JSON_H
#define MT_JSON_H

#include <jansson.h>
#include <stdint.h>
#include <stdio.h>

#include "analyzer/holders/holder-words.h"
#include "analyzer/model/ranges.h"
#include "analyzer/model/sums.h"
#include "analyzer/print/kept-texts.h"
#include "analyzer/trace/definitions.h"
#include "analyzer/trace/ended.h"

/* Return a string from any bytes: invalid UTF-8 becomes U+FFFD. A new reference; NULL: no
 * memory. */
json_t *mt_json_text(const char *text);

/* Return a number, capped at 2^63 - 1, the largest that JSON readers reliably read. */
json_t *mt_json_number(uint64_t number);

/* Return the same, but null for 0; and for an empty text. */
json_t *mt_json_number_or_null(uint64_t number);
json_t *mt_json_text_or_null(const char *text);

/* Make {"function": ..., "file": ..., "line": ...}, null if the stack is unknown. */
json_t *mt_json_frame(const struct mt_definitions *definitions, uint32_t stack);

/* Make a stack's frames, the innermost first. */
json_t *mt_json_frames(const struct mt_definitions *definitions, uint32_t stack);

/* Write mt_json_frames as compact JSON, with frames in `texts`. 0, -EIO or -ENOMEM. */
int mt_json_put_frames(FILE *out, struct mt_kept_texts *texts,
                       const struct mt_definitions *definitions, uint32_t stack);

/* Make one of the sites below; or all, with sites that belong to the result then. */
json_t *mt_json_sum(const struct mt_definitions *definitions, const struct mt_sum *sum);
json_t *mt_json_sums_with(const struct mt_sums *sums, json_t *sites);

/* Make {"bytes", "blocks", "sites": [{"bytes", "blocks", "line", "callers"}]} */
json_t *mt_json_sums(const struct mt_definitions *definitions, const struct mt_sums *sums);

/* Make the number of a device or a rank; null if unknown (negative). */
json_t *mt_json_index(json_int_t number);

/* Make the short name of a backward node's type, null for 0. */
json_t *mt_json_type_name(const struct mt_definitions *definitions, uint32_t node_name);

/* Make the program's name for a block, null for 0. */
json_t *mt_json_name(const struct mt_definitions *definitions, uint32_t name);

/* Make ["outermost", ..., "innermost"] of a path of ranges, null for 0. */
json_t *mt_json_range(const struct mt_definitions *definitions, const struct mt_ranges *ranges,
                      uint32_t path);

/* Make what holds most of some blocks, {"root", "path", "bytes", "blocks"}, which is known.
 * Make a block's holders, [{"root", "path": [...], "view", "time_ns"}]; held NULL: none. */
json_t *mt_json_held_most(const struct mt_held_most *held);
json_t *mt_json_held(const struct mt_definitions *definitions, const struct mt_block_held *held);

/* Make {"how": "killed", "exit_code": null, "signal": 9, "out_of_memory": 0, "recovered": false,
 * "text"} */
json_t *mt_json_ended(const struct mt_ended *ended);

/* Make the info records. */
json_t *mt_json_process(const struct mt_definitions *definitions);

/* Write the value and a newline, and release it. Return 0, -EIO, or -ENOMEM if it is NULL. */
int mt_json_print(FILE *out, json_t *value, int compact);

/* Write the value as mt_json_print would within `depth` objects and arrays, without a newline, and
 * release it. Return 0, -EIO, or -ENOMEM if it is NULL. */
int mt_json_within(FILE *out, json_t *value, unsigned depth);

/* Write compact JSON after a literal prefix, otherwise as mt_json_print. */
int mt_json_piece(FILE *out, const char *before, json_t *value);

#endif
