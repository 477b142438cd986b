/* SPDX-License-Identifier: Apache-2.0 */
/* The output of a run, in a file in its folder. */
#ifndef MT_FIT_OUTPUT_H
#define MT_FIT_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "analyzer/support/text.h"

/* Redirect the output of the calling process and its children to a new file in the folder, and
 * their input from /dev/null. Return the file's descriptor or a negative errno. */
int mt_output_begin(const char *folder);

/* Bound the file's length by discarding its beginning. */
void mt_output_bound(int fd);

/* Copy as many of the last lines as fit. */
void mt_output_last(int fd, char *out, size_t size);

/* Return whether the end of the output reports that a card's memory ran out, in the words of CUDA,
 * cuBLAS, PyTorch or a server. */
bool mt_output_is_of_memory(int fd);

/* Return the largest value that fits, if a server's last lines name it; 0: none. */
uint64_t mt_output_advice(int fd);

/* Print the last lines, indented by four spaces. */
void mt_output_print_last(const char *last, FILE *out, const struct mt_style *style);

#endif
