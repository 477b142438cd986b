/* SPDX-License-Identifier: Apache-2.0 */
/* The program of a command line written as for Python. */
#ifndef MT_PROGRAM_H
#define MT_PROGRAM_H

#include <stdbool.h>

/* Return whether an option's value is the module of "-m MODULE", not the size of "-m SIZE" or
 * "--memory SIZE". argv[next] is the word after it. */
bool mt_is_module(const char *value, char *const *argv, int next);

/* Return the program to start: Python with a module (NULL: none) or with a script that is not
 * executable itself, else the operands as they are. Return NULL after a message, with the exit code
 * in *code. The caller frees the array; its texts belong to the operands. */
char **mt_program_meant(const char *module, char *const *operands, int *code);

#endif
