/* SPDX-License-Identifier: Apache-2.0 */
/* The program of a command line, where it is given as one gives it to Python. */
#ifndef MT_PROGRAM_H
#define MT_PROGRAM_H

#include <stdbool.h>

/* Whether an option's value is the module of "-m MODULE", and not the size of "-m SIZE" or
 * "--memory SIZE". argv[next] is the word after it. */
bool mt_is_module(const char *value, char *const *argv, int next);

/* The program that is meant: Python with a module (NULL: none) or with a script that is no program
 * itself, else the operands as they are. NULL after a message, and *code is the exit code. To be
 * freed; the texts are the operands'. */
char **mt_program_meant(const char *module, char *const *operands, int *code);

#endif
