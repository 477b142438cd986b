/* SPDX-License-Identifier: Apache-2.0 */
/* What the reports say about CUDA's own memory pools. */
#include "analyzer/print/page.h"
#include "oom-report.h"
#include "report.h"

#define WORTH 10u  /* the part of a pool's device that is worth a sentence */
#define PLACE 156u /* columns */
#define LEAST 1048576u

static void put_place(char *out, size_t size, const struct mt_definitions *definitions,
                      uint32_t stack, const char *before)
{
    static const struct mt_style plain = {.utf8 = 1};
    char place[512], safe[512];
    if (!stack)
        return;
    mt_place_text(place, sizeof place, definitions, mt_stack_line(definitions, stack));
    mt_safe_text(safe, sizeof safe, place, PLACE, MT_CUT_END, &plain);
    mt_text_append(out, size, "%s%s", before, safe);
}

static const char *name_of(const struct mt_cuda_pool *pool)
{
    return pool->handle ? "a CUDA memory pool of the program" : "CUDA's default memory pool";
}

/* Write "unlimited, set by pool.c:12 main". */
static void threshold_text(char *out, size_t size, const struct mt_definitions *definitions,
                           const struct mt_cuda_pool *pool)
{
    char bytes[MT_SIZE_TEXT];
    *out = '\0';
    mt_text_append(out, size, "%s",
                   pool->threshold == MT_KEEPS_ALL ? "unlimited"
                                                   : mt_size_text(bytes, pool->threshold));
    put_place(out, size, definitions, pool->stack, ", set by ");
}

void mt_say_cuda_pools(const struct mt_analysis *analysis, const struct mt_device *device,
                       FILE *out)
{
    const struct mt_cuda_pools *pools = &analysis->replay.cuda_pools;
    const struct mt_definitions *definitions = analysis->replay.definitions;
    const struct mt_cuda_pool *most = NULL;
    char bytes[MT_SIZE_TEXT], wanted[MT_SIZE_TEXT], text[600], by[600] = "";
    for (size_t i = 0; i < pools->n; i++)
        if (pools->pool[i].slot == mt_device_slot(device->device) &&
            (!most || pools->pool[i].kept.bytes > most->kept.bytes))
            most = &pools->pool[i];
    if (!most || most->kept.bytes < device->peak.allocated / WORTH || most->kept.bytes < LEAST)
        return;
    put_place(by, sizeof by, definitions, most->kept.stack, " by ");
    threshold_text(text, sizeof text, definitions, most);
    fprintf(out,
            "%s%s was free in %s when %s was requested from CUDA%s. The pool's release threshold "
            "is %s; cudaMemPoolTrimTo returns the memory.\n",
            most->kept.is_exact ? "" : "At least ", mt_size_text(bytes, most->kept.bytes),
            name_of(most), mt_size_text(wanted, most->kept.wanted), by, text);
}

const struct mt_cuda_pool *mt_oom_cuda_pool(const struct mt_oom_story *story,
                                            const struct mt_analysis *analysis)
{
    const struct mt_cuda_pools *pools = &analysis->replay.cuda_pools;
    const struct mt_cuda_pool *most = NULL;
    for (size_t i = 0; i < pools->n; i++) {
        const struct mt_cuda_pool *pool = &pools->pool[i];
        uint64_t bytes = mt_cuda_pool_free(&pool->failed);
        if (pool->slot == mt_device_slot(story->oom->device) && bytes >= LEAST &&
            pool->failed.time_ns <= story->oom->time_ns &&
            (!most || bytes > mt_cuda_pool_free(&most->failed)))
            most = pool;
    }
    return most;
}

void mt_oom_cuda_pool_text(char *out, size_t size, const struct mt_analysis *analysis,
                           const struct mt_cuda_pool *pool)
{
    char bytes[MT_SIZE_TEXT], text[400];
    threshold_text(text, sizeof text, analysis->replay.definitions, pool);
    snprintf(out, size,
             "cudaMemPoolTrimTo before it: %s is free in %s, whose release threshold is %s",
             mt_size_text(bytes, mt_cuda_pool_free(&pool->failed)), name_of(pool), text);
}

void mt_page_cuda_pools(const struct mt_page *page, const struct mt_device *device)
{
    const struct mt_cuda_pools *pools = &page->analysis->replay.cuda_pools;
    char a[MT_SIZE_TEXT], b[MT_SIZE_TEXT], text[600], line[700];
    bool has_any = false;
    for (size_t i = 0; i < pools->n; i++) {
        const struct mt_cuda_pool *pool = &pools->pool[i];
        if (pool->slot != mt_device_slot(device->device) || !pool->most_reserved)
            continue;
        if (!has_any)
            fputs("\nCUDA memory pools\n", page->out);
        has_any = true;
        fprintf(page->out, "  %s: %s reserved at most, %s used at most\n",
                pool->handle ? "of the program" : "default", mt_size_text(a, pool->most_reserved),
                mt_size_text(b, pool->most_used));
        fprintf(page->out, "    %s reserved, %s used at %s\n", mt_size_text(a, pool->last.reserved),
                mt_size_text(b, pool->last.used), mt_time_text(line, pool->last.time_ns));
        threshold_text(text, sizeof text, page->definitions, pool);
        snprintf(line, sizeof line, "release threshold %s", text);
        fputs("    ", page->out);
        mt_put_wrapped(page->out, line, page->width - 4, page->style);
    }
}
