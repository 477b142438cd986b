/* SPDX-License-Identifier: Apache-2.0 */
/* Signals that end a command together with its runs. */
#ifndef MT_FIT_SIGNALS_H
#define MT_FIT_SIGNALS_H

#include <stdbool.h>

/* Catch the signals that end a command, so that it ends its runs first. Ignored signals stay
 * ignored unless all are requested, as a run's keeper does. */
void mt_signals_catch(bool all);

/* Return the last signal caught; 0: none. */
int mt_signals_caught(void);

/* Restore the signals' default actions. */
void mt_signals_let_be(void);

#endif
