/* SPDX-License-Identifier: Apache-2.0 */
#include "analyzer/support/grow.h"
#include "job.h"
#include "trace-format/settings/size.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>

#define MOST 1000000000000000u /* doubles are exact up to here */
#define MOST_LISTED 1000u

static int fail(char *wrong, size_t size, const char *why)
{
    snprintf(wrong, size, "%s", why);
    return -EINVAL;
}

/* Parse a number or a size. */
static int read_number(const char **at, uint64_t *number)
{
    int rc = mt_size_scan(at, number);
    return !rc && *number > MOST ? -ERANGE : rc;
}

static int add(struct mt_variable *variable, const char *text, size_t length)
{
    size_t capacity = variable->n;
    if (variable->n >= MOST_LISTED)
        return -E2BIG;
    if (MT_GROW(variable->text, capacity, variable->n) ||
        !(variable->text[variable->n] = strndup(text, length)))
        return -ENOMEM;
    variable->n++;
    return 0;
}

static int add_number(struct mt_variable *variable, uint64_t number)
{
    char text[MT_VALUE_TEXT];
    int n = snprintf(text, sizeof text, "%" PRIu64, number);
    return add(variable, text, (size_t)n);
}

/* Add first, first * factor and so on below last, and last itself. */
static int multiply(struct mt_variable *variable, uint64_t first, uint64_t last, uint64_t factor)
{
    int rc = 0;
    for (uint64_t at = first; !rc && at < last; at = at ? at * factor : 1)
        rc = add_number(variable, at);
    return rc ? rc : add_number(variable, last);
}

/* Return whether a text looks like a range: numbers or sizes around "..". */
static bool is_range(const char *text)
{
    uint64_t number;
    const char *end = text;
    bool begins = !mt_size_scan(&end, &number) && !strncmp(end, "..", 2);
    return begins || (strstr(text, "..") && !text[strspn(text, "0123456789.+*-,")]);
}

static int read_range(struct mt_variable *variable, const char *at, char *wrong, size_t size)
{
    static const char form[] = "is not a range; use one such as 1..512, 8..512+8 or 64M..1G*2";
    uint64_t first, last, by = 1;
    int rc = read_number(&at, &first);
    if (!rc && strncmp(at, "..", 2))
        return fail(wrong, size, form);
    if (!rc) {
        at += 2;
        rc = read_number(&at, &last);
    }
    char how = rc ? '\0' : *at;
    if (how == '+' || how == '*') {
        at++;
        rc = read_number(&at, &by);
    }
    if (rc == -ERANGE)
        return fail(wrong, size, "has a number above 1000000000000000");
    if (rc || *at)
        return fail(wrong, size, form);
    if (first > last)
        return fail(wrong, size, "is reversed; give the smaller number first");
    if (by < (how == '*' ? 2 : 1))
        return fail(wrong, size, how == '*' ? "has a factor below 2" : "has a step of 0");
    variable->is_ordered = 1;
    variable->has_step = how != '\0';
    if (how == '*')
        return multiply(variable, first, last, by);
    variable->first = first;
    variable->step = by;
    variable->n = (size_t)((last - first) / by + 1);
    return 0;
}

/* Add a value, unescaping "\,". */
static int add_value(struct mt_variable *variable, const char *text, size_t length)
{
    char *copy = malloc(length + 1);
    size_t n = 0;
    if (!copy)
        return -ENOMEM;
    for (size_t i = 0; i < length; i++) {
        i += text[i] == '\\' && text[i + 1] == ',';
        copy[n++] = text[i];
    }
    int rc = add(variable, copy, n);
    free(copy);
    return rc;
}

static size_t value_length(const char *text)
{
    size_t n = 0;
    while (text[n] && text[n] != ',')
        n += text[n] == '\\' && text[n + 1] == ',' ? 2 : 1;
    return n;
}

static bool has_twice(const struct mt_variable *variable)
{
    for (size_t i = 0; i < variable->n; i++)
        for (size_t j = 0; j < i; j++)
            if (!strcmp(variable->text[i], variable->text[j]))
                return 1;
    return 0;
}

static int read_list(struct mt_variable *variable, const char *at, char *wrong, size_t size)
{
    for (;; at++) {
        size_t length = value_length(at);
        int rc = add_value(variable, at, length);
        if (rc == -E2BIG)
            return fail(wrong, size, "has more than 1000 values");
        if (rc)
            return rc;
        at += length;
        if (!*at)
            break;
    }
    return has_twice(variable) ? fail(wrong, size, "has a value twice") : 0;
}

static size_t name_length(const char *text)
{
    size_t n = 0;
    while (isalnum((unsigned char)text[n]) || text[n] == '_' || (n && text[n] == '-'))
        n++;
    return isdigit((unsigned char)*text) ? 0 : n;
}

int mt_variable_read(struct mt_variable *variable, const char *text, char *wrong, size_t size)
{
    size_t n = name_length(text);
    *variable = (struct mt_variable){0};
    if (!n || text[n] != '=')
        return fail(wrong, size, "is not of the form NAME=VALUES, such as batch=1..512");
    if (!text[n + 1])
        return fail(wrong, size, "has no values; give a range (1..512) or a list (0,1)");
    if (!(variable->name = strndup(text, n)))
        return -ENOMEM;
    return is_range(text + n + 1) ? read_range(variable, text + n + 1, wrong, size)
                                  : read_list(variable, text + n + 1, wrong, size);
}

void mt_variable_clear(struct mt_variable *variable)
{
    for (size_t i = 0; variable->text && i < variable->n; i++)
        free(variable->text[i]);
    free(variable->text);
    free(variable->name);
    *variable = (struct mt_variable){0};
}

int mt_variable_double(struct mt_variable *variable)
{
    struct mt_variable all = *variable;
    if (all.text)
        return 0;
    variable->n = 0;
    return multiply(variable, all.first, all.first + (all.n - 1) * all.step, 2);
}

const char *mt_variable_text(const struct mt_variable *variable, size_t i, char room[MT_VALUE_TEXT])
{
    if (variable->text)
        return variable->text[i];
    snprintf(room, MT_VALUE_TEXT, "%" PRIu64, variable->first + i * variable->step);
    return room;
}

bool mt_variable_number(const struct mt_variable *variable, size_t i, uint64_t *number)
{
    char room[MT_VALUE_TEXT];
    const char *at = mt_variable_text(variable, i, room);
    bool is_plain = *at != '0' || !at[1]; /* keep "007" as it is */
    return is_plain && !read_number(&at, number) && !*at;
}
