/* SPDX-License-Identifier: Apache-2.0 */
#include "allow-ended.h"
#include "tools/terminal/values.h"

#include <string.h>

static mt_allowed_ends find(const char *name, size_t size)
{
    if (size == 3 && !memcmp(name, "any", size))
        return ~0u;
    enum mt_ended_how how = mt_ended_find(name, size);
    return how == MT_ENDED_COUNT ? 0 : 1u << how;
}

int mt_read_allowed(const struct mt_command *command, const char *value, mt_allowed_ends *allowed)
{
    for (const char *at = value;; at++) {
        size_t n = strcspn(at, ",");
        mt_allowed_ends found = find(at, n);
        if (!found) {
            mt_fail_unknown(command, "end of a run", at, n, MT_ALLOWED_CHOICES);
            return -1;
        }
        *allowed |= found;
        at += n;
        if (!*at)
            return 0;
    }
}
