/* SPDX-License-Identifier: Apache-2.0 */
#include "amount.h"
#include "analyzer/support/text.h"
#include "analyzer/support/to-integer.h"
#include "trace-format/settings/size.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int mt_amount_parse(const char *text, struct mt_amount *amount, char *why, size_t size)
{
    char wrong[MT_SIZE_WRONG];
    *amount = (struct mt_amount){.is_relative = *text == '+'};
    const char *at = text + amount->is_relative;
    bool is_percent = *at && at[strlen(at) - 1] == '%';
    amount->unit = is_percent ? MT_PERCENT : MT_BYTES;
    int rc = is_percent ? mt_percent_parse(at, &amount->value) : mt_size_parse(at, &amount->value);
    if (rc && is_percent)
        snprintf(why, size,
                 rc == -ERANGE ? "'%s' is too large a percentage"
                               : "'%s' is not a percentage; give one such as 2 %%",
                 text);
    else if (rc)
        snprintf(why, size, "'%s' %s", text, mt_size_wrong(at, rc, wrong, sizeof wrong));
    return rc ? -EINVAL : 0;
}

const char *mt_amount_text(char out[MT_AMOUNT_TEXT], enum mt_unit unit, uint64_t value)
{
    char bytes[MT_SIZE_TEXT];
    if (unit == MT_BYTES)
        snprintf(out, MT_AMOUNT_TEXT, "%s", mt_size_text(bytes, value));
    else
        snprintf(out, MT_AMOUNT_TEXT, "%.1f %%", (double)value / 100);
    return out;
}

uint64_t mt_percent_of(uint64_t part, uint64_t whole)
{
    return whole ? mt_to_uint64((double)part / (double)whole * 10000 + 0.5) : 0;
}

uint64_t mt_part_by_percent(uint64_t whole, uint64_t percent)
{
    return mt_to_uint64((double)whole * (double)percent / 10000);
}

/* One more digit than a percent, so that 5.4 % is not shown as 5 %. */
#define DIGITS 4

void mt_amount_round(char out[MT_AMOUNT_TEXT], uint64_t bytes, uint64_t least)
{
    static const char *const names[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    const uint64_t most = INT64_MAX - (UINT64_C(1) << 40); /* must be parseable */
    uint64_t size, limit = bytes < most ? bytes : most;
    double number = (double)limit, step = 1;
    unsigned unit = 0;
    for (; number >= 1000 && unit < 4; unit++)
        number /= 1024;
    while (unit && number / step < 1000)
        step /= 10;
    snprintf(out, MT_AMOUNT_TEXT, number < 1000 ? "%.*g %s" : "%.*f %s", number < 1000 ? DIGITS : 0,
             floor(number / step) * step, names[unit]);
    if (mt_size_parse(out, &size) || size < least || size > limit)
        snprintf(out, MT_AMOUNT_TEXT, "%" PRIu64 " B", limit);
}
