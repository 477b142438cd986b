/* SPDX-License-Identifier: Apache-2.0 */
/* A process's place in a job of several. */
#ifndef MT_RANK_TEXT_H
#define MT_RANK_TEXT_H

#include "definitions.h"

/* In the words of what launched it; NULL: the trace does not tell. They belong to the definitions.
 */
const char *mt_rank_text(const struct mt_definitions *definitions);
const char *mt_world_size_text(const struct mt_definitions *definitions);

/* Whether an info record tells the rank: then *value is it, of *size bytes. */
int mt_tells_rank(const struct mt_definition *definition, const char **value, size_t *size);

#endif
