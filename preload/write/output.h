/* SPDX-License-Identifier: Apache-2.0 */
/* The trace file: its name, its making, and careful appending. Used by the writer only. */
#ifndef MT_PRELOAD_OUTPUT_H
#define MT_PRELOAD_OUTPUT_H

#include "preload/host/own-file.h"
#include "trace-format/author/author.h"

#include <limits.h>
#include <stddef.h>
#include <stdint.h>

struct mt_output {
    struct mt_own_file file;
    struct mt_author author; /* us */
    uint64_t size; /* bytes appended */
    char path[PATH_MAX];
    unsigned next; /* number of the name of a segment that is begun */
    size_t shown;  /* where in the path what was asked for begins */
};

/* Sets out->path from the pattern, replacing %p %e %h %r %%; in a job of several processes a name
 * without %r gets -rankN before .mtap. 0, or -ENAMETOOLONG. The path is absolute, since the program
 * may go elsewhere. Reads the environment. */
int mt_output_name(struct mt_output *out, const char *pattern);

/* The path for messages: as the pattern has it. */
static inline const char *mt_output_shown(const struct mt_output *out)
{
    return out->path + out->shown;
}

/* Makes a new file at out->path; where that name, or that of its tail, is taken, with .1, .2 ...
 * before .mtap, and a line on stderr. 0, or a negative errno with out->path the name that was tried
 * last. -EISDIR: that is a directory, a device or a pipe. */
int mt_output_open(struct mt_output *out);

/* Makes the file of the trace's next segment, under a name of its own: 0, or a negative errno. What
 * a killed process has left of that name is removed; where there is something else, the name gets a
 * number. */
int mt_output_open_next(const struct mt_output *out, struct mt_output *next);

/* The next segment takes the trace's name and place; what had them becomes the older segment, whose
 * predecessor goes. 0, or a negative errno and all is as it was. */
int mt_output_replace(struct mt_output *out, struct mt_output *next);

/* Gives up a segment that was begun. */
void mt_output_discard(struct mt_output *next);

/* Appends all bytes: 0, or a negative errno with the file cut back to what it was before. -ESTALE:
 * the program has closed our descriptor or uses its number for something else. */
int mt_output_append(struct mt_output *out, const void *bytes, size_t size);

void mt_output_close(struct mt_output *out);

#endif
