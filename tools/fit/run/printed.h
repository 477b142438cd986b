/* SPDX-License-Identifier: Apache-2.0 */
/* What a run printed: a file in its folder. */
#ifndef MT_FIT_PRINTED_H
#define MT_FIT_PRINTED_H

#include <stdbool.h>
#include <stddef.h>

#define MT_PRINTED_FILE "output.txt"

/* What the calling process and its children print goes to a new file of the folder; they read
 * nothing. Its descriptor, or a negative errno. */
int mt_printed_begin(const char *folder);

/* Lets the file not get too long: its begin is lost then. */
void mt_printed_bound(int fd);

/* The last lines, as many as fit. */
void mt_printed_last(int fd, char *out, size_t size);

/* Whether a text says that a card's memory ran out, in the words of CUDA, cuBLAS or PyTorch. */
bool mt_printed_is_of_memory(const char *text);

#endif
