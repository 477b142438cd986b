/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MT_TERMINAL_H
#define MT_TERMINAL_H

#include "analyzer/support/text.h"

/* What stdout can show: UTF-8 by the locale, colour on a terminal unless NO_COLOR is set. */
struct mt_style mt_terminal_style(void);

#endif
