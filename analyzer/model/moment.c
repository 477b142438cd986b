/* SPDX-License-Identifier: Apache-2.0 */
#include "moment.h"
#include "trace-format/settings/size.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[] = {
    [MT_AT_PEAK] = "peak",         [MT_AT_END] = "end",   [MT_AT_OOM] = "oom",
    [MT_AT_RESERVED] = "reserved", [MT_AT_TIME] = "time", [MT_AT_EVENT] = "event",
    [MT_AT_BEGIN] = "begin",       [MT_AT_STEP] = "step", [MT_AT_LAST] = "last-turn",
    [MT_AT_HOLDERS] = "holders"};

const char *mt_moment_name(enum mt_moment_kind kind)
{
    return names[kind];
}

/* Read "event:17". */
static int parse_number(const char *text, enum mt_moment_kind kind, struct mt_moment *moment)
{
    size_t length = strlen(names[kind]);
    char *end = NULL;
    if (strncmp(text, names[kind], length) || text[length] != ':')
        return -EINVAL;
    text += length + 1;
    moment->kind = kind;
    errno = 0;
    moment->value = isdigit((unsigned char)*text) ? strtoull(text, &end, 10) : 0;
    return end && !*end && !errno ? 0 : -EINVAL;
}

int mt_moment_parse(const char *text, struct mt_moment *moment)
{
    *moment = (struct mt_moment){MT_AT_PEAK, 0};
    for (enum mt_moment_kind kind = MT_AT_PEAK; kind <= MT_AT_HOLDERS; kind++)
        if ((kind <= MT_AT_RESERVED || kind == MT_AT_HOLDERS) && !strcmp(text, names[kind])) {
            moment->kind = kind;
            return 0;
        }
    if (!strcmp(text, names[MT_AT_LAST])) {
        moment->kind = MT_AT_LAST;
        return 0;
    }
    for (enum mt_moment_kind kind = MT_AT_EVENT; kind <= MT_AT_STEP; kind++)
        if (!parse_number(text, kind, moment))
            return 0;
    moment->kind = MT_AT_TIME;
    size_t n = strlen(text); /* without a unit it might be an event or an iteration */
    return n && isalpha((unsigned char)text[n - 1]) && !mt_time_parse(text, &moment->value)
               ? 0
               : -EINVAL;
}
