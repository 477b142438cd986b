/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The roster: a temporary file to which every recorded process of a run appends the path of its
 * trace, a line each; an empty one where that could not be created (and has said so). At its end it
 * appends another one: the processor time that writing took, in ns, a space, and the path again.
 * One that can use no device appends "!", the first result that said so, a space and the function.
 */
#ifndef MT_ROSTER_H
#define MT_ROSTER_H

#include <limits.h>
#include <stdint.h>

struct mt_roster {
    char path[PATH_MAX];
};

/* The folder that rosters are made in: TMPDIR, or /tmp. */
const char *mt_roster_folder(void);

/* Makes an empty one. 0 or a negative errno. */
int mt_roster_create(struct mt_roster *roster);

/* Calls tell for each trace, with what writing it took; 0: not known. How many there were, those
 * that could not be created included. */
unsigned mt_roster_each(const struct mt_roster *roster,
                        void (*tell)(void *data, const char *trace, uint64_t cpu_ns), void *data);

/* The first that could use no device, if any: 1, its result and the function that returned it. */
int mt_roster_failure(const struct mt_roster *roster, unsigned *result, char function[64]);

void mt_roster_destroy(struct mt_roster *roster);

#endif
