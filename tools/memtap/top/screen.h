/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The terminal as a screen: show frames, read keys. When the process ends or stops, except by
 * SIGKILL, the terminal is restored. There is one terminal, so the state is global.
 */
#ifndef MT_SCREEN_H
#define MT_SCREEN_H

#include <stdbool.h>
#include <stddef.h>

enum mt_screen_keys {
    MT_KEY_NONE = 0, /* any other value is a character */
    MT_KEY_UP = 256,
    MT_KEY_DOWN,
    MT_KEY_LEFT,
    MT_KEY_RIGHT,
    MT_KEY_PAGE_UP,
    MT_KEY_PAGE_DOWN,
    MT_KEY_HOME,
    MT_KEY_END,
    MT_KEY_RESIZED, /* draw again: the size has changed, or the process was stopped and continued */
    MT_KEY_GONE,    /* the terminal is gone */
};

/* Return whether stdout is a terminal with a movable cursor. */
bool mt_screen_is_there(void);

/* Set up the terminal, and restore it. There are no keys unless stdin is a terminal. */
void mt_screen_open(void);
void mt_screen_close(void);

void mt_screen_size(unsigned *columns, unsigned *rows);

/* Show a frame: lines separated by '\n' that fit the screen. */
void mt_screen_show(const char *frame, size_t size);

/* Wait this long for a key; MT_KEY_NONE: none. */
int mt_screen_key(int milliseconds);

#endif
