/* SPDX-License-Identifier: Apache-2.0 */
/* Descriptions of the free memory in PyTorch's allocator, shared by all reports. */
#include "analyzer/support/text.h"
#include "page.h"

#include <stdio.h>
#include <string.h>

#define PLACE 100u

struct others {
    const struct mt_cached_pool *most; /* the pool with the most free memory */
    size_t streams, privates;
    bool gives_back; /* most of it is in whole segments of stream pools */
};

static uint64_t free_of(const struct mt_cached_pool *pool)
{
    return pool->reserved - pool->allocated;
}

static struct others find_others(const struct mt_cached *cached)
{
    struct others others = {.most = NULL};
    uint64_t whole = 0;
    for (size_t i = 0; i < cached->n; i++) {
        const struct mt_cached_pool *pool = &cached->pool[i];
        if (i == cached->own || !free_of(pool))
            continue;
        others.privates += pool->is_private;
        others.streams += !pool->is_private;
        whole += pool->is_private ? 0 : pool->whole;
        if (!others.most || free_of(pool) > free_of(others.most))
            others.most = pool;
    }
    others.gives_back = whole > cached->others / 2;
    return others;
}

static void put_line(char *out, size_t size, const struct mt_definitions *definitions,
                     const struct mt_cached_pool *pool, const char *before)
{
    char place[PLACE];
    if (!pool->stack)
        return;
    mt_place_text(place, sizeof place, definitions, pool->stack);
    mt_text_append(out, size, "%s%s", before, place);
}

static const char *article_of(const struct mt_cached_pool *pool)
{
    return pool->is_private || !pool->stream ? "the " : "";
}

static void others_text(char *out, size_t size, const struct mt_definitions *definitions,
                        const struct mt_cached *cached)
{
    struct others others = find_others(cached);
    char saved[MT_SIZE_TEXT];
    if (!others.most)
        return;
    bool is_one = others.streams + others.privates == 1;
    if (is_one)
        snprintf(out, size, "cached for %s%s", article_of(others.most), others.most->name);
    else if (!others.privates)
        snprintf(out, size, "cached for %zu other streams", others.streams);
    else if (!others.streams)
        snprintf(out, size, "cached in %zu private pools", others.privates);
    else
        snprintf(out, size, "cached for %zu other stream%s and %zu private pool%s", others.streams,
                 others.streams == 1 ? "" : "s", others.privates, others.privates == 1 ? "" : "s");
    put_line(out, size, definitions, others.most,
             is_one ? ", requested by " : ", most of it requested by ");
    mt_text_append(out, size, ", and %s%s cannot use it", article_of(&cached->pool[cached->own]),
                   cached->pool[cached->own].name);
    if (others.gives_back)
        mt_text_append(out, size, "; torch.cuda.empty_cache() returns it to the card");
    if (cached->sharing)
        mt_text_append(out, size,
                       "; if its graphs never run at once, one pool for all of them "
                       "saves up to %s",
                       mt_size_text(saved, cached->sharing));
}

void mt_cached_text(char *out, size_t size, const struct mt_definitions *definitions,
                    const struct mt_cached *cached, enum mt_free_kind kind)
{
    char count[MT_SIZE_TEXT], largest[MT_SIZE_TEXT];
    const struct mt_cached_pool *own = &cached->pool[cached->own];
    *out = '\0';
    switch (kind) {
    case MT_FREE_OTHERS:
        others_text(out, size, definitions, cached);
        return;
    case MT_FREE_WHOLE:
        snprintf(out, size,
                 "in %s whole segment%s, which torch.cuda.empty_cache() returns to the card",
                 mt_count_text(count, own->n_whole), own->n_whole == 1 ? "" : "s");
        return;
    case MT_FREE_PIECES:
        if (own->pieces == 1)
            snprintf(out, size, "in one piece between blocks");
        else
            snprintf(out, size, "in %s pieces between blocks, the largest %s",
                     mt_count_text(count, own->pieces), mt_size_text(largest, own->largest));
        return;
    case MT_FREE_KINDS:
        return;
    }
}

const char *mt_free_kind_words(enum mt_free_kind kind)
{
    static const char *const words[MT_FREE_KINDS] = {
        [MT_FREE_PIECES] = "it was fragmented: in pieces between blocks",
        [MT_FREE_WHOLE] = "it was in whole segments that were too small",
        [MT_FREE_OTHERS] = "it was cached for another stream or pool",
    };
    return kind < MT_FREE_KINDS ? words[kind] : "";
}
