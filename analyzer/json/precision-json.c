/* SPDX-License-Identifier: Apache-2.0 */
#include "precision-json.h"
#include "trace-format/dtypes.h"

json_t *mt_json_precision(const struct mt_precision *precision)
{
    if (!precision->parameters)
        return json_null();
    json_t *roles = json_array();
    for (size_t i = 0; i < precision->n; i++) {
        const struct mt_precision_row *row = &precision->row[i];
        json_array_append_new(
            roles,
            json_pack("{s:s, s:o, s:o, s:o, s:o}", "role", mt_role_names[row->role].name, "dtype",
                      row->dtype ? json_string(mt_dtype_name(row->dtype)) : json_null(),
                      "element_size", row->width ? json_integer(row->width) : json_null(), "bytes",
                      mt_json_number(row->bytes), "blocks", mt_json_number(row->blocks)));
    }
    return json_pack("{s:o, s:o, s:b, s:f, s:o, s:o}", "parameters",
                     mt_json_number(precision->parameters), "here", mt_json_number(precision->here),
                     "whole_known", !precision->lacks_others, "bytes_per_parameter",
                     (double)precision->bytes / (double)precision->parameters, "rounding",
                     mt_json_number(precision->rounding), "roles", roles);
}
