/* SPDX-License-Identifier: Apache-2.0 */
/* What a run printed: a file in its folder. */
#ifndef MT_FIT_OUTPUT_H
#define MT_FIT_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "analyzer/support/text.h"

/* Send what the calling process and its children print to a new file of the folder; they read
 * nothing. Return its descriptor, or a negative errno. */
int mt_output_begin(const char *folder);

/* Let the file not get too long: its begin is lost then. */
void mt_output_bound(int fd);

/* Copy the last lines, as many as fit. */
void mt_output_last(int fd, char *out, size_t size);

/* Return whether its end says that a card's memory ran out, in the words of CUDA, cuBLAS, PyTorch
 * or a server. */
bool mt_output_is_of_memory(int fd);

/* Return the largest value that fits, where a server's last words name one; 0: none does. */
uint64_t mt_output_advice(int fd);

/* Print the last lines, each behind four blanks. */
void mt_output_print_last(const char *last, FILE *out, const struct mt_style *style);

#endif
