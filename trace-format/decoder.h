/* SPDX-License-Identifier: Apache-2.0 */
/* Payload bytes of a block back into records. Pure functions, made for untrusted input. */
#ifndef MT_TRACE_DECODER_H
#define MT_TRACE_DECODER_H

#include "model.h"

/* Each fills exactly `records` records of `out` from the raw payload: 0, or -EINVAL where the bytes
 * are no such records. version: of the file's format. Texts of definitions point into raw. */
int mt_decode_events(const unsigned char *raw, size_t size, unsigned version, uint64_t base_time_ns,
                     size_t records, struct mt_event *out);
int mt_decode_definitions(const unsigned char *raw, size_t size, size_t records,
                          struct mt_definition *out);

/* One definition that begins at *at, which is moved behind it. */
int mt_decode_definition(const unsigned char **at, const unsigned char *end,
                         struct mt_definition *out);
int mt_decode_end(const unsigned char *raw, size_t size, struct mt_end *out);

#endif
