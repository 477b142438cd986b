/* SPDX-License-Identifier: Apache-2.0 */
#include "vocabulary.h"
#include "analyzer/support/grow.h"
#include "analyzer/support/hash.h"
#include "trace-format/safe-text.h"

#define FIRST_SLOTS 64u
#define REPLACEMENT "\xEF\xBF\xBD" /* U+FFFD */

static uint32_t hash_of(const char *text, size_t size)
{
    uint64_t hash = mt_hash(MT_HASH_SEED, text, size);
    return (uint32_t)(hash >> 32 ^ hash);
}

static int reserve(struct mt_vocabulary *texts, size_t size)
{
    if (texts->size + size > INT32_MAX || texts->n >= INT32_MAX - 1)
        return -ENOMEM;
    int rc = mt_grow(&texts->bytes, &texts->bytes_capacity, texts->size + size + 1, 1);
    if (!rc)
        rc = mt_grow(&texts->offset, &texts->offset_capacity, texts->n + 2, sizeof *texts->offset);
    return rc ? rc
              : mt_grow(&texts->hash, &texts->hash_capacity, texts->n + 1, sizeof *texts->hash);
}

/* The bytes that a text has as UTF-8, and the text itself if out is not NULL. */
static size_t put_utf8(char *out, const char *text)
{
    size_t size = 0;
    while (*text) {
        size_t length = mt_utf8_length(text), n = length ? length : sizeof REPLACEMENT - 1;
        if (out)
            memcpy(out + size, length ? text : REPLACEMENT, n);
        size += n;
        text += length ? length : 1;
    }
    return size;
}

static uint32_t *slot_of(const struct mt_vocabulary *texts, const char *text, size_t size,
                         uint32_t hash)
{
    for (uint32_t at = hash & texts->mask;; at = (at + 1) & texts->mask) {
        uint32_t index = texts->slot[at];
        if (!index--)
            return &texts->slot[at];
        const int32_t *offset = texts->offset + index;
        if (texts->hash[index] == hash && (size_t)(offset[1] - offset[0]) == size &&
            !memcmp(texts->bytes + offset[0], text, size))
            return &texts->slot[at];
    }
}

/* There are twice as many slots as texts at least. */
static int make_slots(struct mt_vocabulary *texts)
{
    if (texts->slot && 2 * (texts->n + 1) <= texts->mask)
        return 0;
    uint32_t slots = texts->slot ? 2 * (texts->mask + 1) : FIRST_SLOTS;
    uint32_t *slot = calloc(slots, sizeof *slot);
    if (!slot)
        return -ENOMEM;
    free(texts->slot);
    texts->slot = slot;
    texts->mask = slots - 1;
    for (uint32_t i = 0; i < texts->n; i++) {
        uint32_t at = texts->hash[i] & texts->mask;
        while (slot[at])
            at = (at + 1) & texts->mask;
        slot[at] = i + 1;
    }
    return 0;
}

int32_t mt_vocabulary_add(struct mt_vocabulary *texts, const char *text)
{
    size_t size = put_utf8(NULL, text);
    if (make_slots(texts) || reserve(texts, size))
        return -1;
    char *place = texts->bytes + texts->size; /* beyond the end: it stays if the text is new */
    put_utf8(place, text);
    uint32_t hash = hash_of(place, size), *slot = slot_of(texts, place, size, hash);
    if (!*slot) {
        texts->hash[texts->n] = hash;
        texts->size += size;
        texts->offset[++texts->n] = (int32_t)texts->size;
        *slot = (uint32_t)texts->n;
    }
    return (int32_t)*slot - 1;
}

void mt_vocabulary_clear(struct mt_vocabulary *texts)
{
    free(texts->bytes);
    free(texts->offset);
    free(texts->slot);
    free(texts->hash);
    memset(texts, 0, sizeof *texts);
}
