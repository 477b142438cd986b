/* SPDX-License-Identifier: Apache-2.0 */
/* The roster, a file in which memtap run reads what became of its program's processes. */
#ifndef MT_PRELOAD_ROSTER_H
#define MT_PRELOAD_ROSTER_H

/* Append a text in one write. Any thread. */
void mt_roster_sign(const char *roster, const char *text);

#endif
