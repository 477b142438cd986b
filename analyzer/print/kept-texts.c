/* SPDX-License-Identifier: Apache-2.0 */
#include "kept-texts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define KEPT 1024u

/* One stream for all texts, since creating many fragments the heap. */
struct mt_kept_texts {
    FILE *memory;
    char *text;
    size_t size;
    struct kept {
        uint32_t number, size; /* 0: empty */
        char text[248];
    } kept[KEPT];
};

struct mt_kept_texts *mt_kept_texts_create(void)
{
    struct mt_kept_texts *texts = calloc(1, sizeof *texts);
    if (texts && !(texts->memory = open_memstream(&texts->text, &texts->size))) {
        free(texts);
        return NULL;
    }
    return texts;
}

void mt_kept_texts_destroy(struct mt_kept_texts *texts)
{
    if (!texts)
        return;
    fclose(texts->memory);
    free(texts->text);
    free(texts);
}

int mt_put_kept(FILE *out, struct mt_kept_texts *texts, uint32_t number,
                int (*put)(FILE *out, const void *data, uint32_t argument), const void *data,
                uint32_t argument)
{
    struct kept *kept = &texts->kept[number % KEPT];
    if (kept->size && kept->number == number)
        return fwrite(kept->text, 1, kept->size, out) == kept->size ? 0 : -EIO;
    rewind(texts->memory);
    int rc = put(texts->memory, data, argument);
    if (!rc && (fflush(texts->memory) || ferror(texts->memory)))
        rc = -ENOMEM;
    if (!rc && texts->size <= sizeof kept->text) {
        memcpy(kept->text, texts->text, texts->size);
        kept->size = (uint32_t)texts->size;
        kept->number = number;
    }
    if (!rc && fwrite(texts->text, 1, texts->size, out) != texts->size)
        rc = -EIO;
    return rc;
}

int mt_fold_stack(FILE *out, struct mt_kept_texts *texts, const struct mt_definitions *d,
                  uint32_t stack, uint32_t head, uint32_t tail,
                  int (*put)(FILE *out, const void *data, uint32_t stack), const void *data)
{
    uint32_t depth = mt_stack(d, stack)->depth, *path = calloc((size_t)depth + 1, sizeof *path);
    int rc = path ? 0 : -ENOMEM;
    for (uint32_t i = path ? depth : 0; i-- > 0; stack = mt_stack(d, stack)->parent)
        path[i] = stack;
    for (uint32_t i = 0; i < depth && !rc; i++) {
        if (i)
            putc(';', out);
        if (i == head && depth - tail > head) {
            fprintf(out, "(%u frames)", depth - tail - head);
            i = depth - tail - 1;
        } else {
            rc = mt_put_kept(out, texts, mt_stack(d, path[i])->frame, put, data, path[i]);
        }
    }
    free(path);
    return rc;
}
