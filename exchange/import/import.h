/* SPDX-License-Identifier: Apache-2.0 */
/* memtap import: what other tools recorded, as a trace. */
#ifndef MT_IMPORT_H
#define MT_IMPORT_H

#include "compose.h"

struct mt_import_error {
    char text[512]; /* of the file: what is wrong and what to do, one line; "": the system's error,
                       or no memory */
};

/* Read the file and write the trace. folder: for a file that has no name, meanwhile. 0, or a
 * negative errno with *error filled. */
int mt_import(const char *path, FILE *out, const char *folder, struct mt_import_summary *summary,
              struct mt_import_error *error);

/* A database of Nsight Systems, of which the caller has seen that it is one of SQLite. */
int mt_import_nsight(const char *path, struct mt_script *script, struct mt_import_summary *summary,
                     struct mt_import_error *error);

#endif
