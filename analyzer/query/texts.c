/* SPDX-License-Identifier: Apache-2.0 */
#include "texts.h"
#include "analyzer/support/grow.h"
#include "analyzer/support/hash.h"
#include "analyzer/support/text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static size_t locate(const struct mt_texts *texts, const char *text)
{
    uint64_t hash = mt_hash(MT_HASH_SEED, text, strlen(text));
    size_t at = (hash ^ hash >> 32) & (texts->n_slots - 1);
    while (texts->slots[at] && strcmp(texts->text[texts->slots[at] - 1], text))
        at = (at + 1) & (texts->n_slots - 1);
    return at;
}

/* Make room: at most half of the slots are used. */
static int make_room(struct mt_texts *texts)
{
    if (texts->n_slots > 2 * (texts->n + 1))
        return MT_GROW(texts->text, texts->capacity, texts->n);
    size_t n = texts->n_slots ? texts->n_slots * 2 : 64;
    uint32_t *slots = calloc(n, sizeof *slots);
    if (!slots)
        return -ENOMEM;
    free(texts->slots);
    texts->slots = slots;
    texts->n_slots = n;
    for (size_t i = 0; i < texts->n; i++)
        slots[locate(texts, texts->text[i])] = (uint32_t)i + 1;
    return MT_GROW(texts->text, texts->capacity, texts->n);
}

int mt_texts_add(struct mt_texts *texts, const char *text, uint32_t *index)
{
    /* Search first: stored texts are valid. */
    size_t slot = texts->n_slots ? locate(texts, text) : 0;
    if (texts->n_slots && texts->slots[slot]) {
        *index = texts->slots[slot] - 1;
        return 0;
    }
    char *copy = mt_valid_copy(text);
    int rc = copy ? make_room(texts) : -ENOMEM;
    slot = rc ? 0 : locate(texts, copy);
    if (!rc && !texts->slots[slot]) {
        size_t size = strlen(copy);
        char *fitting = realloc(copy, size + 1);
        texts->text[texts->n++] = fitting ? fitting : copy;
        texts->slots[slot] = (uint32_t)texts->n;
        texts->bytes += size;
        copy = NULL;
    }
    if (!rc)
        *index = texts->slots[slot] - 1;
    free(copy);
    return rc;
}

int mt_texts_join(const struct mt_texts *texts, int32_t **offsets, char **bytes)
{
    size_t size = 0;
    *offsets = NULL;
    *bytes = NULL;
    if (texts->bytes > INT32_MAX || texts->n >= INT32_MAX)
        return -ENOMEM;
    *offsets = calloc(texts->n + 1, sizeof **offsets);
    *bytes = malloc(texts->bytes + 1);
    if (!*offsets || !*bytes) {
        free(*offsets);
        free(*bytes);
        return -ENOMEM;
    }
    for (size_t i = 0; i < texts->n; i++) {
        size_t length = strlen(texts->text[i]);
        memcpy(*bytes + size, texts->text[i], length);
        size += length;
        (*offsets)[i + 1] = (int32_t)size;
    }
    return 0;
}

void mt_texts_clear(struct mt_texts *texts)
{
    for (size_t i = 0; i < texts->n; i++)
        free(texts->text[i]);
    free(texts->text);
    free(texts->slots);
    memset(texts, 0, sizeof *texts);
}
