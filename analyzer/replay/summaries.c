/* SPDX-License-Identifier: Apache-2.0 */
#include "summaries.h"
#include "analyzer/support/grow.h"
#include "trace-format/varint.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

int mt_numbers_add(struct mt_numbers *numbers, const uint64_t *number, size_t n)
{
    if (mt_grow(&numbers->at, &numbers->capacity, numbers->n + n, sizeof *numbers->at))
        return -ENOMEM;
    memcpy(numbers->at + numbers->n, number, n * sizeof *number);
    numbers->n += n;
    return 0;
}

void mt_numbers_clear(struct mt_numbers *numbers)
{
    free(numbers->at);
    *numbers = (struct mt_numbers){0};
}

static bool is_between(char c)
{
    return c == ' ' || c == ',';
}

int mt_numbers_add_text(struct mt_numbers *numbers, const char *text, bool ends_with_number)
{
    for (;;) {
        char *end = (char *)(uintptr_t)text;
        uint64_t number = *text == '-'                  ? (uint64_t)strtoll(text, &end, 10)
                          : *text && !is_between(*text) ? strtoull(text, &end, 10)
                                                        : 0;
        if (!*text && !ends_with_number)
            return 0;
        if (*end && !is_between(*end))
            return -EINVAL;
        if (mt_numbers_add(numbers, &number, 1))
            return -ENOMEM;
        if (!*end)
            return 0;
        text = end + 1;
    }
}

int mt_numbers_list(const struct mt_numbers *numbers, enum mt_summary what, int device,
                    int (*sink)(void *data, const struct mt_definition *definition), void *data)
{
    unsigned char bytes[MT_TEXT_LIMIT];
    size_t i = 0;
    int rc;
    do {
        unsigned char *at = bytes;
        for (; i < numbers->n && at + MT_VARINT_SIZE <= bytes + sizeof bytes; i++)
            at = mt_varint_put(at, mt_zigzag(numbers->at[i]));
        rc = sink(data, &(struct mt_definition){.kind = MT_DEF_SUMMARY,
                                                .id = what,
                                                .device = device,
                                                .text = (const char *)bytes,
                                                .text_size = (size_t)(at - bytes)});
    } while (!rc && i < numbers->n);
    return rc;
}

int mt_summaries_add(struct mt_summaries *summaries, const struct mt_definition *definition)
{
    if (MT_GROW(summaries->part, summaries->capacity, summaries->n))
        return -ENOMEM;
    unsigned char *bytes = malloc(definition->text_size + 1);
    if (!bytes)
        return -ENOMEM;
    memcpy(bytes, definition->text, definition->text_size);
    summaries->part[summaries->n++] =
        (struct mt_summary_part){definition->id, definition->device, definition->text_size, bytes};
    return 0;
}

void mt_summaries_clear(struct mt_summaries *summaries)
{
    for (size_t i = 0; i < summaries->n; i++)
        free(summaries->part[i].bytes);
    free(summaries->part);
    *summaries = (struct mt_summaries){0};
}

static int add_part(struct mt_numbers *numbers, const struct mt_summary_part *part)
{
    struct mt_cursor cursor = {part->bytes, part->bytes + part->size};
    uint64_t coded;
    while (!mt_cursor_get(&cursor, &coded)) {
        uint64_t number = mt_unzigzag(coded);
        if (mt_numbers_add(numbers, &number, 1))
            return -ENOMEM;
    }
    return 0;
}

int mt_summaries_find(const struct mt_summaries *summaries, enum mt_summary what, int device,
                      struct mt_numbers *numbers)
{
    int found = 0;
    for (size_t i = 0; i < summaries->n; i++) {
        if (summaries->part[i].what != what || summaries->part[i].device != device)
            continue;
        if (add_part(numbers, &summaries->part[i]))
            return -ENOMEM;
        found = 1;
    }
    return found;
}
