/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of which a trace knows that there were some, and no more: what they touched is not seen. */
#ifndef MT_PRELOAD_NOTICE_H
#define MT_PRELOAD_NOTICE_H

#include <stddef.h>

/* A function of that name, which lives for ever, was called. Any thread. */
void mt_notice(const char *symbol);

/* Their names, each once, a comma between them. Returns `text`; empty: there were none. */
const char *mt_noticed(char *text, size_t size);

#endif
