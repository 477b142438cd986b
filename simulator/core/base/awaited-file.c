/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A rank simulated alone may wait forever for a file that another rank writes: it then queries this
 * one file, and nothing else, repeatedly.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base.h"
#include "say.h"

enum { NAME_SIZE = 256, ASKED_OFTEN = 3 };

static _Thread_local struct {
    char path[NAME_SIZE];
    int64_t since;
    unsigned times;
} awaited;

uint64_t sim_patience(void)
{
    return sim_environment("CUDASIM_PATIENCE", 30);
}

int64_t sim_seconds(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec;
}

void sim_print_wait(int64_t seconds, const char *what, const char *why)
{
    sim_print("rank %llu of %llu is simulated alone, and has waited %lld s for %s, %s",
              (unsigned long long)sim_environment("RANK", 0),
              (unsigned long long)sim_environment("WORLD_SIZE", 1), (long long)seconds, what, why);
}

static void say(int64_t seconds)
{
    static _Atomic bool is_reported;
    if (!atomic_exchange(&is_reported, true))
        sim_print_wait(seconds, awaited.path,
                       "which another rank may write; still waiting; run that rank first, in "
                       "the same folder, or create the file");
}

void sim_note_probed_file(const char *path, bool is_there)
{
    int saved = errno;
    if (!path || is_there || !sim_environment("CUDASIM_ALONE", 0)) {
        awaited.times = 0;
        return;
    }
    if (!awaited.times || strncmp(awaited.path, path, NAME_SIZE - 1)) {
        snprintf(awaited.path, NAME_SIZE, "%s", path);
        awaited.since = sim_seconds();
        awaited.times = 0;
    }
    if (++awaited.times >= ASKED_OFTEN && sim_seconds() - awaited.since >= (int64_t)sim_patience())
        say(sim_seconds() - awaited.since);
    errno = saved;
}
