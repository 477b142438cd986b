/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of which a trace says only that they happened: memtap does not see what they touched. */
#ifndef MT_PRELOAD_NOTICE_H
#define MT_PRELOAD_NOTICE_H

#include <stddef.h>

/* Note that a function was called. Its name lives for ever. Any thread. */
void mt_notice(const char *symbol);

/* Write their names, each once, separated by commas. Return `text`; empty: none. */
const char *mt_noticed(char *text, size_t size);

#endif
