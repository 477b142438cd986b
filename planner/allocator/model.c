/* SPDX-License-Identifier: Apache-2.0 */
#include "model.h"
#include "analyzer/support/grow.h"
#include "analyzer/support/room.h"
#include "analyzer/support/to-integer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "inside.h"

enum { NUMBERS_MAX = 1 << 28 };

/* --- requests ------------------------------------------------------------------------------ */

/* Use the free memory of pools with use_on_oom=True before memory runs out. */
static bool fall_back(struct mt_allocator *allocator, struct mt_wanted *wanted)
{
    struct mt_wanted other = *wanted;
    if (wanted->side->pool->number)
        return false;
    for (unsigned i = 1; i < allocator->n_pools; i++) {
        struct mt_alloc_pool *pool = allocator->pool[i];
        if (!pool || !pool->is_there || !(pool->flags & MT_POOL_ON_OOM))
            continue;
        other.side = wanted->side->is_small ? &pool->small : &pool->large;
        other.expandable = false;
        if (mt_find_free(allocator, &other)) {
            *wanted = other;
            return true;
        }
    }
    return false;
}

static bool release_and_find(struct mt_allocator *allocator, struct mt_wanted *wanted)
{
    if (mt_release_oversize(allocator, wanted) && mt_find_new(allocator, wanted))
        return true;
    if (mt_is_held_back(allocator))
        return false;
    mt_release_cached(allocator, 0);
    allocator->now.retries++;
    return mt_find_new(allocator, wanted);
}

static bool find_hard(struct mt_allocator *allocator, struct mt_wanted *wanted)
{
    if (allocator->has_limit && allocator->conf.garbage_collection_threshold > 0)
        mt_collect_garbage(allocator);
    if (mt_find_new(allocator, wanted))
        return true;
    if (mt_is_rejected(allocator, wanted))
        return false;
    return (allocator->falls_back_early && fall_back(allocator, wanted)) ||
           release_and_find(allocator, wanted) ||
           (!allocator->falls_back_early && fall_back(allocator, wanted));
}

/* Return whether there was memory. */
static bool allocate(struct mt_allocator *allocator, const struct mt_request *request)
{
    struct mt_alloc_pool *pool = mt_pool(allocator, request->pool);
    struct mt_wanted wanted = {.stream = request->stream,
                               .expandable = allocator->conf.expandable_segments};
    if (!pool)
        return true;
    if (!mt_is_held_back(allocator))
        mt_process_waits(allocator);
    else
        mt_process_captured(allocator);
    wanted.size = mt_round_size(allocator, request->size);
    wanted.segment = mt_segment_size(allocator, wanted.size);
    wanted.side = wanted.size <= MT_SMALL_SIZE ? &pool->small : &pool->large;
    if (mt_find_free(allocator, &wanted) || find_hard(allocator, &wanted)) {
        mt_set_number(allocator, request->block, mt_take_found(allocator, &wanted, request->size));
        return true;
    }
    if (allocator->no_memory)
        return true;
    mt_note_oom(allocator, request, wanted.segment);
    return false;
}

static int free_block(struct mt_allocator *allocator, struct mt_alloc_block *block,
                      const struct mt_request *request)
{
    if (block == &mt_lost_block) {
        allocator->block[request->block] = NULL;
        return 0;
    }
    if (!block || block->state != MT_BLOCK_LIVE)
        return -EINVAL;
    if (allocator->conf.async) {
        mt_async_free(allocator, block);
        return 0;
    }
    allocator->now.allocated -= block->size;
    if (block->uses)
        mt_wait_for_streams(allocator, block);
    else
        mt_block_free(allocator, block);
    return 0;
}

static void set_limit(struct mt_allocator *allocator, double fraction)
{
    allocator->has_limit = fraction < 1 || !mt_torch_has(allocator->release, MT_FRACTION_1_IS_NONE);
    allocator->limit = mt_to_uint64(fraction * (double)allocator->total);
}

static int set_fraction(struct mt_allocator *allocator, uint64_t bits)
{
    double fraction;

    memcpy(&fraction, &bits, sizeof(fraction));
    if (!(fraction >= 0 && fraction <= 1))
        return -EINVAL;
    set_limit(allocator, fraction);
    return 0;
}

/* Apply settings. Three of them return to their defaults if the text does not name them; all others
 * keep their values. */
static int set_conf(struct mt_allocator *allocator, uint64_t index)
{
    struct mt_alloc_conf_error error;
    struct mt_alloc_conf conf = allocator->conf, fresh;
    mt_alloc_conf_init(&fresh);
    conf.max_split_size = fresh.max_split_size;
    conf.garbage_collection_threshold = fresh.garbage_collection_threshold;
    memcpy(conf.roundup, fresh.roundup, sizeof conf.roundup);
    if (index >= allocator->n_confs ||
        mt_alloc_conf_read(&conf, allocator->release, allocator->confs[index], &error))
        return -EINVAL;
    conf.async = allocator->conf.async;
    allocator->conf = conf;
    if (!allocator->now.segments && !allocator->peak.reserved && conf.memory_fraction < 1)
        set_limit(allocator, conf.memory_fraction); /* PyTorch reads it when CUDA is initialized */
    return 0;
}

static void empty_cache(struct mt_allocator *allocator, unsigned pool)
{
    if (allocator->conf.async)
        mt_async_trim(allocator);
    else
        mt_release_cached(allocator,
                          mt_torch_has(allocator->release, MT_FREES_ONE_POOL) ? pool : 0);
}

/* Handle everything but allocations. */
static int other_request(struct mt_allocator *allocator, const struct mt_request *request)
{
    struct mt_alloc_block *block =
        request->block < allocator->n_blocks ? allocator->block[request->block] : NULL;
    switch (request->kind) {
    case MT_REQUEST_FREE:
        return free_block(allocator, block, request);
    case MT_REQUEST_RECORD_STREAM:
        if (!block || (block != &mt_lost_block && block->state != MT_BLOCK_LIVE))
            return -EINVAL;
        if (block != &mt_lost_block)
            mt_record_use(allocator, block, request->stream);
        return 0;
    case MT_REQUEST_COMPLETE:
        if (block && block != &mt_lost_block)
            mt_wait_complete(allocator, block);
        return 0;
    case MT_REQUEST_EMPTY_CACHE:
        empty_cache(allocator, request->pool);
        return 0;
    case MT_REQUEST_FRACTION:
        return set_fraction(allocator, request->size);
    case MT_REQUEST_OTHERS:
        allocator->others = request->size;
        if (request->stream && mt_card_lacks(allocator))
            mt_note_oom(allocator, request, mt_card_lacks(allocator));
        return 0;
    case MT_REQUEST_CONF:
        return set_conf(allocator, request->size);
    case MT_REQUEST_MARK:
        return 0;
    default:
        return request->kind < MT_N_REQUEST_KINDS ? mt_pool_request(allocator, request) : -EINVAL;
    }
}

static void raise_peak(uint64_t *peak, uint64_t now)
{
    if (now > *peak)
        *peak = now;
}

static void note_peaks(struct mt_allocator *allocator)
{
    const struct mt_allocator_state *now = &allocator->now;
    struct mt_allocator_state *peak = &allocator->peak;
    raise_peak(&peak->requested, now->requested);
    raise_peak(&peak->allocated, now->allocated);
    raise_peak(&peak->active, now->active);
    raise_peak(&peak->reserved, now->reserved);
    raise_peak(&peak->inactive_split, now->inactive_split);
    raise_peak(&peak->segments, now->segments);
    peak->ooms = now->ooms;
    peak->retries = now->retries;
}

/* Take a block that the allocator has had from the beginning. */
static bool takes_held(struct mt_allocator *allocator, uint32_t number)
{
    struct mt_alloc_block *block = number < allocator->n_blocks ? allocator->block[number] : NULL;
    bool is_held = block && block->is_held;
    if (is_held)
        block->is_held = false;
    return is_held;
}

static int feed_one(struct mt_allocator *allocator, const struct mt_request *request,
                    bool *out_of_memory)
{
    int error = 0;
    uint64_t ooms = allocator->now.ooms;
    if (request->kind != MT_REQUEST_ALLOCATE)
        error = other_request(allocator, request);
    else if (takes_held(allocator, request->block))
        ;
    else if (!request->size || request->block >= NUMBERS_MAX)
        error = -EINVAL;
    else
        *out_of_memory = !(allocator->conf.async ? mt_async_allocate(allocator, request)
                                                 : allocate(allocator, request));
    *out_of_memory |= allocator->now.ooms != ooms; /* requested by a library */
    if (allocator->no_memory)
        error = -ENOMEM;
    if (error)
        return error;
    note_peaks(allocator);
    allocator->fed++;
    return 0;
}

/* --- the interface ------------------------------------------------------------------------- */

struct mt_allocator *mt_allocator_create(const struct mt_alloc_conf *conf,
                                         struct mt_torch_release release,
                                         const struct mt_allocator_card *card)
{
    struct mt_allocator *allocator = calloc(1, sizeof(*allocator));
    if (!allocator)
        return NULL;
    allocator->conf = *conf;
    allocator->release = release;
    allocator->total = card->total;
    allocator->others = card->others;
    allocator->held = conf->async && !card->has_streams ? MT_STREAMS_BYTES : 0;
    allocator->confs = card->confs;
    allocator->n_confs = card->n_confs;
    allocator->captures_only = mt_torch_has(release, MT_CAPTURES_ONLY);
    allocator->falls_back_early = mt_torch_has(release, MT_FALLS_BACK_EARLY);
    allocator->keeps_odd = !mt_torch_has(release, MT_HAS_ROUNDUP_0);
    allocator->expands_private = mt_torch_has(release, MT_EXPANDS_PRIVATE);
    allocator->prefers_oldest = mt_torch_has(release, MT_PREFERS_OLDEST);
    allocator->next_expandable = MT_PAGE;
    allocator->next_address = allocator->prefers_oldest ? MT_PAGE : UINT64_C(1) << 62;
    if (conf->memory_fraction < 1)
        set_limit(allocator, conf->memory_fraction);
    if (mt_pool(allocator, 0))
        mt_hold(allocator, card->held, card->n_held);
    if (!allocator->no_memory)
        return allocator;
    mt_allocator_destroy(allocator);
    return NULL;
}

void mt_allocator_destroy(struct mt_allocator *allocator)
{
    if (!allocator)
        return;
    mt_pools_destroy(allocator);
    mt_blocks_destroy(allocator);
    mt_block_list_clear(&allocator->waiting);
    mt_block_list_clear(&allocator->deferred);
    free(allocator->block);
    free(allocator);
}

int mt_allocator_feed(struct mt_allocator *allocator, const struct mt_request *requests,
                      size_t count)
{
    return mt_allocator_feed_watched(allocator, requests, count, NULL, NULL);
}

#define LOOK_EACH 16384u /* requests between checks of the work limit */

int mt_allocator_feed_watched(struct mt_allocator *allocator, const struct mt_request *requests,
                              size_t count, mt_allocator_watch *watch, void *context)
{
    for (size_t i = 0; i < count; i++) {
        bool out_of_memory = false;
        if (i % LOOK_EACH == 0 &&
            mt_work_is_too_much(count - i < LOOK_EACH ? count - i : LOOK_EACH))
            return -EDQUOT;
        int error = feed_one(allocator, &requests[i], &out_of_memory);

        if (error)
            return error;
        if (watch)
            watch(context, i, &requests[i], &allocator->now, out_of_memory);
    }
    return 0;
}

const struct mt_allocator_state *mt_allocator_now(const struct mt_allocator *allocator)
{
    return &allocator->now;
}

const struct mt_allocator_state *mt_allocator_peak(const struct mt_allocator *allocator)
{
    return &allocator->peak;
}

uint64_t mt_allocator_fed(const struct mt_allocator *allocator)
{
    return allocator->fed;
}

const struct mt_allocator_oom *mt_allocator_first_oom(const struct mt_allocator *allocator)
{
    return allocator->had_oom ? &allocator->oom : NULL;
}
