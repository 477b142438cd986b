/* SPDX-License-Identifier: Apache-2.0 */
/* What a command may take of the machine, whatever the trace is. */
#ifndef MT_BOUNDS_H
#define MT_BOUNDS_H

/* Takes memtap's own options that stand before the command, --most-memory and --most-output, out of
 * argv, which begins with the program's name. How many words they are; -1 after a message. */
int mt_bounds_read(int argc, char **argv);

/* They hold from here on, for a command that starts no program. */
void mt_bounds_begin(void);

#endif
