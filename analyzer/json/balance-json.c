/* SPDX-License-Identifier: Apache-2.0 */
#include "balance-json.h"

static json_t *parts(const struct mt_balance_part *part, size_t n)
{
    json_t *array = json_array();
    for (size_t i = 0; i < n; i++)
        json_array_append_new(array,
                              json_pack("{s:o, s:o, s:o}", "name", mt_json_text(part[i].name),
                                        "bytes", mt_json_number(part[i].bytes), "blocks",
                                        mt_json_number(part[i].blocks)));
    return array;
}

static json_t *runtime_parts(const struct mt_balance *balance)
{
    const struct mt_cuda_object_counts *there = &balance->objects, *since = &balance->since;
    return json_pack(
        "{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "first",
        mt_json_number(balance->first), "since", mt_json_number(balance->runtime - balance->first),
        "contexts", mt_json_number(there->contexts), "modules", mt_json_number(there->modules),
        "module_bytes", mt_json_number(there->code), "streams", mt_json_number(there->streams),
        "contexts_since", mt_json_number(since->contexts), "modules_since",
        mt_json_number(since->modules), "module_bytes_since", mt_json_number(since->code),
        "streams_since", mt_json_number(since->streams));
}

json_t *mt_json_balance(const struct mt_balance *balance)
{
    json_t *object = json_pack("{s:o, s:o, s:o}", "pytorch", mt_json_number(balance->pytorch),
                               "cuda", mt_json_number(balance->cuda), "by_library",
                               parts(balance->part, balance->n_parts));
    json_object_set_new(object, "empty_segments", parts(balance->empty, balance->n_empty));
    json_object_set_new(object, "imported",
                        json_pack("{s:o, s:o}", "bytes", mt_json_number(balance->imported.bytes),
                                  "blocks", mt_json_number(balance->imported.blocks)));
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
    json_object_set_new(object, "runtime_parts", runtime_parts(balance));
    json_object_set_new(object, "own_known", json_boolean(balance->knows_own));
    return object;
}
