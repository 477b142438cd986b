/* SPDX-License-Identifier: Apache-2.0 */
/* Parameters by precision for the schemas memtap.report/1 and memtap.oom/1. */
#ifndef MT_PRECISION_JSON_H
#define MT_PRECISION_JSON_H

#include "analyzer/findings/precision.h"
#include "analyzer/print/json.h"

/* Return null if nothing is known; NULL: no memory. */
json_t *mt_json_precision(const struct mt_precision *precision);

#endif
