/* SPDX-License-Identifier: Apache-2.0 */
/* The process's place in a job, from its launcher's variables. */
#ifndef MT_PRELOAD_LAUNCHER_H
#define MT_PRELOAD_LAUNCHER_H

enum mt_job_place { MT_RANK, MT_LOCAL_RANK, MT_WORLD_SIZE, MT_PLACES };

/* Their names in info records. */
extern const char *const mt_place_names[MT_PLACES];

/* Return a place from the first launcher that gave a rank; NULL: none, or not set. Reads the
 * environment. */
const char *mt_launcher_place(enum mt_job_place place);

/* Return launchers' variables one by one; NULL after the last. */
const char *mt_launcher_variable(unsigned index);

#endif
