/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of rows.h share; for others there is rows.h. */
#ifndef MT_ROWS_PARTS_H
#define MT_ROWS_PARTS_H

#include "analyzer/support/by-id.h"
#include "rows.h"
#include "texts.h"

/* Each column of texts has the dictionary of its name: D(enumerator, name). What is numbered how
 * stands in rows-texts.c. */
#define MT_DICTIONARIES(D)                                                                         \
    D(LEVEL, "level")                                                                              \
    D(CATEGORY, "category")                                                                        \
    D(RULE, "rule")                                                                                \
    D(CERTAINTY, "certainty")                                                                      \
    D(PHASE, "phase")                                                                              \
    D(DTYPE, "dtype")                                                                              \
    D(KIND, "kind")                                                                                \
    D(FUNCTION, "function")                                                                        \
    D(FILE, "file")                                                                                \
    D(MODULE, "module")                                                                            \
    D(OPERATOR, "operator")                                                                        \
    D(NAME, "name")                                                                                \
    D(RANGE, "range")

enum mt_dictionary_id {
#define MT_DICTIONARY_ENUM(id, name) MT_DICTIONARY_##id,
    MT_DICTIONARIES(MT_DICTIONARY_ENUM)
#undef MT_DICTIONARY_ENUM
        MT_DICTIONARIES_N
};

struct mt_dictionary {
    struct mt_texts texts;
    uint32_t *of; /* by number: place in texts + 1; 0: it has no text */
    uint32_t n;
};

struct mt_rows {
    const char *path;
    struct mt_question question;
    struct mt_replay replay; /* of the first reading */
    struct mt_rule_context context;
    long rank;       /* -1: not known */
    uint16_t *rules; /* by event: of the block that it made, index + 1 */
    size_t rules_capacity;
    struct mt_by_id is_operator, is_name; /* by string, bool: blocks have it */
    bool has_no_memory;
    struct mt_dictionary dictionary[MT_DICTIONARIES_N];
};

/* Fills the dictionaries, after the first reading. 0 or -ENOMEM. */
int mt_rows_make_texts(struct mt_rows *rows);

/* The place of what has that number in its dictionary; -1: it has no text. */
static inline int64_t mt_rows_place(const struct mt_rows *rows, enum mt_dictionary_id id,
                                    uint32_t number)
{
    const struct mt_dictionary *dictionary = &rows->dictionary[id];
    return number < dictionary->n ? (int64_t)dictionary->of[number] - 1 : -1;
}

/* mt_rows_read of blocks. */
int mt_rows_read_blocks(struct mt_rows *rows, mt_row_taker *take, void *data,
                        struct mt_trace_error *fault);

/* Whether the device is asked for; whether the block is of the level that its device has: what CUDA
 * handed out before PyTorch began to use the device is none of PyTorch's blocks. */
static inline bool mt_rows_has_device(const struct mt_rows *rows, int device)
{
    return !rows->question.one_device || rows->question.device == device;
}

static inline bool mt_rows_is_of_cuda(const struct mt_rows *rows, const struct mt_block *block)
{
    return !rows->replay.peak[mt_device_slot(block->device)].event;
}

static inline void mt_row_put(struct mt_row *row, unsigned column, int64_t value, bool is_known)
{
    row->at[column] = is_known ? value : 0;
    row->nulls = (row->nulls & ~(UINT32_C(1) << column)) | (uint32_t)!is_known << column;
}

static inline void mt_row_put_text(const struct mt_rows *rows, struct mt_row *row, unsigned column,
                                   enum mt_dictionary_id id, uint32_t number)
{
    int64_t place = mt_rows_place(rows, id, number);
    mt_row_put(row, column, place, place >= 0);
}

#endif
