/* SPDX-License-Identifier: Apache-2.0 */
/* The text of a line of the program, where its file is still as it was when the program ran. */
#ifndef MT_SOURCE_LINE_H
#define MT_SOURCE_LINE_H

#include "definitions.h"

/* Copies the line that the innermost frame of a stack is at, without the blanks around it: 1; 0 where the
 * program ran on another machine, or the file is not there, is no source file, or was written since the
 * recording began. Somebody else chose the text. */
int mt_source_line(char *out, size_t size, const struct mt_definitions *definitions, uint32_t stack);

#endif
