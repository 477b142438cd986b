/* SPDX-License-Identifier: Apache-2.0 */
/* Ways to fit: their order (what is known best comes first, then what costs least), and what each
 * is in words. */
#include "analyzer/holders/holder-words.h"
#include "analyzer/support/search.h"
#include "answer.h"
#include "remedies.h"

#include <stdlib.h>
#include <string.h>

unsigned mt_way_known(const struct mt_way *way)
{
    return way->served == MT_SERVED_YES ? 0 : way->request == MT_SERVED_YES ? 1 : 2;
}

bool mt_way_is_two(const struct mt_way *way)
{
    return strchr(way->change, '+') || (way->has_conf && *way->change);
}

/* Return whether a setting costs no time: one with which PyTorch empties its cache does, and what
 * another allocator's costs is not known. */
static bool is_free(const struct mt_way *way)
{
    return !way->retries && (!way->is_async || *way->change) &&
           mt_remedy_cost(way->change) == MT_COSTS_NOTHING;
}

/* Return whether it is a setting, and a first forward or backward goes on requesting as before. */
static bool is_for_one_request(const struct mt_way *way)
{
    return way->is_first && !*way->change;
}

static unsigned group_of(const struct mt_way *way)
{
    return is_for_one_request(way) ? 3
           : is_free(way)          ? 0
           : mt_way_is_two(way)    ? 3
           : *way->change          ? 2
                                   : 1;
}

/* Return where a way stands in its group: what changes least first; of what costs nothing, settings
 * last. */
static unsigned rank_of(const struct mt_way *way)
{
    return *way->change ? mt_remedy_rank(way->change) + way->has_conf : MT_SETTING_RANK;
}

/* What fits for certain comes before what carries the run a part of the way, and that before what
 * may; then what costs nothing, settings, changes, combinations. */
MT_ORDER(cheaper, struct mt_way,
         MT_COMPARE(mt_way_known(a), mt_way_known(b))
         ?: MT_FALLING(reach) ?: MT_COMPARE(group_of(a), group_of(b))
         ?: MT_COMPARE(rank_of(a), rank_of(b))
         ?: MT_RISING(operators) ?: MT_FALLING(is_replayed) ?: MT_FALLING(free)
         ?: MT_BY_TEXT(change))

void mt_answer_sort(struct mt_plan_answer *answer)
{
    if (answer->n)
        qsort(answer->way, answer->n, sizeof *answer->way, cheaper);
}

bool mt_way_is_batch(const struct mt_way *way)
{
    return !way->has_conf && !strncmp(way->change, "batch:", 6) && !mt_way_is_two(way);
}

static void add_setting(struct mt_way_words *words, const struct mt_plan_answer *answer,
                        const struct mt_way *way)
{
    const char *variable = mt_plan_variable(answer->plan);
    char *out = words->action[words->n++];
    if (*way->conf)
        snprintf(out, MT_WAY_TEXT, "export %s=%s", variable, way->conf);
    else
        snprintf(out, MT_WAY_TEXT, "unset %s", variable);
}

/* Add the price of one part, with the part of forward that runs again. */
static void add_price(struct mt_way_words *words, const struct mt_plan_answer *answer,
                      const struct mt_way *way, const struct mt_remedy *remedy)
{
    char part[40] = "part of forward";
    size_t used = strlen(words->price);
    const char *price = remedy->price, *name = mt_cost_names[remedy->cost];
    if (used && price[strlen(name)] == ':' && !strncmp(price, words->price, strlen(name) + 1))
        price += strlen(name) + 2; /* "time: this; that" */
    const char *place = strstr(price, "%s");
    if (way->operators && answer->forward)
        snprintf(part, sizeof part, "%.1f %% of forward",
                 100.0 * (double)way->operators / (double)answer->forward);
    snprintf(words->price + used, sizeof words->price - used, "%s%.*s%s%s", used ? "; " : "",
             place ? (int)(place - price) : (int)strlen(price), price, place ? part : "",
             place ? place + 2 : "");
}

/* Write the place of a change that uses suggest, and what holds the blocks, around what to do. */
static void place_text(char *out, const struct mt_modelled *change)
{
    char what[MT_WAY_TEXT], held[MT_HOLDER_TEXT] = "";
    mt_remedy_text(what, sizeof what, change->name);
    if (change->held)
        mt_held_most_text(held, sizeof held, change->held, 0);
    *out = '\0';
    mt_text_append(out, MT_WAY_TEXT, "%s, %s%s%s", change->where, what, *held ? "; " : "", held);
}

/* Write what to do for one change, in this run. */
static void remedy_text(char *out, const struct mt_plan_answer *answer, const char *change)
{
    const struct mt_modelled *modelled =
        answer->changes ? mt_modelled_find(answer->changes, change) : NULL;
    if (modelled && *modelled->where)
        place_text(out, modelled);
    else if (!strcmp(change, "no-grad") && *answer->calls)
        snprintf(out, MT_WAY_TEXT, "with torch.no_grad(): around the evaluation, %s",
                 answer->calls);
    else if (!strcmp(change, "host-copies") && *answer->copies)
        snprintf(
            out, MT_WAY_TEXT,
            "keep the copies of weights from %s on the host: map_location=\"cpu\", tensor.cpu()",
            answer->copies);
    else if (!strcmp(change, "keep-nothing") && answer->infers)
        snprintf(out, MT_WAY_TEXT, "keep nothing from one forward to the next: tensor.cpu(), del");
    else if (!strncmp(change, "batch:", 6) && answer->infers)
        snprintf(out, MT_WAY_TEXT, "a batch of %.20s the size", change + 6);
    else if (!strcmp(change, "precision:bf16") && answer->is_narrow)
        snprintf(out, MT_WAY_TEXT, "model.bfloat16() instead of autocast, and its inputs too");
    else if (!strcmp(change, "optimizer:adamw-fused") && *answer->optimizer)
        snprintf(out, MT_WAY_TEXT, "pass fused=True to the optimizer");
    else if (!strcmp(change, "optimizer:adamw-for-loop") && *answer->optimizer)
        snprintf(out, MT_WAY_TEXT, "pass foreach=False to the optimizer");
    else
        mt_remedy_text(out, MT_WAY_TEXT, change);
}

/* Write a part, "5/8" or "3/4". */
static void part_text(char *out, size_t size, unsigned part)
{
    unsigned of = MT_BATCH_PARTS;
    for (; part % 2 == 0 && of > 1; part /= 2)
        of /= 2;
    snprintf(out, size, "%u/%u", part, of);
}

/* Append "; the largest batch that fits is about 5/8 of this one". */
static void append_largest_batch(char *out, const struct mt_largest_batch *largest)
{
    char least[16], about[16];
    bool has_least = largest->least && largest->least < largest->about;
    part_text(least, sizeof least, largest->least);
    part_text(about, sizeof about, largest->about);
    mt_text_append(out, MT_WAY_TEXT, "; the largest batch that %s is about %s of this one%s%s",
                   largest->of_iteration ? "gets through this iteration" : "fits", about,
                   has_least ? ", at least " : "", has_least ? least : "");
}

void mt_way_words(struct mt_way_words *words, const struct mt_plan_answer *answer,
                  const struct mt_way *way)
{
    char part[MT_CHANGE_NAME], count[MT_SIZE_TEXT];
    enum mt_cost cost = mt_remedy_cost(way->change);
    *words = (struct mt_way_words){0};
    if (way->has_conf)
        add_setting(words, answer, way);
    for (const char *next = way->change; next && *next && words->n < MT_WAY_ACTIONS;) {
        next = mt_next_change(next, part, sizeof part);
        remedy_text(words->action[words->n++], answer, part);
        add_price(words, answer, way, mt_remedy_of(part));
    }
    if (mt_way_is_batch(way) && answer->largest.about)
        append_largest_batch(words->action[0], &answer->largest);
    if (!*way->change && way->retries) {
        cost = MT_COSTS_TIME;
        snprintf(words->price, sizeof words->price, "time: the cache is emptied %s time%s",
                 mt_count_text(count, way->retries), way->retries == 1 ? "" : "s");
    } else if (!*way->change) {
        snprintf(words->price, sizeof words->price, "nothing");
    }
    words->costs = mt_cost_names[cost];
}
