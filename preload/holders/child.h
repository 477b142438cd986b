/* SPDX-License-Identifier: Apache-2.0 */
/* The child process that finds the holders, in its copy of the program's memory. */
#ifndef MT_HOLDERS_CHILD_H
#define MT_HOLDERS_CHILD_H

#include "answer.h"

/* Run as the child until it exits. most_ns: how long it may search; parent: the process that
 * created it. */
_Noreturn void mt_holders_child(struct mt_holders_answer *answer, int parent, uint64_t most_ns);

#endif
