/* SPDX-License-Identifier: Apache-2.0 */
#include "limits.h"
#include "size.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

const char *const mt_limit_variables[MT_LIMITS_N] = {"MEMTAP_MOST_MEMORY", "MEMTAP_MOST_OUTPUT",
                                                     "MEMTAP_MOST_EVENTS"};

static int read_size(uint64_t *most, const char *name, const char *text, char *error, size_t size)
{
    char wrong[MT_SIZE_WRONG];
    int rc = mt_size_parse(text, most);
    if (rc)
        snprintf(error, size, "%s '%s' %s", name, text,
                 mt_size_wrong(text, rc, wrong, sizeof wrong));
    else if (!*most)
        snprintf(error, size, "%s '%s' is too small; the minimum is 1", name, text);
    return rc || !*most ? -EINVAL : 0;
}

static int read_count(uint64_t *most, const char *name, const char *text, char *error, size_t size)
{
    char *end;
    errno = 0;
    *most = *text >= '0' && *text <= '9' ? strtoull(text, &end, 10) : 0;
    if (*most && !*end && !errno)
        return 0;
    snprintf(error, size, "%s '%s' is not a number of events; give one such as 50000000", name,
             text);
    return -EINVAL;
}

int mt_limit_read(uint64_t *most, enum mt_limit_kind limit, const char *name, const char *text,
                  char *error, size_t size)
{
    return limit == MT_LIMIT_EVENTS ? read_count(most, name, text, error, size)
                                    : read_size(most, name, text, error, size);
}

int mt_limits_of_environment(struct mt_limits *limits, char *error, size_t size)
{
    for (unsigned i = 0; i < MT_LIMITS_N; i++) {
        const char *name = mt_limit_variables[i], *text = getenv(name);
        if (!limits->most[i] && text && *text &&
            mt_limit_read(&limits->most[i], i, name, text, error, size))
            return -EINVAL;
    }
    return 0;
}
