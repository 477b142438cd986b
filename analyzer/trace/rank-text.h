/* SPDX-License-Identifier: Apache-2.0 */
/* A process's place in a job of several. */
#ifndef MT_RANK_TEXT_H
#define MT_RANK_TEXT_H

#include "definitions.h"

/* Return the launcher's text; NULL: the trace does not have it. It lives as long as the
 * definitions. */
const char *mt_rank_text(const struct mt_definitions *definitions);
const char *mt_world_size_text(const struct mt_definitions *definitions);

/* Return for how many ranks a simulated one stands, all of its kind; NULL: nobody looked. */
const char *mt_stands_for_text(const struct mt_definitions *definitions);

/* Return whether an info record has the rank: *value is it, of *size bytes. */
int mt_names_rank(const struct mt_definition *definition, const char **value, size_t *size);

#endif
