/* SPDX-License-Identifier: Apache-2.0 */
#include "moment.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[] = {
    [MT_AT_PEAK] = "peak",   [MT_AT_END] = "end",     [MT_AT_OOM] = "oom",  [MT_AT_TIME] = "time",
    [MT_AT_EVENT] = "event", [MT_AT_BEGIN] = "begin", [MT_AT_STEP] = "step"};

static const struct {
    const char *name;
    unsigned digits; /* decimals down to 1 ns */
} units[] = {{"s", 9}, {"ms", 6}, {"us", 3}, {"ns", 0}};

static int append_digit(uint64_t *value, unsigned digit)
{
    return __builtin_mul_overflow(*value, 10u, value) ||
           __builtin_add_overflow(*value, digit, value);
}

/* Read the decimal number at *text in units of 10^-digits, exactly; further digits are cut. */
static int parse_decimal(const char **text, unsigned digits, uint64_t *value)
{
    const char *at = *text;
    *value = 0;
    if (*at < '0' || *at > '9')
        return -EINVAL;
    for (; *at >= '0' && *at <= '9'; at++)
        if (append_digit(value, (unsigned)(*at - '0')))
            return -EINVAL;
    if (*at == '.')
        at++;
    for (unsigned i = 0; i < digits; i++)
        if (append_digit(value, *at >= '0' && *at <= '9' ? (unsigned)(*at++ - '0') : 0))
            return -EINVAL;
    *text = at + strspn(at, "0123456789");
    return 0;
}

static int parse_time(const char *text, uint64_t *ns)
{
    const char *unit = text + strspn(text, "0123456789.");
    for (unsigned i = 0; i < sizeof units / sizeof *units; i++)
        if (!strcmp(unit, units[i].name))
            return parse_decimal(&text, units[i].digits, ns) || text != unit ? -EINVAL : 0;
    return -EINVAL;
}

const char *mt_moment_name(enum mt_moment_kind kind)
{
    return names[kind];
}

/* "event:17" */
static int parse_number(const char *text, enum mt_moment_kind kind, struct mt_moment *moment)
{
    size_t length = strlen(names[kind]);
    if (strncmp(text, names[kind], length) || text[length] != ':')
        return -EINVAL;
    text += length + 1;
    moment->kind = kind;
    return parse_decimal(&text, 0, &moment->value) || *text ? -EINVAL : 0;
}

int mt_moment_parse(const char *text, struct mt_moment *moment)
{
    *moment = (struct mt_moment){MT_AT_PEAK, 0};
    for (enum mt_moment_kind kind = MT_AT_PEAK; kind <= MT_AT_OOM; kind++)
        if (!strcmp(text, names[kind])) {
            moment->kind = kind;
            return 0;
        }
    for (enum mt_moment_kind kind = MT_AT_EVENT; kind <= MT_AT_STEP; kind++)
        if (!parse_number(text, kind, moment))
            return 0;
    moment->kind = MT_AT_TIME;
    return parse_time(text, &moment->value);
}
