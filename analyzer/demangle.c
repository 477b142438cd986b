/* SPDX-License-Identifier: Apache-2.0 */
#include "demangle.h"

#include <stdio.h>
#include <string.h>

/* Reads <length><letters>. The end of it, or NULL. */
static const char *source_name(const char *at, const char **name, size_t *length)
{
    size_t n = 0;
    if (*at < '1' || *at > '9')
        return NULL;
    while (*at >= '0' && *at <= '9' && n < 4096)
        n = n * 10 + (size_t)(*at++ - '0');
    if (strnlen(at, n) < n)
        return NULL;
    *name = at;
    *length = n;
    return at + n;
}

/* A nested name is N <name>... E; a name's template arguments (I...E) come after it and end the
 * search: the name before them says enough. */
void mt_short_type_name(const char *mangled, char *out, size_t size)
{
    const char *name = NULL, *at = mangled + (*mangled == '*');
    size_t length = 0;
    at += *at == 'N';
    if (at[0] == 'S' && at[1] == 't')
        at += 2;
    for (const char *next = at; next; at = next ? next : at)
        next = source_name(at, &name, &length);
    if (!name || (*at != '\0' && *at != 'E' && *at != 'I'))
        snprintf(out, size, "%s", mangled);
    else
        snprintf(out, size, "%.*s", (int)length, name);
}
