/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of the recorder that begin, wait and end with it. Their table is in parts.c, above all
 * of them; recorder.c only walks it.
 */
#ifndef MT_PRELOAD_PARTS_H
#define MT_PRELOAD_PARTS_H

/* Any of these may be NULL. They are called in the table's order, those that undo in the reverse
 * order. */
struct mt_part {
    void (*find)(void);    /* in each thread that may start: takes the loader's lock */
    int (*start)(void);    /* in the thread that starts: 0 or a negative errno */
    void (*await)(void);   /* after all have started: wait until the part is ready */
    int (*hold)(void);     /* before a fork: true if it holds something to release */
    void (*release)(void); /* undo it, in the parent */
    void (*reset)(void);   /* undo the start, in a forked child */
    void (*stop)(void);    /* at the process's end */
};

extern const struct mt_part mt_parts[];
extern const unsigned mt_n_parts; /* at most 32 */

#endif
