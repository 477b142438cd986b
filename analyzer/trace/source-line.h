/* SPDX-License-Identifier: Apache-2.0 */
/* The text of a line of the program, if its file has not changed since the run. */
#ifndef MT_SOURCE_LINE_H
#define MT_SOURCE_LINE_H

#include "definitions.h"

/* Copy the line of a stack's innermost frame, without surrounding blanks. Return 1; 0: the program
 * ran on another machine, or the file is missing, not a source file, or changed since the recording
 * began. The text is foreign: print it safely. */
int mt_source_line(char *out, size_t size, const struct mt_definitions *definitions,
                   uint32_t stack);

#endif
