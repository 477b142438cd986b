/* SPDX-License-Identifier: Apache-2.0 */
#include "ranges-json.h"

json_t *mt_json_ranges(const struct mt_rule_context *context, unsigned slot)
{
    const struct mt_ranges *ranges = context->ranges;
    json_t *array = json_array();
    for (size_t path = 1; path < ranges->device[slot].n; path++) {
        const struct mt_range_most *most = &ranges->device[slot].most[path];
        if (most->event)
            json_array_append_new(
                array,
                json_pack("{s:o, s:o, s:o, s:o, s:o}", "range",
                          mt_json_range(context->definitions, ranges, (uint32_t)path), "times",
                          mt_json_number(ranges->range[path].times), "allocated",
                          mt_json_number(most->bytes), "time_ns", mt_json_number(most->time_ns),
                          "event", mt_json_number(most->event)));
    }
    return array;
}

json_t *mt_json_marks(const struct mt_definitions *definitions, const struct mt_ranges *ranges)
{
    char text[1024];
    json_t *array = json_array();
    for (size_t i = 0; i < ranges->n_marks; i++) {
        const struct mt_range_mark *mark = &ranges->mark[i];
        mt_range_name_text(text, sizeof text, definitions, mark->name, mark->domain);
        json_array_append_new(array, json_pack("{s:o, s:o, s:o, s:o}", "mark", mt_json_text(text),
                                               "times", mt_json_number(mark->times), "first_ns",
                                               mt_json_number(mark->first_ns), "last_ns",
                                               mt_json_number(mark->last_ns)));
    }
    return array;
}
