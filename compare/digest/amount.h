/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Amounts in a budget: a size (trace-format/settings/size.h), "25 %", or relative to a baseline:
 * "+64 MiB", "+2
 * %".
 */
#ifndef MT_AMOUNT_H
#define MT_AMOUNT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum mt_unit { MT_BYTES, MT_PERCENT };

struct mt_amount {
    enum mt_unit unit;
    bool is_relative;
    uint64_t value; /* bytes, or hundredths of a percent */
};

/* Parse an amount. Return 0, or -EINVAL with the reason in why. */
int mt_amount_parse(const char *text, struct mt_amount *amount, char *why, size_t size);

/* Write a measured value with its unit: "1.50 GiB", "12.5 %". Return out. */
#define MT_AMOUNT_TEXT 48
const char *mt_amount_text(char out[MT_AMOUNT_TEXT], enum mt_unit unit, uint64_t value);

/* Return part of whole in hundredths of a percent, and the reverse. */
uint64_t mt_percent_of(uint64_t part, uint64_t whole);
uint64_t mt_part_by_percent(uint64_t whole, uint64_t percent);

/* Write a size of four digits, such as "17.52 GiB", between `least` and `bytes`; all digits if
 * there is none. */
void mt_amount_round(char out[MT_AMOUNT_TEXT], uint64_t bytes, uint64_t least);

#endif
