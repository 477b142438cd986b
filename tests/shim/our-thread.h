/* SPDX-License-Identifier: Apache-2.0 */
/* What a thread of memtap's in this process is doing, for programs that wait for it: it sleeps when
 * it has done its work. */
#ifndef MT_TESTS_SHIM_OUR_THREAD_H
#define MT_TESTS_SHIM_OUR_THREAD_H

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define MOST_PAUSES 300000
#define PAUSE_US 1000

/* Of a thread's status file, if it has this name: how often it has gone to sleep; 0: it is awake,
 * or another one. */
static inline unsigned long sleeps_in(const char *status, const char *wanted)
{
    char line[256], name[32] = "", state = '?';
    unsigned long times = 0;
    FILE *file = fopen(status, "r");
    while (file && fgets(line, sizeof line, file)) {
        sscanf(line, "Name: %31s", name);
        sscanf(line, "State: %c", &state);
        sscanf(line, "voluntary_ctxt_switches: %lu", &times);
    }
    if (file)
        fclose(file);
    return state == 'S' && !strcmp(name, wanted) ? times : 0;
}

/* How often memtap's thread of this name has gone to sleep; 0: it is awake, or there is none. */
static inline unsigned long our_thread_sleeps(const char *name)
{
    char status[300];
    unsigned long times = 0;
    DIR *threads = opendir("/proc/self/task");
    for (struct dirent *entry; threads && !times && (entry = readdir(threads));) {
        snprintf(status, sizeof status, "/proc/self/task/%s/status", entry->d_name);
        times = sleeps_in(status, name);
    }
    if (threads)
        closedir(threads);
    return times;
}

/* Until it sleeps, and has gone to sleep so often; for 300 s at least, if it does not. */
static inline unsigned long wait_for_our_thread(const char *name, unsigned long sleeps)
{
    unsigned long times = our_thread_sleeps(name);
    for (int i = 0; i < MOST_PAUSES && (!times || times < sleeps); i++) {
        usleep(PAUSE_US);
        times = our_thread_sleeps(name);
    }
    return times;
}

#endif
