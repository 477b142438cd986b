/* SPDX-License-Identifier: Apache-2.0 */
#include "compiled.h"

#include <string.h>

static const char prefix[] = "torch_dynamo_resume_in_";

/* Return the begin of "_at_LINE" at the end of a text; NULL: there is none. */
static const char *find_line(const char *text)
{
    const char *end = text + strlen(text), *at = end;
    while (at > text && at[-1] >= '0' && at[-1] <= '9')
        at--;
    return at < end && at - text >= 4 && !memcmp(at - 4, "_at_", 4) ? at - 4 : NULL;
}

void mt_compiled_shorten(char *function)
{
    char *begin = strstr(function, prefix);
    const char *name = begin ? begin + sizeof prefix - 1 : NULL,
               *end = name ? find_line(name) : NULL;
    if (!end || end == name || (begin > function && begin[-1] != '.'))
        return;
    memmove(begin, name, (size_t)(end - name));
    begin[end - name] = '\0';
}
