/* SPDX-License-Identifier: Apache-2.0 */
/* The process's place in a job, from the variables of its launcher. */
#ifndef MT_PRELOAD_LAUNCHER_H
#define MT_PRELOAD_LAUNCHER_H

enum mt_job_place { MT_RANK, MT_LOCAL_RANK, MT_WORLD_SIZE, MT_PLACES };

/* Their names in info records. */
extern const char *const mt_place_names[MT_PLACES];

/* Return a place from the first launcher that set a rank; NULL if none did, or this one is not set.
 * Reads the environment. */
const char *mt_launcher_place(enum mt_job_place place);

/* Return the launchers' variables one by one, NULL after the last. */
const char *mt_launcher_variable(unsigned index);

#endif
