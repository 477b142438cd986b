/* SPDX-License-Identifier: Apache-2.0 */
#include "model.h"

const struct mt_kind_info mt_kinds[MT_KIND_LIMIT] = {
#define FIELD(field_name, field_code) {#field_name, MT_CODE_##field_code},
#define ROW(id, number, kind_name, about, fields) [number] = {kind_name, {fields}},
    MT_EVENT_KINDS(ROW, FIELD)};
