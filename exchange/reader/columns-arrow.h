/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MT_COLUMNS_ARROW_H
#define MT_COLUMNS_ARROW_H

#include "arrow.h"
#include "exchange/tables/columns.h"

/* Turn the rows into an Arrow array, to be released, without copying them; the columns have none
 * afterwards, and are to be begun. 0 or -ENOMEM. */
int mt_columns_take(struct mt_columns *columns, struct ArrowArray *out);

/* Make the table's schema, to be released. 0 or -ENOMEM. */
int mt_columns_schema(const struct mt_table *table, struct ArrowSchema *out);

#endif
