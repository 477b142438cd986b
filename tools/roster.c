/* SPDX-License-Identifier: Apache-2.0 */
#include "roster.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *mt_roster_folder(void)
{
    const char *folder = getenv("TMPDIR");
    return folder && *folder ? folder : "/tmp";
}

int mt_roster_create(struct mt_roster *roster)
{
    int n = snprintf(roster->path, sizeof roster->path, "%s/memtap-XXXXXX", mt_roster_folder());
    if (n < 0 || (size_t)n >= sizeof roster->path)
        return -ENAMETOOLONG;
    int fd = mkstemp(roster->path);
    if (fd < 0)
        return -errno;
    close(fd);
    return 0;
}

/* The next line; *trace is its path, *cpu_ns what it says before that. */
static int next(FILE *file, char **line, size_t *size, const char **trace, uint64_t *cpu_ns)
{
    char *path;
    if (getline(line, size, file) <= 0)
        return 0;
    (*line)[strcspn(*line, "\n")] = '\0';
    *cpu_ns = strtoull(*line, &path, 10);
    *trace = path + (*path == ' ');
    return 1;
}

static uint64_t cost_of(const struct mt_roster *roster, const char *wanted)
{
    FILE *file = fopen(roster->path, "re");
    char *line = NULL;
    const char *trace;
    size_t size = 0;
    uint64_t cpu_ns = 0, found = 0;
    while (file && next(file, &line, &size, &trace, &cpu_ns))
        if (cpu_ns && !strcmp(trace, wanted))
            found = cpu_ns;
    free(line);
    if (file)
        fclose(file);
    return found;
}

unsigned mt_roster_each(const struct mt_roster *roster,
                        void (*tell)(const char *trace, uint64_t cpu_ns))
{
    FILE *file = fopen(roster->path, "re");
    char *line = NULL;
    const char *trace;
    size_t size = 0;
    uint64_t cpu_ns;
    unsigned n = 0;
    while (file && next(file, &line, &size, &trace, &cpu_ns)) {
        if (cpu_ns)
            continue;
        if (*trace)
            tell(trace, cost_of(roster, trace));
        n++;
    }
    free(line);
    if (file)
        fclose(file);
    return n;
}

void mt_roster_destroy(struct mt_roster *roster)
{
    unlink(roster->path);
}
