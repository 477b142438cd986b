/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of one or several traces as an Arrow stream, which reads as its consumer asks for batches.
 */
#ifndef MT_ARROW_STREAM_H
#define MT_ARROW_STREAM_H

#include "arrow.h"
#include "exchange/tables/source.h"

/* What the stream does at the place where a trace stops being sound: it fails, or goes on with the
 * next trace. */
struct mt_stream_question {
    struct mt_rows_asked rows;
    bool takes_damaged;
};

/* Make a stream of the traces, one after the other, and read its first batch, so that what is
 * wrong is known here. Paths are copied. 0, or a negative errno with a line in `error`. To be
 * released by its owner, at any time and by any thread; it has nothing to do with whoever made it.
 */
int mt_stream_make(struct ArrowArrayStream *out, const struct mt_stream_question *question,
                   const char *const *paths, size_t n_paths, char *error, size_t size);

#endif
