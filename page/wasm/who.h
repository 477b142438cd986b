/* SPDX-License-Identifier: Apache-2.0 */
/* Who holds memory after a moment: a tree by stack, module, operator or line, as an object. */
#ifndef MT_PAGE_WHO_H
#define MT_PAGE_WHO_H

#include "areas.h"

#include <stdbool.h>

#include <jansson.h>

/* W(enumerator, name) */
#define MT_WHO(W)                                                                                  \
    W(PYTHON, "python")     /* frames of Python, outermost first */                                \
    W(NATIVE, "native")     /* all frames */                                                       \
    W(CALLERS, "callers")   /* frames of Python, innermost first */                                \
    W(MODULE, "module")     /* the torch.nn module and its parents */                              \
    W(OPERATOR, "operator") /* the backward node or function, then the line */                     \
    W(LINE, "line")         /* category, then the line of the program's own */

enum mt_who_by {
#define MT_WHO_ENUM(id, name) MT_WHO_##id,
    MT_WHO(MT_WHO_ENUM)
#undef MT_WHO_ENUM
        MT_WHO_COUNT
};

/* Selects the blocks that live after `at` and were allocated at `since` or later. */
struct mt_who_question {
    unsigned slot;
    enum mt_who_by by;
    size_t at, since; /* moments */
    int category;     /* only this one; -1: all */
    bool is_folded;   /* stacks show the program's own frames only, if they have any */
};

/* Make {"name", "place", "bytes", "blocks", "category", "certainty", "children": [...]}. Category:
 * the largest; certainty: its, where it is least. Sort the children, the largest first, and join
 * those below a thousandth of the whole as "others". NULL: no memory. */
json_t *mt_who(const struct mt_lives *lives, const struct mt_replay *replay,
               const struct mt_who_question *question);

/* Make ["certain", ...], by category: how sure it is where it is least, as in reports. */
json_t *mt_who_certainties(const struct mt_lives *lives, const struct mt_replay *replay,
                           const struct mt_who_question *question);

/* Make a table as mt_who_table does, of blocks that were freed before the next allocation (memray
 * calls them temporary), between `since` and `at`; bytes: the sum of all. Blocks from PyTorch's
 * cache and blocks for which CUDA handed memory out have rows of their own: "from" (enum
 * mt_origin). */
json_t *mt_who_temporary(const struct mt_lives *lives, const struct mt_areas *areas,
                         const struct mt_replay *replay, const struct mt_who_question *question);

/* Find the blocks of a table's row by one of them, the largest first. Return their count, or
 * -ENOMEM; `numbers` (malloc'ed) has their lives' numbers. */
long mt_who_same(const struct mt_lives *lives, const struct mt_replay *replay,
                 const struct mt_who_question *question, const struct mt_life *life,
                 double **numbers);

/* Make [{"bytes", "blocks", "category", "line", "file", "number", "operator", "guess", "life",
 * "from"}], the largest first: as the report's table of call sites; file and number: of the line.
 * NULL: no memory. */
json_t *mt_who_table(const struct mt_lives *lives, const struct mt_replay *replay,
                     const struct mt_who_question *question);

#endif
