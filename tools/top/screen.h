/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The terminal as a screen: whole frames are written to it, keys are read from it. Whatever ends or stops
 * the process, but SIGKILL, finds the terminal as it was before. There is one, as there is one terminal.
 */
#ifndef MT_SCREEN_H
#define MT_SCREEN_H

#include <stdbool.h>
#include <stddef.h>

enum mt_screen_keys {
    MT_KEY_NONE = 0, /* or a character as it is */
    MT_KEY_UP = 256,
    MT_KEY_DOWN,
    MT_KEY_LEFT,
    MT_KEY_RIGHT,
    MT_KEY_PAGE_UP,
    MT_KEY_PAGE_DOWN,
    MT_KEY_HOME,
    MT_KEY_END,
    MT_KEY_RESIZED, /* the size has changed, or the process was stopped and continued: draw anew */
    MT_KEY_GONE,    /* the terminal is gone */
};

/* Whether stdout is a terminal on which the cursor can be moved. */
bool mt_screen_is_there(void);

/* Takes the terminal and gives it back. Without a terminal as stdin there are no keys. */
void mt_screen_open(void);
void mt_screen_close(void);

void mt_screen_size(unsigned *columns, unsigned *rows);

/* Shows a frame: lines with '\n' between, none wider than the screen, and not more than it has. */
void mt_screen_show(const char *frame, size_t size);

/* Waits so long for a key. MT_KEY_NONE: none came. */
int mt_screen_key(int milliseconds);

#endif
