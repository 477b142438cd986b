/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MT_TERMINAL_H
#define MT_TERMINAL_H

#include "analyzer/support/text.h"
#include "command.h"

/* Read --color's value: always, never or auto. Return 0, or -1 after a message. */
int mt_read_colour(const struct mt_command *command, const char *value);

/* Return what stdout can show: UTF-8 by the locale; colour by --color, else on a terminal unless
 * NO_COLOR is set. */
struct mt_style mt_terminal_style(void);

#endif
