/* SPDX-License-Identifier: Apache-2.0 */
/* The process's place in a job of several, as the variables of what launched it tell. */
#ifndef MT_PRELOAD_LAUNCHER_H
#define MT_PRELOAD_LAUNCHER_H

enum mt_job_place { MT_RANK, MT_LOCAL_RANK, MT_WORLD_SIZE, MT_PLACES };

/* What info records call them. */
extern const char *const mt_place_names[MT_PLACES];

/* Of the first launcher that gave a rank; NULL: there is none, or it does not tell. Reads the
 * environment. */
const char *mt_launcher_place(enum mt_job_place place);

/* The variables that launchers tell it by, one after the other; NULL after the last. */
const char *mt_launcher_variable(unsigned index);

#endif
