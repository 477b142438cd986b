/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MT_PRELOAD_SOURCE_LOOP_H
#define MT_PRELOAD_SOURCE_LOOP_H

enum mt_loop {
    MT_LOOP_NONE,    /* within the function; or the source cannot be read */
    MT_LOOP_COUNTED, /* for: it ends with what it goes through */
    MT_LOOP_OPEN,    /* while: it ends when the program says so */
};

/* Return the innermost loop around a line of Python's source. It goes by indentation. Not for the
 * fast path: it reads the file. */
enum mt_loop mt_loop_around(const char *path, unsigned line);

#endif
