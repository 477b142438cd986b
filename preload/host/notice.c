/* SPDX-License-Identifier: Apache-2.0 */
#include "notice.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#define MOST_NAMES 16

static const char *_Atomic names[MOST_NAMES]; /* more are not reported */

void mt_notice(const char *symbol)
{
    const char *here = NULL;
    for (size_t i = 0; i < MOST_NAMES && here != symbol; i++) {
        here = atomic_load(&names[i]); /* most calls were noted before: do not write */
        if (!here && atomic_compare_exchange_strong(&names[i], &here, symbol))
            here = symbol;
    }
}

const char *mt_notice_list(char *text, size_t size)
{
    size_t used = 0;
    *text = '\0';
    for (size_t i = 0; i < MOST_NAMES && names[i] && used < size; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%s", used ? ", " : "", names[i]);
    return text;
}
