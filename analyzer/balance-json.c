/* SPDX-License-Identifier: Apache-2.0 */
#include "balance-json.h"

static json_t *parts(const struct mt_balance *balance)
{
    json_t *array = json_array();
    for (size_t i = 0; i < balance->n_parts; i++)
        json_array_append_new(array, json_pack("{s:o, s:o, s:o}", "name",
                                               mt_json_text(balance->part[i].name), "bytes",
                                               mt_json_number(balance->part[i].bytes), "blocks",
                                               mt_json_number(balance->part[i].blocks)));
    return array;
}

json_t *mt_json_balance(const struct mt_balance *balance)
{
    json_t *object = json_pack("{s:o, s:o, s:o}", "pytorch", mt_json_number(balance->pytorch),
                               "cuda", mt_json_number(balance->cuda), "by_library", parts(balance));
    if (!balance->known)
        return object;
    const struct {
        const char *name;
        uint64_t value;
    } numbers[] = {{"total", balance->total},
                   {"used", balance->used},
                   {"runtime", balance->runtime},
                   {"other_processes", balance->others},
                   {"unexplained", balance->unexplained},
                   {"sample_time_ns", balance->sample_time_ns}};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        json_object_set_new(object, numbers[i].name, mt_json_number(numbers[i].value));
    json_object_set_new(object, "own_known", json_boolean(balance->knows_own));
    return object;
}
