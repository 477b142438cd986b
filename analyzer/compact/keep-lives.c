/* SPDX-License-Identifier: Apache-2.0 */
#include "keep-lives.h"
#include "analyzer/support/grow.h"

static void keep_whole(struct mt_keep_lives *lives, struct mt_candidate candidate)
{
    lives->nodes->kept->totals[candidate.number / 8] &= (unsigned char)~(1 << candidate.number % 8);
    mt_candidate_keep(lives->nodes, candidate);
}

int mt_keep_life_add(struct mt_keep_lives *lives, uint32_t index, uint64_t number)
{
    struct mt_keep_life *life = &lives->life[index];
    return MT_APPEND(life->event, life->capacity, life->n, mt_candidate_take(lives->nodes, number));
}

void mt_keep_life_touch(struct mt_keep_lives *lives, uint32_t index, uint64_t number)
{
    struct mt_keep_life *life = &lives->life[index];
    struct mt_candidate touch = mt_candidate_take(lives->nodes, number);
    if (!life->first_touch.number) {
        life->first_touch = touch;
        return;
    }
    if (life->last_touch.number)
        mt_candidate_drop(lives->nodes, life->last_touch);
    life->last_touch = touch;
}

/* Return whether a block's label is new, and note it. */
static bool is_news(struct mt_keep_life *life, const struct mt_block *block)
{
    if (life->known.number == block->number && life->known.evidence == block->evidence &&
        life->known.save_stack == block->save_stack && life->known.name == block->name &&
        life->known.dtype == block->dtype)
        return false;
    life->known.number = block->number;
    life->known.evidence = block->evidence;
    life->known.save_stack = block->save_stack;
    life->known.name = block->name;
    life->known.dtype = block->dtype;
    return true;
}

int mt_keep_life_label(struct mt_keep_lives *lives, uint32_t index, const struct mt_block *block,
                       uint64_t number)
{
    return is_news(&lives->life[index], block) ? mt_keep_life_add(lives, index, number) : 0;
}

static void end_event(struct mt_keep_lives *lives, struct mt_candidate event, bool is_kept)
{
    if (!event.number)
        return;
    if (is_kept)
        keep_whole(lives, event);
    else
        mt_candidate_drop(lives->nodes, event);
}

int mt_keep_life_end(struct mt_keep_lives *lives, uint32_t index, size_t moments)
{
    struct mt_keep_life *life = &lives->life[index];
    bool is_kept = life->is_wanted || life->moments != moments;
    for (size_t i = 0; i < life->n; i++)
        end_event(lives, life->event[i], is_kept);
    end_event(lives, life->first_touch, is_kept);
    end_event(lives, life->last_touch, is_kept);
    free(life->event);
    *life = (struct mt_keep_life){.next = lives->first_free};
    lives->first_free = index;
    return is_kept;
}

int mt_keep_life_begin(struct mt_keep_lives *lives, struct mt_address_map *by_address,
                       uint64_t address, uint64_t number, size_t moments, bool is_wanted)
{
    uint32_t before = mt_address_map_take(by_address, address);
    if (before) /* its free is missing, so this event ends it */
        is_wanted |= mt_keep_life_end(lives, before, moments);
    uint32_t index = MT_TAKE_PLACE(lives->life, lives->capacity, lives->n, lives->first_free, next);
    if (!index || mt_address_map_put(by_address, address, index))
        return -ENOMEM;
    lives->life[index] = (struct mt_keep_life){.moments = moments, .is_wanted = is_wanted};
    return mt_keep_life_add(lives, index, number);
}

void mt_keep_lives_finish(struct mt_keep_lives *lives)
{
    for (uint32_t i = 1; i < lives->n; i++)
        if (lives->life[i].n)
            mt_keep_life_end(lives, i, SIZE_MAX);
}

void mt_keep_lives_clear(struct mt_keep_lives *lives)
{
    for (uint32_t i = 1; i < lives->n; i++)
        free(lives->life[i].event);
    free(lives->life);
    *lives = (struct mt_keep_lives){0};
}
