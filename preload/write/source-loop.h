/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MT_WRITE_SOURCE_LOOP_H
#define MT_WRITE_SOURCE_LOOP_H

#include "trace-format/meaning/source-blocks.h"

enum mt_loop {
    MT_LOOP_NONE,    /* within the function; or the source cannot be read */
    MT_LOOP_COUNTED, /* for: it ends with its iterable */
    MT_LOOP_OPEN,    /* while: it ends when the program says so */
};

/* Return the innermost loop around a line of Python source, judged by indentation. Not for the fast
 * path: it reads the file. */
enum mt_loop mt_loop_around(const char *path, unsigned line);

/* Describe a line in the same way; it is known if it could be read. */
void mt_loop_describe_line(const char *path, unsigned line, struct mt_source_facts *out);

#endif
