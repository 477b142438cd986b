/* SPDX-License-Identifier: Apache-2.0 */
#include "amount.h"
#include "analyzer/support/text.h"
#include "analyzer/support/to-integer.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    enum mt_unit unit;
    double scale;
} units[] = {
    {"%", MT_PERCENT, 100},    {"B", MT_BYTES, 1},        {"KiB", MT_BYTES, 0x1p10},
    {"MiB", MT_BYTES, 0x1p20}, {"GiB", MT_BYTES, 0x1p30}, {"TiB", MT_BYTES, 0x1p40},
};

/* Amounts must be below it: 8 EiB. */
#define TOO_LARGE 0x1p63

#define EXPECTED "expected a size such as \"22 GiB\""

static int read_unit(const char *at, double number, struct mt_amount *amount)
{
    at += strspn(at, " ");
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        if (strcmp(at, units[i].name))
            continue;
        double value = ceil(number * units[i].scale);
        if (value >= TOO_LARGE)
            return -ERANGE;
        amount->unit = units[i].unit;
        amount->value = (uint64_t)value;
        return 0;
    }
    return -EINVAL;
}

/* strtod accepts more than we do: signs, blanks, hexadecimal digits, infinity. */
static const char *read_number(const char *at, double *number)
{
    size_t n = strspn(at, "0123456789.");
    char *end;
    if (!n || at[n] == 'x' || at[n] == 'e' || at[n] == 'E')
        return NULL;
    *number = strtod(at, &end);
    return end == at + n ? end : NULL;
}

int mt_amount_parse(const char *text, struct mt_amount *amount, char *why, size_t size)
{
    double number;
    *amount = (struct mt_amount){.is_relative = *text == '+'};
    const char *at = read_number(text + amount->is_relative, &number);
    int rc = at ? read_unit(at, number, amount) : -EINVAL;
    if (rc == -ERANGE)
        snprintf(why, size, "the amount is too large");
    else if (at && rc && !*at)
        snprintf(why, size, "'%s' has no unit; expected B, KiB, MiB, GiB, TiB or %% after it",
                 text);
    else if (at && rc)
        snprintf(why, size, "unknown unit '%s'; expected B, KiB, MiB, GiB, TiB or %%",
                 at + strspn(at, " "));
    else if (rc)
        snprintf(why, size, "'%s' is not an amount; " EXPECTED " or, relative to a baseline, \"+2 %%\"",
                 text);
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

uint64_t mt_amount_round(char out[MT_AMOUNT_TEXT], uint64_t bytes)
{
    static const char *const names[] = {"MiB", "GiB", "TiB"};
    unsigned unit = 0;
    double size = (double)bytes / 0x1p20;
    for (; size >= 1000 && unit < 2; unit++)
        size /= 1024;
    /* Steps of at most a twentieth: 1.05, 10.5, 105. */
    double step = size < 2 ? 0.05 : size < 10 ? 0.1 : size < 20 ? 0.5 : size < 100 ? 1 : 5;
    double scale = 0x1p20 * (double)(UINT64_C(1) << 10 * unit);
    size = ceil(size / step) * step;
    if (size * scale >= TOO_LARGE) /* the largest amount that can be read again */
        size = TOO_LARGE / scale - 1;
    snprintf(out, MT_AMOUNT_TEXT, size < 1000 ? "%.6g %s" : "%.0f %s", size, names[unit]);
    return mt_to_uint64(ceil(size * scale));
}
