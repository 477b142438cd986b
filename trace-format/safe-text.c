/* SPDX-License-Identifier: Apache-2.0 */
#include "safe-text.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* The ranges for the second byte exclude overlong forms and surrogates. */
size_t mt_utf8_length(const char *text)
{
    const unsigned char *at = (const unsigned char *)text;
    unsigned first = at[0], low = 0x80, high = 0xbf;
    if (first < 0x80)
        return first != 0;
    if (first < 0xc2 || first > 0xf4)
        return 0;
    size_t length = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    if (first == 0xe0)
        low = 0xa0;
    else if (first == 0xed)
        high = 0x9f;
    else if (first == 0xf0)
        low = 0x90;
    else if (first == 0xf4)
        high = 0x8f;
    if (at[1] < low || at[1] > high)
        return 0;
    for (size_t i = 2; i < length; i++)
        if ((at[i] & 0xc0) != 0x80)
            return 0;
    return length;
}

uint32_t mt_utf8_number(const char *text, size_t length)
{
    static const unsigned char mask[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
    uint32_t number = (unsigned char)*text & mask[length];
    for (size_t i = 1; i < length; i++)
        number = number << 6 | ((unsigned char)text[i] & 0x3f);
    return number;
}

static const struct {
    uint32_t first, last;
} acting[] = {
    {0x0000, 0x001f},   /* control characters */
    {0x007f, 0x009f},   /* delete, and 8-bit control characters */
    {0x061c, 0x061c},   /* Arabic letter mark */
    {0x200b, 0x200b},   /* zero-width space */
    {0x200e, 0x200f},   /* directional marks */
    {0x2028, 0x202e},   /* line and paragraph separators; directional embeddings, overrides */
    {0x2060, 0x206f},   /* invisible operators; directional isolates */
    {0xfeff, 0xfeff},   /* byte order mark */
    {0xfff9, 0xfffb},   /* annotations */
    {0xe0000, 0xe007f}, /* tags */
};

static bool acts(uint32_t number)
{
    for (size_t i = 0; i < sizeof acting / sizeof *acting; i++)
        if (number >= acting[i].first && number <= acting[i].last)
            return true;
    return (number & 0xfffe) == 0xfffe;
}

static bool begins_command(const char *text)
{
    return *text == '#' && (!strncmp(text, "##[", 3) || !strncmp(text, "##vso[", 6));
}

size_t mt_safe_next(const char *text, bool *is_safe)
{
    size_t length = mt_utf8_length(text);
    if (length == 1)
        *is_safe = (unsigned char)*text >= ' ' && *text != 127 && !begins_command(text);
    else
        *is_safe = length && !acts(mt_utf8_number(text, length));
    return length ? length : *text != 0;
}

/* Return whether programs that read lines skip this as a space before the first word. */
static bool is_space(uint32_t number)
{
    return number <= ' ' || number == 0xa0 || number == 0x1680 ||
           (number >= 0x2000 && number <= 0x200a) || number == 0x202f || number == 0x205f ||
           number == 0x3000;
}

const char *mt_safe_colon(const char *text)
{
    for (size_t length; (length = mt_utf8_length(text)) && is_space(mt_utf8_number(text, length));)
        text += length;
    return *text == ':' ? text : NULL;
}

void mt_safe_in_place(char *text, bool has_utf8)
{
    char *to = text;
    bool is_safe;
    for (size_t length; (length = mt_safe_next(text, &is_safe)); text += length) {
        if (!is_safe || (length > 1 && !has_utf8)) {
            *to++ = '?';
            continue;
        }
        memmove(to, text, length);
        to += length;
    }
    *to = '\0';
}
