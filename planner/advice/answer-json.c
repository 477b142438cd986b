/* SPDX-License-Identifier: Apache-2.0 */
#include "analyzer/json/parts.h"
#include "answer.h"
#include "remedies.h"

static json_t *changes_json(const char *changes)
{
    json_t *all = json_array();
    char part[MT_CHANGE_NAME];
    while (changes && *changes) {
        changes = mt_next_change(changes, part, sizeof part);
        json_array_append_new(all, mt_json_text(part));
    }
    return all;
}

static json_t *actions_json(const struct mt_way_words *words)
{
    json_t *all = json_array();
    for (size_t i = 0; i < words->n; i++)
        json_array_append_new(all, mt_json_text(words->action[i]));
    return all;
}

static json_t *way_json(const struct mt_plan_answer *answer, const struct mt_way *way)
{
    struct mt_way_words words;
    mt_way_words(&words, answer, way);
    return json_pack(
        "{s:o, s:o, s:o, s:o, s:s, s:o, s:o, s:o, s:s, s:o, s:o, s:s, s:o}", "do",
        actions_json(&words), "conf", way->has_conf ? mt_json_text(way->conf) : json_null(),
        "changes", changes_json(way->change), "fits", mt_json_served(way->served), "how",
        way->is_replayed ? "replayed" : "modelled", "error_per_thousand",
        !way->is_replayed && (answer->rest || !way->error) ? json_null()
                                                           : json_integer((json_int_t)way->error),
        "peak_reserved", mt_json_number(way->peak_reserved), "free", mt_json_number(way->free),
        "costs", words.costs, "price", mt_json_text(words.price), "operators_again",
        mt_json_number(way->operators), "through",
        answer->rest
            ? mt_reach_names[way->served == MT_SERVED_UNKNOWN ? way->reach : answer->rest->known]
            : "end",
        "largest_batch",
        mt_way_is_batch(way) ? mt_json_largest_batch((double)answer->largest.least / MT_BATCH_PARTS,
                                                     (double)answer->largest.about / MT_BATCH_PARTS)
                             : json_null());
}

static json_t *nearest_json(const struct mt_plan_answer *answer)
{
    struct mt_way_words words;
    if (!answer->missing)
        return json_null();
    mt_way_words(&words, answer, &answer->nearest);
    return json_pack("{s:o, s:o, s:o}", "do", actions_json(&words), "conf",
                     answer->nearest.has_conf ? mt_json_text(answer->nearest.conf) : json_null(),
                     "changes", changes_json(answer->nearest.change));
}

json_t *mt_answer_json(const struct mt_plan_answer *answer)
{
    json_t *ways = json_array();
    bool is_known = answer->plan->card.total && answer->plan->n;
    for (size_t i = 0; ways && i < answer->n; i++)
        json_array_append_new(ways, way_json(answer, &answer->way[i]));
    return json_pack("{s:o, s:o, s:o, s:s, s:o, s:o, s:o, s:b, s:o}", "fits",
                     is_known ? mt_json_served(answer->fits) : json_null(), "found",
                     is_known ? json_boolean(mt_answer_is_found(answer)) : json_null(), "free",
                     is_known ? mt_json_number(answer->free) : json_null(), "how",
                     answer->plan->is_exact ? "replayed" : "modelled", "ways", ways, "missing",
                     mt_json_number_or_null(answer->missing), "nearest", nearest_json(answer),
                     "cut", answer->is_cut, "handles",
                     answer->rest && answer->rest->known > MT_REACH_REQUEST
                         ? mt_json_handles(&answer->rest->handles)
                         : json_null());
}
