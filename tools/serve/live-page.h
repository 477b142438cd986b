/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The page of memtap view, which follows a trace while a process writes it.
 */
#ifndef MT_LIVE_PAGE_H
#define MT_LIVE_PAGE_H

/* Serve the page until a signal ends it. Call ready with its address. Return an exit code:
 * MT_EXIT_BAD after a message. */
int mt_serve_live_page(const char *trace, void (*ready)(const char *url));

#endif
