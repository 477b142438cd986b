/* SPDX-License-Identifier: Apache-2.0 */
#include "analyzer/holders/holder-words.h"
#include "json.h"

#include <stdlib.h>
#include <string.h>

json_t *mt_json_held_most(const struct mt_held_most *held)
{
    bool is_one = held->has_list && held->first_ns == held->last_ns;
    return json_pack("{s:s, s:o, s:o, s:o, s:s?, s:o}", "root", mt_holder_root_name(held->root),
                     "path", mt_json_text(held->path), "bytes", mt_json_number(held->bytes),
                     "blocks", mt_json_number(held->blocks), "moment",
                     is_one ? mt_holders_moment_name(held->moment) : NULL, "time_ns",
                     is_one ? mt_json_number(held->last_ns) : json_null());
}

/* Make a path's steps. */
static json_t *steps(const char *path)
{
    json_t *array = json_array();
    while (*path) {
        size_t n = strcspn(path, "\n");
        char step[MT_HOLDER_TEXT] = "";
        mt_holder_put_step(step, sizeof step, path, n);
        if (n)
            json_array_append_new(array, mt_json_text(step));
        path += n + (path[n] == '\n');
    }
    return array;
}

json_t *mt_json_held(const struct mt_definitions *definitions, const struct mt_block_held *held)
{
    json_t *array = json_array();
    for (size_t i = 0; held && i < held->n; i++)
        json_array_append_new(array, json_pack("{s:s, s:o, s:o, s:o}", "root",
                                               mt_holder_root_name(held->by[i].root), "path",
                                               steps(mt_string(definitions, held->by[i].path)),
                                               "view", mt_json_number_or_null(held->by[i].view),
                                               "time_ns", mt_json_number(held->list->time_ns)));
    return array;
}
