/* SPDX-License-Identifier: Apache-2.0 */
#include "analyzer/support/grow.h"
#include "analyzer/support/search.h"
#include "kinds.h"

#include <string.h>

struct pattern {
    char text[sizeof((struct mt_module_patterns *)0)->pattern[0]];
    uint64_t bytes, blocks;
    bool is_called; /* not a list of modules */
};

struct list {
    struct pattern *of;
    size_t n, capacity;
};

#define PATTERNS_MOST 4096u
#define MOST_BY_BYTES 6u

static bool is_number(const char *part, size_t size)
{
    return size && strspn(part, "0123456789") >= size;
}

/* Add the bytes to the pattern of the module and of its parents. */
static int add(struct list *list, const char *path, bool is_call, uint64_t bytes, uint64_t blocks)
{
    char text[sizeof list->of->text];
    size_t used = 0;
    for (const char *part = path; *part;) {
        size_t size = strcspn(part, "."), i = 0;
        bool is_any = is_number(part, size);
        if (used + size + 2 > sizeof text)
            return 0;
        if (used)
            text[used++] = '.';
        memcpy(text + used, is_any ? "*" : part, is_any ? 1 : size);
        used += is_any ? 1 : size;
        text[used] = '\0';
        part += size + (part[size] == '.');
        while (i < list->n && strcmp(list->of[i].text, text) != 0)
            i++;
        if (i == PATTERNS_MOST)
            continue;
        if (i == list->n) {
            if (MT_GROW(list->of, list->capacity, list->n))
                return -ENOMEM;
            memcpy(list->of[list->n++].text, text, used + 1);
        }
        list->of[i].bytes += bytes;
        list->of[i].blocks += blocks;
        list->of[i].is_called |= is_call && !*part;
    }
    return 0;
}

/* Return whether a visit is a call. Moving a model to the card (Module._apply) also visits module
 * lists, which are never called. */
static bool is_call(const struct mt_recording *recording, uint32_t frame)
{
    return !strstr(mt_frame(recording->definitions, frame)->function, "_apply");
}

MT_ORDER(most_first, struct pattern, MT_FALLING(bytes) ?: MT_BY_TEXT(text))

static void keep(struct mt_module_patterns *patterns, struct pattern *pattern)
{
    memcpy(patterns->pattern[patterns->n], pattern->text, sizeof pattern->text);
    patterns->bytes[patterns->n++] = pattern->bytes;
    pattern->is_called = false; /* once is enough */
}

/* Leave out patterns below this part of the first one. */
#define PART_LEAST 16u

static void choose(struct mt_module_patterns *patterns, const struct list *list)
{
    for (size_t i = 0; i < list->n && patterns->n < MOST_BY_BYTES; i++)
        if (list->of[i].is_called && list->of[i].bytes)
            keep(patterns, &list->of[i]);
    while (patterns->n && patterns->n < MT_MODULE_PATTERNS) {
        struct pattern *best = NULL;
        for (size_t i = 0; i < list->n; i++) {
            struct pattern *one = &list->of[i];
            if (one->is_called && one->bytes > patterns->bytes[0] / PART_LEAST &&
                (!best || one->bytes / one->blocks > best->bytes / best->blocks))
                best = one;
        }
        if (!best)
            return;
        keep(patterns, best);
    }
}

int mt_module_patterns_find(struct mt_module_patterns *patterns,
                            const struct mt_recording *recording)
{
    uint32_t limit = mt_definitions_frame_limit(recording->definitions);
    struct made {
        uint64_t bytes, blocks;
    } *made;
    struct mt_by_id by_maker = {0};
    struct list list = {0};
    int rc = mt_by_id_make(&by_maker, limit, sizeof *made);
    *patterns = (struct mt_module_patterns){0};
    for (size_t i = 0; !rc && i < recording->n; i++)
        if (recording->block[i].category == MT_CATEGORY_ACTIVATIONS &&
            !mt_is_checkpointed(recording, recording->block[i].stack)) {
            made = mt_by_id(&by_maker, recording->block[i].maker);
            made->bytes += recording->block[i].size;
            made->blocks++;
        }
    for (uint32_t frame = 1; !rc && frame < limit; frame++)
        if (*mt_recorded_module(recording, frame)) {
            made = mt_by_id(&by_maker, frame);
            rc = add(&list, mt_recorded_module(recording, frame), is_call(recording, frame),
                     made->bytes, made->blocks);
        }
    if (!rc && list.n)
        qsort(list.of, list.n, sizeof *list.of, most_first);
    if (!rc)
        choose(patterns, &list);
    free(list.of);
    mt_by_id_clear(&by_maker);
    return rc;
}
