/* SPDX-License-Identifier: Apache-2.0 */
/* Who holds memory after a moment: a tree by stack, module, operator or line, as an object. */
#ifndef MT_PAGE_WHO_H
#define MT_PAGE_WHO_H

#include "idle-times.h"

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
    bool is_found;    /* only what the search found */
    const struct mt_idle_times *idle; /* only what is needed then; NULL: all */
};

/* Make {"name", "place", "bytes", "blocks", "found", "category", "certainty", "children": [...]}.
 * Found: the bytes that the search found; category: the largest; certainty: its, where it is least.
 * Sort the children, the largest first, and join those below a thousandth of the whole as "others".
 * A box at which stacks of more than MT_WHO_WIDE of all bytes end is opened: folded stacks into
 * modules, modules into lines. NULL: no memory. */
#define MT_WHO_WIDE 60u /* percent */
json_t *mt_who(const struct mt_lives *lives, const struct mt_replay *replay,
               const struct mt_who_question *question);

/* Make ["certain", ...], by category: how sure it is where it is least, as in reports. */
json_t *mt_who_certainties(const struct mt_lives *lives, const struct mt_replay *replay,
                           const struct mt_who_question *question);

/* Call take for each selected life. */
void mt_who_each(const struct mt_lives *lives, const struct mt_who_question *question,
                 void (*take)(void *data, const struct mt_life *life), void *data);

#endif
