/* SPDX-License-Identifier: Apache-2.0 */
/* Signals that end a command with its runs. */
#ifndef MT_FIT_SIGNALS_H
#define MT_FIT_SIGNALS_H

#include <stdbool.h>

/* Catch the signals that end a command: it ends its runs first. One that is ignored stays so,
 * unless all are asked for: a run's keeper ends by them. */
void mt_signals_catch(bool all);

/* Return the last one that was caught; 0: none. */
int mt_signals_caught(void);

/* Let the signals do what they do by default again. */
void mt_signals_let_be(void);

#endif
