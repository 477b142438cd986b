/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which process of one run is which of another: by rank, role (the program and, where it chose one,
 * its name in ps), parent, command, order and memory. And what one side has that the other lacks.
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
    bool is_renamed;                /* paired though its program has another name */
};

struct mt_processes {
    struct mt_process *process;
    size_t n, capacity;
    size_t *now, *old; /* by digest: its process */
    const struct mt_digest *new_digest, *old_digest;
    size_t n_new, n_old;
};

/* Match the processes of new and old runs. Digests of one side with the same number as their group
 * are of one run, and of two runs otherwise; 0: not known, and found by parents and times. Return 0
 * or -ENOMEM. Call mt_processes_clear in any case. The digests must outlive it. */
int mt_processes_match(struct mt_processes *processes, const struct mt_digest *now, size_t n_new,
                       const struct mt_digest *old, size_t n_old);
void mt_processes_clear(struct mt_processes *processes);

/* Write a process's program, with its number among those of one name ("worker.py#2"), as it is on
 * one side. */
#define MT_PART_NAME 200
void mt_process_name(char out[MT_PART_NAME], const struct mt_processes *processes,
                     const struct mt_process *of, bool is_old);

/* Make one group of each folder's digests. */
void mt_group_by_folder(struct mt_digest *digests, size_t n);

/* Return whether the two processes' digests have one device each. They are compared with each
 * other, even if they have other numbers. */
bool mt_has_only_device(const struct mt_digest *a, const struct mt_digest *b);

/* What one side has and the other lacks. */

enum mt_part_kind { MT_PART_PROCESS, MT_PART_RANK, MT_PART_DEVICE, MT_PART_PHASE, MT_PART_KINDS };
extern const char *const mt_part_kind_names[MT_PART_KINDS]; /* "process", "rank" ... */

struct mt_run_part {
    enum mt_part_kind kind;
    char name[MT_PART_NAME];               /* "3", "worker.py", "worker.py#2", "0", "evaluation" */
    bool is_missing;                       /* the old runs have it; else the new ones do */
    const struct mt_digest *has, *lacks;   /* lacks: NULL for a process or a rank */
    const struct mt_digest_device *device; /* a process's main one, or that with the phase */
};

struct mt_part_list {
    struct mt_run_part *part; /* processes first; missing ones before new ones */
    size_t n, capacity;
};

/* List them. If the old digests have groups, the newest of their runs says what there should be;
 * else all do. Return 0 or -ENOMEM. Free `part` in any case. */
int mt_parts_find(struct mt_part_list *parts, const struct mt_processes *processes);

/* Write "rank 3", "device 0 of rank 3", "evaluation of worker.py". Return out. */
const char *mt_part_text(char out[2 * MT_PART_NAME], const struct mt_run_part *part);

/* Return whether one of n texts accepts that it is missing: "rank:3", "phase:*". */
bool mt_part_is_allowed(const struct mt_run_part *part, const char *const *allowed, size_t n);

/* Return whether a text is such: a kind, a colon, a name or pattern. "test:" is pytest's. */
bool mt_part_is_pattern(const char *text);

#endif
