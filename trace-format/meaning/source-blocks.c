/* SPDX-License-Identifier: Apache-2.0 */
#include "source-blocks.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>

#define CALLS_MOST 64u /* of a line; more are left out */

struct word {
    const char *text;
    size_t size;
};

static bool begins(const char *text, const char *word)
{
    return !strncmp(text, word, strlen(word));
}

static enum mt_source_kind kind_of(const char *text)
{
    if (begins(text, "async "))
        text += strlen("async ");
    if (begins(text, "for ") || begins(text, "for("))
        return MT_SOURCE_FOR;
    if (begins(text, "while ") || begins(text, "while(") || begins(text, "do {") ||
        !strcmp(text, "do"))
        return MT_SOURCE_WHILE;
    return begins(text, "def ") || begins(text, "class ") ? MT_SOURCE_FUNCTION : MT_SOURCE_OTHER;
}

void mt_source_add(struct mt_source_blocks *blocks, uint32_t line, const char *text, bool is_last)
{
    unsigned indent = (unsigned)strspn(text, " \t");
    const char *code = text + indent;
    if (!is_last && (!*code || *code == '#' || *code == '\n' || *code == '{'))
        return;
    while (blocks->n && blocks->block[blocks->n - 1].indent >= indent)
        blocks->n--;
    if (blocks->n == MT_SOURCE_DEPTH)
        return;
    blocks->block[blocks->n].line = line;
    blocks->block[blocks->n].indent = indent;
    blocks->block[blocks->n].kind = kind_of(code);
    blocks->n++;
}

static bool is_of_name(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* Return the end of a text in quotes that begins here. */
static const char *skip_text(const char *at)
{
    char quote = *at++;
    while (*at && *at != quote)
        at += *at == '\\' && at[1] ? 2 : 1;
    return *at ? at + 1 : at;
}

static bool has_comprehension(const char *line)
{
    for (const char *at = line; *at && *at != '#';) {
        if (begins(at, " for "))
            return true;
        at = *at == '"' || *at == '\'' ? skip_text(at) : at + 1;
    }
    return false;
}

static void find_loops(const struct mt_source_blocks *blocks, const char *text,
                       struct mt_source_facts *line)
{
    for (unsigned i = blocks->n; i-- > 0;) {
        enum mt_source_kind kind = blocks->block[i].kind;
        bool is_own = i + 1 == blocks->n;
        if (kind == MT_SOURCE_FUNCTION && !is_own)
            break;
        if (kind == MT_SOURCE_FOR || kind == MT_SOURCE_WHILE ||
            (is_own && kind == MT_SOURCE_OTHER && has_comprehension(text)))
            line->loops[line->n_loops++] = blocks->block[i].line;
    }
}

static bool is_same(struct word a, const char *text, size_t size)
{
    return a.size == size && !memcmp(a.text, text, size);
}

static bool allocates_nothing(struct word word)
{
    static const char *const plain[] = {"int", "len", "range", "float", "min", "max", "str"};
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
        if (is_same(word, plain[i], strlen(plain[i])))
            return true;
    return false;
}

static void put_name(char out[MT_SOURCE_TWICE], struct word name)
{
    size_t n = strlen(out);
    if (n + name.size + 2 > MT_SOURCE_TWICE)
        return;
    if (n)
        out[n++] = ',';
    memcpy(out + n, name.text, name.size);
    out[n + name.size] = '\0';
}

/* Return whether an operator of arithmetic with two operands is here. */
static bool is_operator(const char *line, const char *at)
{
    if (at == line || !strchr("+-*/@%", *at) || at[1] == '=' || at[1] == '>' || at[1] == *at)
        return false;
    for (at--; at > line && *at == ' ';)
        at--;
    return is_of_name(*at) || *at == ')' || *at == ']';
}

/* Count a call of a name: the second one is noted. */
static void count_call(struct word calls[CALLS_MOST], unsigned *n, struct word name,
                       char out[MT_SOURCE_TWICE])
{
    unsigned times = 0;
    if (allocates_nothing(name) || *n == CALLS_MOST)
        return;
    for (unsigned i = 0; i < *n; i++)
        times += is_same(calls[i], name.text, name.size);
    calls[(*n)++] = name;
    if (times == 1)
        put_name(out, name);
}

static void find_twice(const char *line, char out[MT_SOURCE_TWICE])
{
    struct word calls[CALLS_MOST];
    unsigned n = 0, operators = 0;
    for (const char *at = line; *at && *at != '#';) {
        const char *end = at;
        while (is_of_name(*end))
            end++;
        if (*at == '"' || *at == '\'') {
            end = skip_text(at);
        } else if (end == at) {
            operators += is_operator(line, at);
            end++;
        } else if (*end == '(') {
            count_call(calls, &n, (struct word){at, (size_t)(end - at)}, out);
        }
        at = end;
    }
    if (operators > 1)
        put_name(out, (struct word){"*", 1});
}

void mt_source_describe(const struct mt_source_blocks *blocks, const char *text,
                        struct mt_source_facts *line)
{
    *line = (struct mt_source_facts){.is_known = blocks->n != 0};
    if (!line->is_known)
        return;
    find_loops(blocks, text, line);
    find_twice(text, line->twice);
}

bool mt_source_has(const char *names, const char *name)
{
    size_t size = strlen(name);
    while (*names) {
        size_t n = strcspn(names, ",");
        if (is_same((struct word){names, n}, name, size))
            return true;
        names += n;
        names += *names == ',';
    }
    return false;
}
