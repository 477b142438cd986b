/* SPDX-License-Identifier: Apache-2.0 */
#include "table.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

const struct mt_setting mt_setting_table[MT_SETTINGS_COUNT] = {
#define ROW(name, letter, variable, otherwise, kind, choices, value, meaning)                      \
    {#name, variable, otherwise, MT_SETTING_##kind, choices},
    MT_SETTINGS(ROW)};

#define LEAST_KEPT (1u << 20)
#define MOST_LEVEL 19

/* Return a unit's power of two: no unit, or one of KMGT with nothing, B or iB after it. -1: not a
 * unit. */
static int unit_shift(const char *unit)
{
    static const char letters[] = "KMGT";
    const char *letter = *unit ? strchr(letters, toupper((unsigned char)*unit)) : NULL;
    if (!*unit)
        return 0;
    if (!letter || (unit[1] && strcasecmp(unit + 1, "B") && strcasecmp(unit + 1, "iB")))
        return -1;
    return 10 * (int)(letter - letters + 1);
}

/* Not by the C library's functions, which skip blanks and look at the locale. */
static const char *read_digits(const char *at, uint64_t *number, uint64_t *scale)
{
    for (*number = 0, *scale = 1; *at >= '0' && *at <= '9'; at++) {
        if (*scale >= UINT64_C(1000000000000))
            return NULL;
        *number = *number * 10 + (uint64_t)(*at - '0');
        *scale *= 10;
    }
    return at;
}

static int read_size(const char *value, uint64_t *bytes)
{
    uint64_t whole, fraction = 0, scale = 1, unused;
    const char *at = read_digits(value, &whole, &unused);
    if (!at || at == value)
        return -EINVAL;
    if (*at == '.' && at[1] >= '0' && at[1] <= '9')
        at = read_digits(at + 1, &fraction, &scale);
    int shift = at ? unit_shift(at) : -1;
    if (shift < 0 || whole > (uint64_t)INT64_MAX >> shift)
        return -EINVAL;
    *bytes =
        (whole << shift) + (uint64_t)((double)fraction / (double)scale * (double)(1ull << shift));
    return 0;
}

uint64_t mt_setting_size(const char *value)
{
    uint64_t bytes;
    return read_size(value, &bytes) ? 0 : bytes;
}

static int check_size(const char *value, char *wrong, size_t size)
{
    uint64_t bytes;
    if (!strcmp(value, "all") || (!read_size(value, &bytes) && bytes >= LEAST_KEPT))
        return 0;
    snprintf(wrong, size, "is neither a size of 1M or more (such as 512M or 2G) nor all");
    return -EINVAL;
}

static int check_level(const char *value, char *wrong, size_t size)
{
    uint64_t level, scale;
    const char *end = read_digits(value, &level, &scale);
    if (end && end != value && !*end && level >= 1 && level <= MOST_LEVEL)
        return 0;
    snprintf(wrong, size, "is not a zstd level from 1 to %d", MOST_LEVEL);
    return -EINVAL;
}

static int check_pattern(const char *value, char *wrong, size_t size)
{
    for (const char *at = value; (at = strchr(at, '%')); at += 2)
        if (!at[1] || !strchr("pehr%", at[1])) {
            snprintf(wrong, size, "has a %% that no p, e, h, r or %% follows");
            return -EINVAL;
        }
    return 0;
}

static bool is_choice(const char *choices, const char *value)
{
    size_t n = strcspn(value, " ");
    for (const char *at = choices; at && n && !value[n]; at = strchr(at + 1, ' ')) {
        const char *choice = at + (*at == ' ');
        if (!strncmp(choice, value, n) && (choice[n] == ' ' || !choice[n]))
            return true;
    }
    return false;
}

static int check_choice(const char *choices, const char *value, char *wrong, size_t size)
{
    size_t used = (size_t)snprintf(wrong, size, "is not one of ");
    if (is_choice(choices, value))
        return 0;
    for (const char *at = choices; *at && used + 3 < size; at++) {
        if (*at == ' ')
            wrong[used++] = ',';
        wrong[used++] = *at;
    }
    wrong[used] = '\0';
    return -EINVAL;
}

int mt_setting_check(const struct mt_setting *setting, const char *value, char *wrong, size_t size)
{
    switch (setting->kind) {
    case MT_SETTING_CHOICE:
        return check_choice(setting->choices, value, wrong, size);
    case MT_SETTING_LEVEL:
        return check_level(value, wrong, size);
    case MT_SETTING_SIZE:
        return check_size(value, wrong, size);
    case MT_SETTING_PATTERN:
        return check_pattern(value, wrong, size);
    case MT_SETTING_PATH:
        break;
    }
    return 0;
}
