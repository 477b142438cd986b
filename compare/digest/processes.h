/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Match the processes of different runs by rank, role (the program and, if it set one, its name in
 * ps), parent, command, order and memory; and list the parts that one side has and the other lacks.
 */
#ifndef MT_PROCESSES_H
#define MT_PROCESSES_H

#include <stdbool.h>

#include "digest.h"

/* One process of a program, over all of its runs. */
struct mt_process {
    const struct mt_digest *now,
        *old;                       /* of the newest run of each side; NULL: that side has none */
    const struct mt_digest *parent; /* of the first of these; NULL: not among the run's */
    bool is_renamed;                /* paired although its program has another name */
};

struct mt_processes {
    struct mt_process *process;
    size_t n, capacity;
    size_t *now, *old; /* by digest: its process */
    const struct mt_digest *new_digest, *old_digest;
    size_t n_new, n_old;
};

/* Match the processes of new and old runs. On each side, digests with equal group numbers belong to
 * one run, and those with different numbers to different runs; 0: unknown, inferred from parents
 * and times. Return 0 or -ENOMEM. Call mt_processes_clear in any case. The digests must outlive it.
 */
int mt_processes_match(struct mt_processes *processes, const struct mt_digest *now, size_t n_new,
                       const struct mt_digest *old, size_t n_old);
void mt_processes_clear(struct mt_processes *processes);

/* Write a process's program on one side, with its number among those of one name ("worker.py#2").
 */
#define MT_PART_NAME 200
void mt_process_name(char out[MT_PART_NAME], const struct mt_processes *processes,
                     const struct mt_process *of, bool is_old);

/* Make one group of each folder's digests. */
void mt_group_by_folder(struct mt_digest *digests, size_t n);

/* Return whether the two processes' digests have one device each, which are compared even if their
 * numbers differ. */
bool mt_has_only_device(const struct mt_digest *a, const struct mt_digest *b);

/* What one side has and the other lacks. */

enum mt_part_kind { MT_PART_PROCESS, MT_PART_RANK, MT_PART_DEVICE, MT_PART_PHASE, MT_PART_KINDS };
extern const char *const mt_part_kind_names[MT_PART_KINDS]; /* "process", "rank" ... */

struct mt_run_part {
    enum mt_part_kind kind;
    char name[MT_PART_NAME]; /* "3", "worker.py", "worker.py#2", "0", "evaluation" */
    bool is_missing;         /* the old runs have it and the new ones do not; else vice versa */
    const struct mt_digest *has, *lacks;   /* lacks: NULL for a process or a rank */
    const struct mt_digest_device *device; /* a process's main one, or that with the phase */
};

struct mt_part_list {
    struct mt_run_part *part; /* processes first; missing ones before new ones */
    size_t n, capacity;
};

/* List them. The expected parts are those of the newest old run if the old digests have groups,
 * else of all old digests. Return 0 or -ENOMEM. Free `part` in any case. */
int mt_parts_find(struct mt_part_list *parts, const struct mt_processes *processes);

/* Write "rank 3", "device 0 of rank 3", "evaluation of worker.py". Return out. */
const char *mt_part_text(char out[2 * MT_PART_NAME], const struct mt_run_part *part);

/* Return whether one of n patterns ("rank:3", "phase:*") allows that it is missing. */
bool mt_part_is_allowed(const struct mt_run_part *part, const char *const *allowed, size_t n);

/* Return whether a text is such a pattern: a kind, a colon, a name or pattern. "test:" is pytest's.
 */
bool mt_part_is_pattern(const char *text);

#endif
