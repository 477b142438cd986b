/* SPDX-License-Identifier: Apache-2.0 */
#include "parse-size.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <strings.h>

enum { MAX_SHIFT = 40 };

/* Return the power of two of a unit, -1 if it is not a unit. */
static int unit_shift(const char *unit)
{
    static const char letters[] = "KMGT";
    const char *letter;

    if (!*unit || !strcasecmp(unit, "B"))
        return 0;
    letter = strchr(letters, toupper((unsigned char)*unit));
    if (!letter)
        return -1;
    if (unit[1] && strcasecmp(unit + 1, "B") && strcasecmp(unit + 1, "iB"))
        return -1;
    return 10 * (int)(letter - letters + 1);
}

/*
 * Reads the digits behind the point as a fraction of 2^MAX_SHIFT. Six digits are enough for
 * anything that people type and keep the product within 64 bits; more are skipped.
 */
static const char *read_fraction(const char *p, uint64_t *fraction)
{
    uint64_t digits = 0, scale = 1;

    for (; isdigit((unsigned char)*p); p++) {
        if (scale >= UINT64_C(1000000))
            continue;
        digits = digits * 10 + (uint64_t)(*p - '0');
        scale *= 10;
    }
    *fraction = (digits << MAX_SHIFT) / scale;
    return p;
}

int sim_parse_size(const char *text, uint64_t *bytes)
{
    uint64_t whole = 0, fraction = 0;
    const char *p = text;
    int shift;

    if (!isdigit((unsigned char)*p))
        return -EINVAL;
    for (; isdigit((unsigned char)*p); p++)
        if (__builtin_mul_overflow(whole, 10, &whole) ||
            __builtin_add_overflow(whole, (uint64_t)(*p - '0'), &whole))
            return -ERANGE;
    if (*p == '.') {
        if (!isdigit((unsigned char)p[1]))
            return -EINVAL;
        p = read_fraction(p + 1, &fraction);
    }
    shift = unit_shift(p);
    if (shift < 0)
        return -EINVAL;
    if (whole > (uint64_t)INT64_MAX >> shift)
        return -ERANGE;
    *bytes = (whole << shift) + (fraction >> (MAX_SHIFT - shift));
    return 0;
}
