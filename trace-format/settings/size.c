/* SPDX-License-Identifier: Apache-2.0 */
/* Does not use the C library's functions, which skip blanks and depend on the locale. */
#include "size.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define MOST_SCALE UINT64_C(1000000000000) /* further decimals are ignored */

struct decimal {
    uint64_t whole, fraction, scale; /* whole + fraction / scale */
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
    return (c | 32) >= 'a' && (c | 32) <= 'z';
}

static int scan_decimal(const char **at, struct decimal *decimal)
{
    int rc = is_digit(**at) ? 0 : -EINVAL;
    *decimal = (struct decimal){.scale = 1};
    for (; is_digit(**at); ++*at)
        if (__builtin_mul_overflow(decimal->whole, 10u, &decimal->whole) ||
            __builtin_add_overflow(decimal->whole, (uint64_t)(**at - '0'), &decimal->whole))
            rc = -ERANGE;
    if (rc == -EINVAL || **at != '.' || !is_digit((*at)[1]))
        return rc;
    for (++*at; is_digit(**at); ++*at)
        if (decimal->scale < MOST_SCALE) {
            decimal->fraction = decimal->fraction * 10 + (uint64_t)(**at - '0');
            decimal->scale *= 10;
        }
    return rc;
}

/* Multiply. `more` is added before the fraction is truncated: scale - 1 rounds up, 0 down. */
static int multiply(const struct decimal *decimal, uint64_t factor, uint64_t more,
                    uint64_t *product)
{
    unsigned __int128 part = (unsigned __int128)decimal->fraction * factor + more;
    unsigned __int128 sum = (unsigned __int128)decimal->whole * factor + part / decimal->scale;
    if (sum > INT64_MAX)
        return -ERANGE;
    *product = (uint64_t)sum;
    return 0;
}

/* Return a unit's power of two, or -1 if it is unknown. */
static int shift_of(const char *unit, size_t n)
{
    static const char letters[] = "KMGTPE";
    const char *letter = n ? strchr(letters, *unit & ~32) : NULL;
    if (!n || (n == 1 && !strncasecmp(unit, "B", 1)))
        return 0;
    bool is_unit = letter && (n == 1 || (n == 2 && strchr("bBiI", unit[1])) ||
                              (n == 3 && !strncasecmp(unit + 1, "iB", 2)));
    return is_unit ? 10 * (int)(letter - letters + 1) : -1;
}

int mt_size_scan(const char **at, uint64_t *bytes)
{
    struct decimal decimal;
    size_t n = 0;
    int rc = scan_decimal(at, &decimal);
    if (rc == -EINVAL)
        return rc;
    const char *unit = *at + strspn(*at, " ");
    while (is_letter(unit[n]))
        n++;
    int shift = is_digit(unit[n]) && n ? -1 : shift_of(unit, n);
    *at = n ? unit : *at;
    if (shift < 0 || (!shift && decimal.fraction))
        return -EINVAL; /* no fractions of a byte */
    *at += n;
    return rc ? rc : multiply(&decimal, UINT64_C(1) << shift, decimal.scale - 1, bytes);
}

int mt_size_parse(const char *text, uint64_t *bytes)
{
    uint64_t size;
    int rc = mt_size_scan(&text, &size);
    if (!rc && *text)
        rc = -EINVAL;
    if (!rc)
        *bytes = size;
    return rc;
}

int mt_percent_parse(const char *text, uint64_t *hundredths)
{
    struct decimal decimal;
    int rc = scan_decimal(&text, &decimal);
    text += strspn(text, " ");
    if (rc == -EINVAL || strcmp(text, "%"))
        return -EINVAL;
    return rc ? rc : multiply(&decimal, 100, decimal.scale - 1, hundredths);
}

int mt_time_parse(const char *text, uint64_t *ns)
{
    static const uint64_t second = 1000000000, day = 86400 * second;
    static const struct {
        const char *name;
        uint64_t ns;
    } units[] = {{"", second}, {"s", second},      {"ms", second / 1000}, {"us", 1000},
                 {"ns", 1},    {"m", 60 * second}, {"min", 60 * second},  {"h", 3600 * second},
                 {"d", day},   {"w", 7 * day}};
    struct decimal decimal;
    int rc = scan_decimal(&text, &decimal);
    for (size_t i = 0; !rc && i < sizeof units / sizeof *units; i++)
        if (!strcmp(text, units[i].name))
            return multiply(&decimal, units[i].ns, 0, ns);
    return rc ? rc : -EINVAL;
}

const char *mt_size_wrong(const char *text, int rc, char *out, size_t size)
{
    struct decimal decimal;
    const char *unit = text;
    char meant[32];
    if (rc == -ERANGE) {
        snprintf(out, size, "is too large");
        return out;
    }
    bool is_number = scan_decimal(&unit, &decimal) == 0;
    unit += strspn(unit, " ");
    is_number = is_number && is_letter(*unit) && !is_digit(unit[1]); /* 1e6 does not mean 1E */
    snprintf(meant, sizeof meant, "%.*s%c", (int)(unit - text), text, is_letter(*unit) ? *unit : 0);
    if (is_number && unit - text < 24 && shift_of(unit, 1) >= !!decimal.fraction)
        snprintf(out, size, "is not a size; did you mean '%s'?", meant);
    else
        snprintf(out, size, "is not a size; give one such as 64M, 1.5 GiB or 65536");
    return out;
}
