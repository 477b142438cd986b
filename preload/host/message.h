/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MT_PRELOAD_MESSAGE_H
#define MT_PRELOAD_MESSAGE_H

/* Write one line "memtap: ..." to the host's stderr, in one write. Keeps errno. */
__attribute__((format(printf, 1, 2))) void mt_message(const char *format, ...);

#endif
