/* SPDX-License-Identifier: Apache-2.0 */
#include "redact.h"
#include "analyzer/support/grow.h"
#include "analyzer/support/hash.h"
#include "trace-format/meaning/marks.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A path with its folder replaced is at most this much longer: "/3f2a/". */
#define MOST_MORE 6u
/* A word of a command line is one path at least 2 bytes long, with a sign before the next. */
#define ROOM(n) ((n) + (n) / 2 * MOST_MORE + 2 * MOST_MORE)

static bool is_on;

void mt_redact_begin(void)
{
    is_on = true;
}

struct out {
    char *text;
    size_t n;
};

static void put(struct out *out, const char *text, size_t n)
{
    memcpy(out->text + out->n, text, n);
    out->n += n;
}

static void put_digest(struct out *out, const char *before, const char *text, size_t n)
{
    char digest[8];
    snprintf(digest, sizeof digest, "%04x", (unsigned)(mt_hash(MT_HASH_SEED, text, n) >> 48));
    put(out, before, strlen(before));
    put(out, digest, 4);
}

/* Return the length of a path's hidden folder: up to a Python library, or to the file. */
static size_t hidden(const char *path, size_t n)
{
    static const char python[] = "/lib/python3";
    size_t folder = n, length;
    while (folder && path[folder - 1] != '/')
        folder--;
    folder -= folder > 0;
    const char *library[] = {mt_packages_in(path, n, &length),
                             memmem(path, n, python, sizeof python - 1)};
    for (size_t i = 0; i < sizeof library / sizeof *library; i++)
        if (library[i] && (size_t)(library[i] - path) < folder)
            folder = (size_t)(library[i] - path);
    return folder;
}

static void put_path(struct out *out, const char *path, size_t n)
{
    size_t folder = hidden(path, n);
    put_digest(out, "/", path, folder);
    put(out, path + folder, n - folder);
}

/* Separators of words that may be paths. */
static bool is_between(char c)
{
    static const char signs[] = " \t\n=:,;\"'()[]{}|&<>";
    return memchr(signs, c, sizeof signs - 1) != NULL;
}

/* Write a text with its paths replaced: words that contain a slash. */
static void put_text(struct out *out, const char *text, size_t n, bool any_slash)
{
    for (size_t at = 0; at < n;) {
        size_t end = at;
        while (end < n && !is_between(text[end]))
            end++;
        const char *slash = memchr(text + at, '/', end - at);
        if (end - at > 1 && slash && (any_slash || slash == text + at))
            put_path(out, text + at, end - at);
        else
            put(out, text + at, end - at);
        if (end < n)
            put(out, &text[end++], 1);
        at = end;
    }
}

static bool has_key(const struct mt_definition *info, const char *key)
{
    size_t n = strlen(key);
    return info->text_size > n && !memcmp(info->text, key, n) && info->text[n] == '=';
}

static void put_info(struct out *out, const struct mt_definition *info)
{
    static const char *const hosts[] = {"host", "env.MASTER_ADDR"};
    for (size_t i = 0; i < sizeof hosts / sizeof *hosts; i++)
        if (has_key(info, hosts[i])) {
            size_t n = strlen(hosts[i]) + 1;
            put(out, info->text, n);
            put_digest(out, "", info->text + n, info->text_size - n);
            return;
        }
    bool is_path = has_key(info, "program") || has_key(info, "working_directory");
    const char *value = memchr(info->text, '=', info->text_size);
    size_t key = value ? (size_t)(value + 1 - info->text) : 0, n = info->text_size - key;
    put(out, info->text, key);
    if (is_path && n)
        put_path(out, info->text + key, n);
    else
        put_text(out, info->text + key, n, has_key(info, "command") || has_key(info, "title"));
}

static void put_definition(struct out *out, const struct mt_definition *definition)
{
    bool is_path = definition->text_size > 1 && *definition->text == '/';
    if (definition->kind == MT_DEF_INFO)
        put_info(out, definition);
    else if (definition->kind == MT_DEF_STRING && is_path)
        put_path(out, definition->text, definition->text_size);
    else
        put_text(out, definition->text, definition->text_size, false);
}

static bool has_text(const struct mt_definition *definition)
{
    return definition->kind == MT_DEF_STRING || definition->kind == MT_DEF_THREAD ||
           definition->kind == MT_DEF_INFO;
}

int mt_redact(struct mt_redaction *redaction, const struct mt_definition *definition,
              struct mt_definition *out)
{
    *out = *definition;
    if (!is_on || !has_text(definition))
        return 0;
    if (mt_grow(&redaction->text, &redaction->size, ROOM(definition->text_size), 1))
        return -ENOMEM;
    struct out text = {.text = redaction->text};
    put_definition(&text, definition);
    out->text = text.text;
    out->text_size = text.n < MT_TEXT_LIMIT ? text.n : MT_TEXT_LIMIT;
    return 0;
}

void mt_redaction_clear(struct mt_redaction *redaction)
{
    free(redaction->text);
    *redaction = (struct mt_redaction){0};
}
