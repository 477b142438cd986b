/* SPDX-License-Identifier: Apache-2.0 */
/* Programs whose loader cannot load this library: those for musl end in it with exit code 127. So
 * what becomes such a program does not preload us. All of it may be called in a child of vfork. */
#ifndef MT_PRELOAD_OTHER_LOADER_H
#define MT_PRELOAD_OTHER_LOADER_H

#include <stdbool.h>
#include <stddef.h>

/* Return whether the environment preloads us into this program, or into a script's interpreter, and
 * it is for musl. file: to be searched for in PATH, as execvp does; fd: of an open program, or -1.
 */
bool mt_cannot_load_us(int fd, const char *file, bool is_searched, char *const *environment);

/* Return how many variables there are, and in *size the bytes of LD_PRELOAD. */
size_t mt_count_variables(char *const *environment, size_t *size);

/* Copy the environment without us: into `out`, which has room for one more than there are, and for
 * LD_PRELOAD into `text`, with room for its bytes. */
void mt_environment_without_us(char *const *environment, char **out, char *text);

#endif
