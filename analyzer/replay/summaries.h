/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists of numbers that a compact copy has of the whole run (FORMAT.md, "Summary blocks"), as they
 * are read and written. Copies of format versions 1 and 2 have them as text.
 */
#ifndef MT_REPLAY_SUMMARIES_H
#define MT_REPLAY_SUMMARIES_H

#include "trace-format/model.h"

#include <stddef.h>
#include <stdint.h>

struct mt_numbers {
    uint64_t *at;
    size_t n, capacity;
};

/* 0 or -ENOMEM, as all below. */
int mt_numbers_add(struct mt_numbers *numbers, const uint64_t *number, size_t n);

/* Adds those of a text, with a space or a comma between two, and nothing for 0. ends_with_number:
 * else the last of them has a comma after it. -EINVAL: there is something else after those added.
 */
int mt_numbers_add_text(struct mt_numbers *numbers, const char *text, int ends_with_number);

/* Tells the definitions that say them, as many as it takes; one where there are no numbers. Returns
 * what tell returns where that is not 0. */
int mt_numbers_tell(const struct mt_numbers *numbers, enum mt_summary what, int device,
                    int (*tell)(void *data, const struct mt_definition *definition), void *data);

void mt_numbers_clear(struct mt_numbers *numbers);

/* What was read of a trace. Zeros at first. */
struct mt_summaries {
    struct mt_summary_part {
        uint32_t what; /* enum mt_summary */
        int device;    /* -1: unknown, or of none */
        size_t size;
        unsigned char *bytes;
    } * part;
    size_t n, capacity;
};

int mt_summaries_add(struct mt_summaries *summaries, const struct mt_definition *definition);
void mt_summaries_clear(struct mt_summaries *summaries);

/* Adds the numbers of one of them: 1, 0 where there is none, or -ENOMEM. */
int mt_summaries_find(const struct mt_summaries *summaries, enum mt_summary what, int device,
                      struct mt_numbers *numbers);

#endif
