/* SPDX-License-Identifier: Apache-2.0 */
#include "pins-json.h"

json_t *mt_json_pool(const struct mt_pool_state *pool)
{
    return json_pack("{s:o, s:o, s:o, s:o, s:o}", "reserved", mt_json_number(pool->reserved),
                     "segments", mt_json_number(pool->segments), "free", mt_json_number(pool->free),
                     "pieces", mt_json_number(pool->pieces), "largest_free",
                     mt_json_number(pool->largest_free));
}

json_t *mt_json_private_pools(const struct mt_private_pools *pools)
{
    json_t *array = json_array();
    for (size_t i = 0; i < pools->n; i++)
        json_array_append_new(array, json_pack("{s:o, s:o, s:o}", "name",
                                               mt_json_text(pools->pool[i].name), "reserved",
                                               mt_json_number(pools->pool[i].reserved), "used",
                                               mt_json_number(pools->pool[i].used)));
    return array;
}

json_t *mt_json_pins(const struct mt_pins *pins, const struct mt_definitions *definitions)
{
    json_t *array = json_array();
    for (size_t i = 0; i < pins->n; i++) {
        const struct mt_pin *pin = &pins->pin[i];
        json_array_append_new(array, json_pack("{s:o, s:s, s:o, s:o, s:o, s:o}", "line",
                                               mt_json_frame(definitions, pin->stack), "category",
                                               mt_categories[pin->category].name, "segments",
                                               mt_json_number(pin->segments), "blocks",
                                               mt_json_number(pin->blocks), "bytes",
                                               mt_json_number(pin->bytes), "free",
                                               mt_json_number(pin->free)));
    }
    return array;
}
