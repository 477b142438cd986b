/* SPDX-License-Identifier: Apache-2.0 */
#include "analyzer/holders/holder-words.h"
#include "answer.h"
#include "remedies.h"

#include <string.h>

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
    if (mt_way_is_batch(way) && answer->largest.about) {
        char largest[100];
        mt_largest_batch_text(largest, sizeof largest, &answer->largest);
        mt_text_append(words->action[0], MT_WAY_TEXT, "; %s", largest);
    }
    if (!*way->change && way->retries) {
        cost = MT_COSTS_TIME;
        snprintf(words->price, sizeof words->price, "time: the cache is emptied %s time%s",
                 mt_count_text(count, way->retries), way->retries == 1 ? "" : "s");
    } else if (!*way->change) {
        snprintf(words->price, sizeof words->price, "nothing");
    }
    words->costs = mt_cost_names[cost];
}
