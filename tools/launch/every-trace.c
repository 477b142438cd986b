/* SPDX-License-Identifier: Apache-2.0 */
#include "every-trace.h"
#include "analyzer/support/grow.h"
#include "tools/terminal/command.h"

#include <glob.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MOST_NAMED 3 /* more are named by a pattern, if one matches them alone */

const char *mt_short_path(const char *path)
{
    char folder[PATH_MAX];
    if (!getcwd(folder, sizeof folder))
        return path;
    size_t n = strlen(folder);
    return !strncmp(path, folder, n) && path[n] == '/' ? path + n + 1 : path;
}

void mt_every_trace_add(struct mt_every_trace *every, const char *name)
{
    char *copy = strdup(name);
    if (copy && !mt_grow(&every->name, &every->capacity, every->n + 1, sizeof *every->name))
        every->name[every->n++] = copy;
    else
        free(copy);
}

static bool is_plain(const char *name)
{
    return !strpbrk(name, " \t\n'\"$&;()*?[]{}<>|\\`!#~");
}

/* Return how many letters all names share at their begin, or at their end. */
static size_t in_common(const struct mt_every_trace *every, int at_end, size_t most)
{
    const char *first = every->name[0];
    size_t n = strlen(first), common = n < most ? n : most;
    for (size_t i = 1; i < every->n; i++) {
        const char *other = every->name[i];
        size_t n_other = strlen(other), same = 0;
        while (same < common && same < n_other &&
               (at_end ? first[n - same - 1] == other[n_other - same - 1]
                       : first[same] == other[same]))
            same++;
        common = same;
    }
    return common;
}

/* Write a shell pattern that matches these traces and no others. Return 0, or -1 if there is
 * none. */
static int find_pattern(const struct mt_every_trace *every, char out[PATH_MAX])
{
    const char *first = every->name[0];
    size_t n = strlen(first), shortest = n;
    for (size_t i = 1; i < every->n; i++)
        shortest = strlen(every->name[i]) < shortest ? strlen(every->name[i]) : shortest;
    size_t begin = in_common(every, 0, shortest), end = in_common(every, 1, shortest - begin);
    glob_t found = {0};
    snprintf(out, PATH_MAX, "%.*s*%s", (int)begin, first, first + n - end);
    int rc = glob(out, GLOB_NOSORT, NULL, &found) || found.gl_pathc != every->n ? -1 : 0;
    globfree(&found);
    return rc;
}

static void print_result(const struct mt_every_trace *every)
{
    char line[4000] = "";
    size_t used = 0;
    for (size_t i = 0; i < every->n; i++) {
        const char *name = every->name[i], *quote = is_plain(name) ? "" : "'";
        if (used + strlen(name) + 4 >= sizeof line)
            return; /* no line for the user to copy */
        used += (size_t)snprintf(line + used, sizeof line - used, " %s%s%s", quote, name, quote);
    }
    mt_say("all together: memtap report%s", line);
}

void mt_every_trace_print(struct mt_every_trace *every)
{
    char pattern[PATH_MAX];
    int plain = 1;
    for (size_t i = 0; i < every->n; i++)
        plain &= is_plain(every->name[i]);
    if (every->n > MOST_NAMED && plain && !find_pattern(every, pattern))
        mt_say("all together: memtap report %s", pattern);
    else if (every->n > 1)
        print_result(every);
    for (size_t i = 0; i < every->n; i++)
        free(every->name[i]);
    free(every->name);
    *every = (struct mt_every_trace){0};
}
