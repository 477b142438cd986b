/* SPDX-License-Identifier: Apache-2.0 */
/* The balance of a device for the schemas memtap.report/1 and memtap.oom/1. */
#ifndef MT_BALANCE_JSON_H
#define MT_BALANCE_JSON_H

#include "analyzer/findings/balance.h"
#include "analyzer/print/json.h"

/* NULL: no memory. */
json_t *mt_json_balance(const struct mt_balance *balance);

#endif
