/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files of memory-viz.c: the history of one device, as PyTorch's allocator would have
 * recorded it. */
#ifndef MT_VIZ_H
#define MT_VIZ_H

#include "analyzer/query/texts.h"
#include "analyzer/replay/torch-memory.h"
#include "analyzer/support/by-id.h"
#include "exchange/encode/pickle.h"
#include "first-pass.h"

struct mt_viz {
    const struct mt_export *export;
    const struct mt_pass *pass;
    const char *path;
    struct mt_pickle *pickle; /* NULL: entries are only counted */
    unsigned slot;
    uint64_t start_us; /* unix time of the recording's begin */
    uint64_t until;    /* the last event that counts; UINT64_MAX: all */
    uint64_t skip;     /* entries that are left out, the oldest */
    uint64_t entries;  /* so far */
    struct mt_pickle_list list;
    struct mt_torch_memory memory; /* a block's mark: it has a segment of its own */
    bool is_over;                  /* the pass ended before the trace: it has all */
    int rc;
    /* what the pickle has, by number: memo + 1 */
    struct mt_by_id stacks, frames, forward;
    struct mt_texts *texts; /* metadata, each memoized at its first use */
    uint32_t *text_memos;
    size_t text_memos_capacity;
};

/* Write values of the pickle that occur repeatedly. */
void mt_viz_frames(struct mt_viz *viz, const char *key, uint32_t stack);
void mt_viz_forward_frames(struct mt_viz *viz, uint32_t stack);
void mt_viz_category(struct mt_viz *viz, int rule);
void mt_viz_metadata(struct mt_viz *viz, const struct mt_block *block, int rule);
void mt_viz_pool(struct mt_viz *viz, const char *key, uint64_t pool);

/* Write the device's entries, in order. As mt_export_writer. */
int mt_viz_trace(struct mt_viz *viz, struct mt_export_error *error);

#endif
