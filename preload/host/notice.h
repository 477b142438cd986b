/* SPDX-License-Identifier: Apache-2.0 */
/* Calls that a trace records only as having happened: memtap does not see what they touched. */
#ifndef MT_PRELOAD_NOTICE_H
#define MT_PRELOAD_NOTICE_H

#include <stddef.h>

/* Note that a function was called. The name must be static. Any thread. */
void mt_notice(const char *symbol);

/* Write the noted names, each once, separated by commas. Return `text`, "" if there are none. */
const char *mt_notice_list(char *text, size_t size);

#endif
