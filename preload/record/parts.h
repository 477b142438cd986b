/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of the recorder that start, wait and end with it. The table is in parts.c, above all of
 * them; recorder.c only iterates over it.
 */
#ifndef MT_PRELOAD_PARTS_H
#define MT_PRELOAD_PARTS_H

#include <stdbool.h>

/* Any of these may be NULL. They are called in the table's order; release, reset and stop in
 * reverse order. */
struct mt_part {
    void (*find)(void); /* in each thread that may start the recording; takes the loader's lock */
    int (*start)(bool is_again); /* in the thread that starts it; is_again: after a stop, with what
                                    it has; 0 or a negative errno */
    void (*await)(void);         /* after all have started; waits until the part is ready */
    bool (*hold)(void);          /* before a fork; true if there is something to release */
    void (*release)(void);       /* undoes hold, in the parent */
    void (*reset)(void);         /* undoes start, in a forked child */
    void (*stop)(void);          /* when the recording or the process ends */
};

extern const struct mt_part mt_parts[];
extern const unsigned mt_n_parts; /* at most 32 */

#endif
