/* SPDX-License-Identifier: Apache-2.0 */
#include "manifest.h"
#include "simulation.h"
#include "simulator/calls.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define VARIABLE "CUDASIM_SENT"

int mt_sent_begin(struct mt_sent *sent, const struct mt_simulation *simulation)
{
    sent->folder[0] = '\0';
    if (!simulation->rank || strspn(simulation->rank, "0123456789") == strlen(simulation->rank) ||
        getenv(VARIABLE))
        return 0;
    if (mt_temporary_folder("sent", sent->folder)) {
        sent->folder[0] = '\0';
        return MT_EXIT_BAD;
    }
    return setenv(VARIABLE, sent->folder, 1) ? mt_fail("out of memory") : 0;
}

void mt_sent_end(struct mt_sent *sent, const struct mt_simulation *simulation, bool has_all)
{
    char what[512];
    if (*sent->folder && has_all &&
        sim_calls_differ(sent->folder, simulation->rank, what, sizeof what))
        mt_say("%s", what);
    DIR *folder = *sent->folder ? opendir(sent->folder) : NULL;
    const struct dirent *file;
    while (folder && (file = readdir(folder)))
        if (file->d_name[0] != '.')
            unlinkat(dirfd(folder), file->d_name, 0);
    if (folder) {
        closedir(folder);
        rmdir(sent->folder);
        unsetenv(VARIABLE);
    }
}
