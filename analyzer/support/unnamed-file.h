/* SPDX-License-Identifier: Apache-2.0 */
/* Room on disk for what is only known at the end where it goes. */
#ifndef MT_UNNAMED_FILE_H
#define MT_UNNAMED_FILE_H

#include <stdio.h>

/* Open a file without a name in a folder (or, where it cannot be made there, in /tmp), to write and
 * read; it goes with its last descriptor. NULL: errno says why not. */
FILE *mt_unnamed_file(const char *folder);

#endif
