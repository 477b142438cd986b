/* SPDX-License-Identifier: Apache-2.0 */
/* The text of a path: steps with line feeds between them (FORMAT.md, "A path of holders"). */
#ifndef MT_HOLDERS_PATH_TEXT_H
#define MT_HOLDERS_PATH_TEXT_H

#include "trace-format/model.h"

#include <stddef.h>

#define MT_PATH_TEXT 4096u

struct mt_path {
    char text[MT_PATH_TEXT];
    size_t n;
    enum mt_holder_root root;
};

/* Start a step, or append to it. Characters that could end a line or act on a terminal become
 * '?'. */
void mt_step_begin(struct mt_path *path);
void mt_step_put(struct mt_path *path, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Set the best description of the path, unless something before it is more specific. */
void mt_step_is(struct mt_path *path, enum mt_holder_root root);

#endif
