/* SPDX-License-Identifier: Apache-2.0 */
#include "demangle.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Read <length><letters>. Return its end, or NULL. */
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

/* Return a Python function's name without its enclosing functions. */
static const char *after_locals(const char *name)
{
    static const char locals[] = "<locals>.";
    for (const char *next; (next = strstr(name, locals));)
        name = next + sizeof locals - 1;
    return name;
}

/* Shorten a type's name. A nested name is N <name>... E. A name's template arguments (I...E) come
 * after it and end the search: the name alone is enough. */
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
        snprintf(out, size, "%s", after_locals(mangled));
    else
        snprintf(out, size, "%.*s", (int)length, name);
}

typedef char *demangler(const char *mangled, char *buffer, size_t *size, int *status);

/* The C++ runtime's demangler, if present, so that the build needs no C++. Thread-safe. */
static demangler *demangle;

static void find_demangler(void)
{
    void *library = dlopen("libstdc++.so.6", RTLD_LAZY | RTLD_LOCAL);
    if (library)
        *(void **)&demangle = dlsym(library, "__cxa_demangle");
}

/* Cut the name before its parameters: at the '(' of the last ')'. */
static void cut_parameters(char *name)
{
    char *clone = strstr(name, " [clone ");
    if (clone)
        *clone = '\0';
    char *at = strrchr(name, ')');
    int depth = 0;
    for (; at && at >= name; at--) {
        depth += (*at == ')') - (*at == '(');
        if (!depth)
            break;
    }
    if (at > name)
        *at = '\0';
}

/* Return the begin of the name, after a template's return type: after the last space outside
 * brackets. Text after "operator" belongs to the name, with all brackets. */
static const char *after_type(const char *name)
{
    const char *begin = name;
    int depth = 0;
    for (const char *at = name; *at; at++) {
        if (!strncmp(at, "operator", 8) && strchr(" <>(-", at[8]) && at[8])
            break;
        depth +=
            (*at == '<' || *at == '(' || *at == '{') - (*at == '>' || *at == ')' || *at == '}');
        if (*at == ' ' && depth == 0)
            begin = at + 1;
    }
    return begin;
}

char *mt_function_name(const char *symbol)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    int status = 0;
    char *whole = NULL;
    pthread_once(&once, find_demangler);
    if (demangle && !strncmp(symbol, "_Z", 2))
        whole = demangle(symbol, NULL, NULL, &status);
    if (!whole)
        return strdup(symbol);
    cut_parameters(whole);
    char *name = strdup(after_type(whole));
    free(whole);
    return name;
}

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
