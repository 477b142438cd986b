/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The manifest: a temporary file to which every recorded process of a run appends a line with its
 * trace's path, or an empty line if the trace could not be created, after a message. At its end the
 * process appends another line: the CPU time of recording in ns, a space, and the path. A process
 * that cannot use a device appends "!", the first failing result, a space and the function.
 */
#ifndef MT_MANIFEST_H
#define MT_MANIFEST_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

struct mt_manifest {
    char path[PATH_MAX];
};

/* Return the folder for manifests: TMPDIR, or /tmp. */
const char *mt_manifest_folder(void);

/* Create a temporary folder of a kind ("fit") there, and write its absolute path. Return 0, or
 * MT_EXIT_BAD after a message. */
int mt_temporary_folder(const char *kind, char out[PATH_MAX]);

/* Remove a folder with everything in it; links are not followed. What cannot be removed stays. */
void mt_folder_remove(const char *folder);

/* Create an empty manifest. Return 0 or a negative errno. */
int mt_manifest_create(struct mt_manifest *manifest);

/* Call report for each trace, with the cost of recording it (0: unknown). Return the number of
 * traces, including those that could not be created. */
unsigned mt_manifest_each(const struct mt_manifest *manifest,
                          void (*report)(void *data, const char *trace, uint64_t cpu_ns),
                          void *data);

/* Find the first process that could not use a device. Return 1, its result and the function that
 * returned it; 0: none. */
int mt_manifest_failure(const struct mt_manifest *manifest, unsigned *result, char function[64]);

/* Find what put a process out of sight: "dlmopen", and what it loaded, or "chroot". */
bool mt_manifest_out_of_sight(const struct mt_manifest *manifest, char call[16], char what[256]);

void mt_manifest_destroy(struct mt_manifest *manifest);

#endif
