/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The name that a process gives itself in ps, as servers' workers do (setproctitle writes over the
 * command line and names the thread): "VLLM::Worker_TP0".
 */
#ifndef MT_PRELOAD_TITLE_H
#define MT_PRELOAD_TITLE_H

#include <stdbool.h>
#include <stddef.h>

/* Remember how the program was called, before it changes that. */
void mt_title_start(const char *program);

/* Note that a thread was named: the title may be new. Safe in a signal handler. */
void mt_title_note(void);

/* Read the command line: its arguments, separated by spaces. */
void mt_title_command(char *out, size_t size);

/* Return the title if it is new since the last call, or since the beginning if `is_first`; else
 * NULL. Writer only. */
const char *mt_title_read(bool is_first);

#endif
