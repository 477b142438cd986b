/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of the recorder that begin, wait and end with it. The table of them is in parts.c, above
 * all of them; recorder.c only walks it.
 */
#ifndef MT_PRELOAD_PARTS_H
#define MT_PRELOAD_PARTS_H

/* Any of these may be NULL. Each is called in the table's order, but for what undoes: that is called
 * in the reverse order. */
struct mt_part {
    void (*find)(void);    /* in each thread that may start: asks the loader, whose lock it takes */
    int (*start)(void);    /* in the one that starts: 0 or a negative errno */
    void (*await)(void);   /* after all have started: waits until the part is ready */
    int (*hold)(void);     /* before a fork: true if it holds something that is to be released */
    void (*release)(void); /* undoes it, in the parent */
    void (*reset)(void);   /* undoes the start, in a forked child */
    void (*stop)(void);    /* at the process's end */
};

extern const struct mt_part mt_parts[];
extern const unsigned mt_n_parts; /* at most 32 */

#endif
