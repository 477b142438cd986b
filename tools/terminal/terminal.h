/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MT_TERMINAL_H
#define MT_TERMINAL_H

#include "analyzer/support/text.h"

/* What --color says. */
enum mt_colour_when { MT_COLOUR_AUTO, MT_COLOUR_ALWAYS, MT_COLOUR_NEVER };
void mt_terminal_colour(enum mt_colour_when when);

/* What stdout can show: UTF-8 by the locale, colour as mt_terminal_colour set it, else on a terminal
 * unless NO_COLOR is set. */
struct mt_style mt_terminal_style(void);

#endif
