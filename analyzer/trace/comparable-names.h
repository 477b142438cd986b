/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of code without parts that differ between machines, installations and versions, so that
 * runs can be compared. All out buffers are terminated; longer text is truncated.
 */
#ifndef MT_COMPARABLE_NAMES_H
#define MT_COMPARABLE_NAMES_H

#include "definitions.h"

/* Write a file name for comparison: "/venv/lib/python3.11/site-packages/models/net.py" becomes
 * "models/net.py", a path in the working directory becomes relative, "/usr/lib/libfoo.so.12.3"
 * becomes "libfoo.so". working_directory: "" if unknown. */
void mt_comparable_file(char *out, size_t size, const char *file, const char *working_directory);

/* Write a function name for comparison: a native function without a name becomes "libfoo.so"
 * instead of "libfoo.so.12+0x123". */
void mt_comparable_function(char *out, size_t size, const struct mt_frame *frame);

/* Write what a process runs: "train.py", a module's name after -m, or a program's file name. */
void mt_program_name(char *out, size_t size, const char *command);

#endif
