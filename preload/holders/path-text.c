/* SPDX-License-Identifier: Apache-2.0 */
#include "path-text.h"

#include <stdarg.h>
#include <stdio.h>

void mt_step_begin(struct mt_path *path)
{
    if (path->n && path->n < MT_PATH_TEXT - 1)
        path->text[path->n++] = '\n';
}

void mt_step_put(struct mt_path *path, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    size_t room = MT_PATH_TEXT - path->n;
    int n = vsnprintf(path->text + path->n, room, format, list);
    va_end(list);
    size_t added = n < 0 ? 0 : (size_t)n < room ? (size_t)n : room - 1;
    for (size_t i = path->n; i < path->n + added; i++)
        if ((unsigned char)path->text[i] < ' ' || path->text[i] == 127)
            path->text[i] = '?';
    path->n += added;
}

void mt_step_is(struct mt_path *path, enum mt_holder_root root)
{
    const enum mt_holder_root most_first[] = {
        MT_HOLDER_GARBAGE,   MT_HOLDER_LAST_ERROR, MT_HOLDER_TRACEBACK,
        MT_HOLDER_THREAD,    MT_HOLDER_HOOK,       MT_HOLDER_AUTOGRAD,
        MT_HOLDER_OPTIMIZER, MT_HOLDER_DATALOADER, MT_HOLDER_LRU_CACHE,
        MT_HOLDER_CLOSURE,   MT_HOLDER_DEFAULT,    MT_HOLDER_GENERATOR,
        MT_HOLDER_CLASS,     MT_HOLDER_NOTEBOOK,   root};
    unsigned i = 0;
    while (most_first[i] != path->root && most_first[i] != root)
        i++;
    if (most_first[i] == root)
        path->root = root;
}
