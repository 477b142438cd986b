/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operands that are traces or folders of traces: a job's ranks, or a night's runs.
 */
#ifndef MT_TRACES_H
#define MT_TRACES_H

#include <stdbool.h>
#include <stddef.h>

struct mt_trace_list {
    char **path;
    size_t n, capacity;
    char **imported; /* by path: what it was imported from, or NULL; NULL: none was */
};

/* Add operands; for a folder every *.mtap in it, by name. Return 0, or -1 after a message. */
int mt_trace_list_add(struct mt_trace_list *list, char *const *operands, int n);
/* What a command asks about, where not every trace has it: "whose program ran out of memory". */
struct mt_trace_wish {
    bool (*is_so)(const char *path);
    const char *what;
};

/* Add the newest *.mtap of a folder ("." for the current one), and name it on stderr: the newest
 * that is as wished (NULL: any), if there is one. Return 0, or -1 after a message. */
int mt_trace_list_add_newest(struct mt_trace_list *list, const char *folder,
                             const struct mt_trace_wish *wish);
/* Add operands, or without any the newest of the current folder. */
int mt_trace_list_add_operands(struct mt_trace_list *list, char *const *operands, int n);

bool mt_is_folder(const char *path);
bool mt_folder_has_traces(const char *path);

/* Replace what memtap import reads (a snapshot, a profile) by traces in files without a name, after
 * a message each. Return 0, or -1 after a message. */
int mt_trace_list_import(struct mt_trace_list *list);
void mt_trace_list_clear(struct mt_trace_list *list);

/* Operands of commands that follow a run: a process, a folder, a trace, or nothing. */

/* Add the operands' traces. A number that is no file is a process: add all its traces. A folder, or
 * the current one without an operand: add the traces that are still being written. Anything else is
 * a trace. Return an exit code: MT_EXIT_BAD after a message. */
int mt_find_live_traces(struct mt_trace_list *list, char **operands, int n);

#endif
