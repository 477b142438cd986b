/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Read and write a compact copy's lists of numbers about the whole run (FORMAT.md, "Summary
 * blocks"). Copies of format versions 1 and 2 store them as text.
 */
#ifndef MT_REPLAY_SUMMARIES_H
#define MT_REPLAY_SUMMARIES_H

#include "trace-format/model.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mt_numbers {
    uint64_t *at;
    size_t n, capacity;
};

/* Return 0 or -ENOMEM, like all functions below. */
int mt_numbers_add(struct mt_numbers *numbers, const uint64_t *number, size_t n);

/* Add the numbers of a text, separated by a space or a comma; an empty field is 0.
 * ends_with_number: no comma follows the last number. Return -EINVAL if other text follows. */
int mt_numbers_add_text(struct mt_numbers *numbers, const char *text, bool ends_with_number);

/* Pass the numbers to `tell` as one or more definitions. Return its result if it is not 0. */
int mt_numbers_list(const struct mt_numbers *numbers, enum mt_summary what, int device,
                    int (*sink)(void *data, const struct mt_definition *definition), void *data);

void mt_numbers_clear(struct mt_numbers *numbers);

/* Summaries read from a trace. Zeros at first. */
struct mt_summaries {
    struct mt_summary_part {
        uint32_t what; /* enum mt_summary */
        int device;    /* -1: unknown, or none */
        size_t size;
        unsigned char *bytes;
    } *part;
    size_t n, capacity;
};

int mt_summaries_add(struct mt_summaries *summaries, const struct mt_definition *definition);
void mt_summaries_clear(struct mt_summaries *summaries);

/* Add the numbers of one summary. Return 1, 0 if there is none, or -ENOMEM. */
int mt_summaries_find(const struct mt_summaries *summaries, enum mt_summary what, int device,
                      struct mt_numbers *numbers);

#endif
