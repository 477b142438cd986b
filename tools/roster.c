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

unsigned mt_roster_each(const struct mt_roster *roster, void (*tell)(const char *trace))
{
    FILE *file = fopen(roster->path, "re");
    char *line = NULL;
    size_t size = 0;
    unsigned n = 0;
    while (file && getline(&line, &size, file) > 0) {
        line[strcspn(line, "\n")] = '\0';
        if (*line)
            tell(line);
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
