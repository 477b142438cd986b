/* SPDX-License-Identifier: Apache-2.0 */
#include "glob.h"

#include <stddef.h>
#include <string.h>

/* Return the end of a bracket expression, after its ']'; NULL: unterminated. */
static const char *end_of_set(const char *pattern)
{
    const char *at = pattern + 1;
    at += *at == '!' || *at == '^';
    at += *at == ']'; /* the first one belongs to the set */
    while (*at && *at != ']')
        at += *at == '\\' && at[1] ? 2 : 1;
    return *at ? at + 1 : NULL;
}

static bool is_in_set(const char *pattern, const char *end, unsigned char byte)
{
    const char *at = pattern + 1;
    bool is_other = *at == '!' || *at == '^', is_in = false;
    at += is_other;
    for (const char *first = at; at < end - 1 || at == first; at++) {
        at += *at == '\\' && at + 1 < end - 1;
        unsigned char from = (unsigned char)*at, to = from;
        if (at[1] == '-' && at + 2 < end - 1) {
            at += 2;
            at += *at == '\\' && at + 1 < end - 1;
            to = (unsigned char)*at;
        }
        is_in |= from <= byte && byte <= to;
    }
    return is_in != is_other;
}

static size_t character(const char *text)
{
    size_t n = *text != 0;
    while (n && n < 4 && (text[n] & 0xc0) == 0x80 && (*text & 0xc0) == 0xc0)
        n++;
    return n;
}

/* Return the end of the first element of a pattern: a character, a set, or an escaped character. */
static const char *end_of_element(const char *pattern)
{
    const char *end = *pattern == '[' ? end_of_set(pattern) : NULL;
    return end ? end : pattern + (*pattern == '\\' && pattern[1] ? 2 : 1);
}

/* Return the end of a pattern's piece: a '*', or the pattern's end. */
static const char *end_of_piece(const char *pattern)
{
    while (*pattern && *pattern != '*')
        pattern = end_of_element(pattern);
    return pattern;
}

/* Return the text after the piece's match at its start; NULL: no match. */
static const char *match_piece(const char *piece, const char *end, const char *text)
{
    for (const char *next; piece < end; piece = next) {
        next = end_of_element(piece);
        if (!*text)
            return NULL;
        if (*piece == '?') {
            text += character(text);
            continue;
        }
        if (*piece == '[' && next > piece + 1 ? !is_in_set(piece, next, (unsigned char)*text)
                                              : next[-1] != *text)
            return NULL;
        text++;
    }
    return text;
}

/* Return the text after the piece's first match, or its match at the end if it is the pattern's
 * last piece; NULL: none. */
static const char *find_piece(const char *piece, const char *end, const char *text)
{
    size_t plain = strcspn(piece, "*?[\\"), n = strlen(text);
    bool is_last = !*end;
    if (piece + plain == end && is_last)
        return n >= plain && !memcmp(text + n - plain, piece, plain) ? text + n : NULL;
    if (piece + plain == end) { /* linear in the text, whatever it contains */
        const char *found = memmem(text, n, piece, plain);
        return found ? found + plain : NULL;
    }
    for (; *text; text++) {
        const char *behind = match_piece(piece, end, text);
        if (behind && (!is_last || !*behind))
            return behind;
    }
    return NULL;
}

bool mt_glob(const char *pattern, const char *text)
{
    const char *end = end_of_piece(pattern);
    text = match_piece(pattern, end, text);
    while (text && *end) {
        pattern = end + 1;
        end = end_of_piece(pattern);
        text = pattern == end && !*end ? strchr(text, '\0') : find_piece(pattern, end, text);
    }
    return text && !*text;
}
