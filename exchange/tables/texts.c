/* SPDX-License-Identifier: Apache-2.0 */
#include "texts.h"
#include "analyzer/support/grow.h"
#include "analyzer/support/text.h"
#include "trace-format/safe-text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static size_t hash(const char *text)
{
    uint64_t value = UINT64_C(14695981039346656037); /* FNV-1a */
    for (; *text; text++)
        value = (value ^ (unsigned char)*text) * UINT64_C(1099511628211);
    return (size_t)(value ^ value >> 32);
}

static size_t locate(const struct mt_texts *texts, const char *text)
{
    size_t at = hash(text) & (texts->n_slots - 1);
    while (texts->slots[at] && strcmp(texts->text[texts->slots[at] - 1], text))
        at = (at + 1) & (texts->n_slots - 1);
    return at;
}

/* At most half of the slots are used. */
static int make_room(struct mt_texts *texts)
{
    if (texts->n_slots > 2 * (texts->n + 1))
        return mt_grow(&texts->text, &texts->capacity, texts->n + 1, sizeof *texts->text);
    size_t n = texts->n_slots ? texts->n_slots * 2 : 64;
    uint32_t *slots = calloc(n, sizeof *slots);
    if (!slots)
        return -ENOMEM;
    free(texts->slots);
    texts->slots = slots;
    texts->n_slots = n;
    for (size_t i = 0; i < texts->n; i++)
        slots[locate(texts, texts->text[i])] = (uint32_t)i + 1;
    return mt_grow(&texts->text, &texts->capacity, texts->n + 1, sizeof *texts->text);
}

int mt_texts_add(struct mt_texts *texts, const char *text, uint32_t *index)
{
    char *copy = mt_valid_copy(text);
    int rc = copy ? make_room(texts) : -ENOMEM;
    size_t slot = rc ? 0 : locate(texts, copy);
    if (!rc && !texts->slots[slot]) {
        size_t size = strlen(copy) + 1;
        char *fitting = realloc(copy, size);
        texts->text[texts->n++] = fitting ? fitting : copy;
        texts->slots[slot] = (uint32_t)texts->n;
        copy = NULL;
    }
    if (!rc)
        *index = texts->slots[slot] - 1;
    free(copy);
    return rc;
}

void mt_texts_clear(struct mt_texts *texts)
{
    for (size_t i = 0; i < texts->n; i++)
        free(texts->text[i]);
    free(texts->text);
    free(texts->slots);
    memset(texts, 0, sizeof *texts);
}
