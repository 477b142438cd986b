/* SPDX-License-Identifier: Apache-2.0 */
#include "text.h"
#include "categories.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

const char *mt_last_part(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

void mt_text_append(char *out, size_t size, const char *format, ...)
{
    size_t used = strlen(out);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(out + used, size - used, format, arguments);
    va_end(arguments);
}

const char *mt_size_text(char out[MT_SIZE_TEXT], uint64_t bytes)
{
    static const char *const unit[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    if (bytes < 1024) {
        snprintf(out, MT_SIZE_TEXT, "%u B", (unsigned)bytes);
        return out;
    }
    unsigned i = 0;
    double value = (double)bytes / 1024;
    while (value >= 1023.995 && i + 1 < sizeof unit / sizeof *unit) {
        value /= 1024;
        i++;
    }
    snprintf(out, MT_SIZE_TEXT, "%.2f %s", value, unit[i]);
    return out;
}

const char *mt_count_text(char out[MT_SIZE_TEXT], uint64_t count)
{
    char digits[MT_SIZE_TEXT];
    int n = snprintf(digits, sizeof digits, "%llu", (unsigned long long)count);
    char *to = out;
    for (int i = 0; i < n; i++) {
        if (i && (n - i) % 3 == 0)
            *to++ = ',';
        *to++ = digits[i];
    }
    *to = '\0';
    return out;
}

const char *mt_time_text(char out[MT_SIZE_TEXT], uint64_t ns)
{
    uint64_t seconds = ns / 1000000000u;
    if (seconds >= 3600)
        snprintf(out, MT_SIZE_TEXT, "%llu h %02llu min", (unsigned long long)(seconds / 3600),
                 (unsigned long long)(seconds / 60 % 60));
    else if (seconds >= 60)
        snprintf(out, MT_SIZE_TEXT, "%llu min %02llu s", (unsigned long long)(seconds / 60),
                 (unsigned long long)(seconds % 60));
    else
        snprintf(out, MT_SIZE_TEXT, "%.3f s", (double)ns / 1e9);
    return out;
}

const char *mt_device_text(char out[MT_SIZE_TEXT], int device)
{
    if (device < 0)
        snprintf(out, MT_SIZE_TEXT, "an unknown device");
    else
        snprintf(out, MT_SIZE_TEXT, "device %d", device);
    return out;
}

/* Return the length of the next character, and whether it is safe to print. */
static size_t next_character(const char *text, const struct mt_style *style, bool *shown)
{
    size_t length = mt_safe_next(text, shown);
    *shown = *shown && (length == 1 || style->utf8);
    return length;
}

static size_t count_characters(const char *text, const struct mt_style *style)
{
    size_t n = 0;
    bool shown;
    for (; *text; text += next_character(text, style, &shown))
        n++;
    return n;
}

struct writer {
    char *out;
    size_t room; /* for bytes, the terminator aside */
};

static void append(struct writer *to, const char *bytes, size_t n)
{
    if (n > to->room)
        n = to->room = 0;
    memcpy(to->out, bytes, n);
    to->out += n;
    to->room -= n;
}

static void append_dots(struct writer *to, const struct mt_style *style)
{
    const char *dots = style->utf8 ? "\u2026" : "~";
    append(to, dots, strlen(dots));
}

void mt_safe_text(char *out, size_t size, const char *text, size_t columns, enum mt_cut cut,
                  const struct mt_style *style)
{
    struct writer to = {out, size - 1};
    const char *colon = mt_safe_colon(text);
    size_t n = count_characters(text, style);
    size_t dropped = n > columns && columns ? n - columns + 1 : 0;
    size_t first = dropped && cut == MT_CUT_BEGIN ? dropped : 0;
    size_t last = dropped && cut == MT_CUT_END ? n - dropped : n;
    if (dropped && cut == MT_CUT_BEGIN)
        append_dots(&to, style);
    for (size_t i = 0; i < last && *text; i++) {
        bool shown;
        size_t length = next_character(text, style, &shown);
        if (i >= first)
            append(&to, shown && text != colon ? text : "?", shown ? length : 1);
        text += length;
    }
    if (dropped && cut == MT_CUT_END)
        append_dots(&to, style);
    *to.out = '\0';
}

/* Return the bytes up to the next possible line break: a number stays with its unit. */
static size_t unbreakable(const char *text)
{
    size_t n = strcspn(text, " \n");
    size_t unit = text[n] == ' ' ? strcspn(text + n + 1, " \n") : 0;
    return n && text[n - 1] >= '0' && text[n - 1] <= '9' && unit && unit <= 4 ? n + 1 + unit : n;
}

void mt_put_wrapped(FILE *out, const char *text, unsigned width, const struct mt_style *style)
{
    size_t column = 0;
    while (*text) {
        char word[1024], safe[sizeof word];
        size_t n = unbreakable(text);
        snprintf(word, sizeof word, "%.*s", (int)n, text);
        size_t columns = count_characters(word, style);
        mt_safe_text(safe, sizeof safe, word, 0, MT_CUT_END, style);
        bool is_over = column && column + 1 + columns > width;
        fprintf(out, "%s%s", !column ? "" : is_over ? "\n" : " ", safe);
        column = is_over || !column ? columns : column + 1 + columns;
        text += n;
        if (*text == '\n') {
            putc('\n', out);
            column = 0;
        }
        text += strspn(text, " \n");
    }
    if (column)
        putc('\n', out);
}

/* How to escape characters in a place: each of `special` by `format` with the character; a ':' at
 * the start of the text by `colon`, if it may begin a line. */
static const struct {
    const char *special, *format, *colon;
} places[MT_TEXT_PLACES] = {
    [MT_FOR_PLAIN] = {"", "%c", "?"},      [MT_FOR_CSV] = {"\"", "\"%c"},
    [MT_FOR_FOLDED] = {";", "?"},          [MT_FOR_MARKDOWN] = {"\\`*_{}[]<>#|!~&@", "\\%c", "\\:"},
    [MT_FOR_CODE] = {"`|", "?"},           [MT_FOR_XML] = {"&<>\"", "&#%d;", "&#58;"},
    [MT_FOR_TOML] = {"\"\\", "\\%c"},      [MT_FOR_COMMAND] = {"%", "%%%02X"},
    [MT_FOR_PROPERTY] = {"%,:", "%%%02X"},
};

/* Skip ASCII letters and digits, which are safe everywhere. */
static const char *skip_plain(const char **text)
{
    while ((unsigned char)((**text | ' ') - 'a') < 26 || (unsigned char)(**text - '0') < 10)
        (*text)++;
    return *text;
}

void mt_put_text(FILE *out, const char *text, enum mt_text_for place)
{
    const char *colon = places[place].colon ? mt_safe_colon(text) : NULL;
    bool is_safe;
    if (place == MT_FOR_CSV && *text && strchr("=+-@\t\r", *text))
        putc('\'', out);
    const char *from = text; /* not written yet */
    for (size_t length; (length = mt_safe_next(skip_plain(&text), &is_safe)); text += length) {
        if (is_safe && text != colon && !strchr(places[place].special, *text))
            continue;
        fwrite(from, 1, (size_t)(text - from), out);
        from = text + length;
        if (!is_safe)
            putc('?', out);
        else if (text == colon)
            fputs(places[place].colon, out);
        else
            fprintf(out, places[place].format, *text);
    }
    fwrite(from, 1, (size_t)(text - from), out);
}

void mt_put_word(FILE *out, const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "/._-+:=@%,";
    bool is_plain = *word && !word[strspn(word, plain)];
    fputs(is_plain ? "" : "'", out);
    for (const char *at = word; *at; at++)
        fputs(*at == '\'' ? "'\\''" : (char[]){*at, '\0'}, out);
    fputs(is_plain ? "" : "'", out);
}

/* Close a stream. One that ran out of memory before accepts nothing now. */
int mt_close_memory(FILE *out)
{
    int last = putc('\0', out);
    return fclose(out) || last == EOF ? -ENOMEM : 0;
}

void mt_colour(FILE *out, const struct mt_style *style, unsigned colour)
{
    if (!style->colour)
        return;
    if (colour)
        fprintf(out, "\033[38;5;%um", colour);
    else
        fputs("\033[0m", out);
}

void mt_put_coloured(FILE *out, const struct mt_style *style, unsigned colour, const char *format,
                     ...)
{
    va_list arguments;
    va_start(arguments, format);
    if (colour)
        mt_colour(out, style, colour);
    vfprintf(out, format, arguments);
    if (colour)
        mt_colour(out, style, 0);
    va_end(arguments);
}

void mt_put_category(FILE *out, const struct mt_style *style, unsigned category, int width)
{
    mt_put_coloured(out, style, mt_categories[category].colour, "%-*s", width,
                    mt_categories[category].label);
}

char *mt_valid_copy(const char *text)
{
    char *copy = malloc(strlen(text) * 3 + 1), *to = copy;
    while (copy && *text) {
        size_t length = mt_utf8_length(text);
        memcpy(to, length ? text : "\xef\xbf\xbd", length ? length : 3);
        to += length ? length : 3;
        text += length ? length : 1;
    }
    if (copy)
        *to = '\0';
    return copy;
}
