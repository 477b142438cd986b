/* SPDX-License-Identifier: Apache-2.0 */
/* Arrow's messages (format/Message.fbs, Schema.fbs, File.fbs of its specification), as arrow.c uses
 * them. */
#ifndef MT_ARROW_PARTS_H
#define MT_ARROW_PARTS_H

#include "exchange/encode/flatbuffer.h"
#include "exchange/encode/sink.h"
#include "exchange/tables/columns.h"

#include <stdbool.h>

/* Where a message is in a file, for its footer. */
struct mt_arrow_place {
    int64_t offset;
    int32_t metadata;
    int32_t zero;
    int64_t body;
};

/* A column of a batch, or the texts of a dictionary. Buffers are the caller's. */
struct mt_arrow_array {
    int64_t n, nulls;
    const void
        *buffer[3]; /* validity (empty if there are no nulls), values; of texts offsets, bytes */
    int64_t size[3];
    unsigned n_buffers;
};

/* Write the schema. All return 0 or -ENOMEM; the sink keeps its errors. */
int mt_arrow_schema(struct mt_sink *sink, struct mt_flat *flat, const struct mt_table *table);

/* Write a batch of columns, or if dictionary is not -1, the values of that one. */
int mt_arrow_batch(struct mt_sink *sink, struct mt_flat *flat, const struct mt_arrow_array *arrays,
                   size_t n, int dictionary, struct mt_arrow_place *place);

void mt_arrow_end(struct mt_sink *sink);
int mt_arrow_footer(struct mt_sink *sink, struct mt_flat *flat, const struct mt_table *table,
                    const struct mt_arrow_place *dictionaries, size_t n_dictionaries,
                    const struct mt_arrow_place *batches, size_t n_batches);

#endif
