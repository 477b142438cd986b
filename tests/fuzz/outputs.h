/* SPDX-License-Identifier: Apache-2.0 */
/* Where reports go: nowhere, but not unseen. */
#ifndef MT_FUZZ_OUTPUTS_H
#define MT_FUZZ_OUTPUTS_H

#include "analyzer/support/text.h"

#include <stdio.h>

/* Aborts at a byte that acts on a terminal, other than a new line: text in an input is to have been
 * made safe (trace-format/safe-text.h). */
FILE *mt_safe_output(void);

/* Takes everything: for colours. */
FILE *mt_any_output(void);

/* As in a file or a pipe, and as on a terminal. */
extern const struct mt_style mt_plain_style, mt_coloured_style;

#endif
