/* SPDX-License-Identifier: Apache-2.0 */
#include "host-room.h"
#include "analyzer/support/room.h"

#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define FIRST_RUN ((uint64_t)2 << 30) /* bytes that a run may take, while none has shown it */

static unsigned count_processors(void)
{
    cpu_set_t set;
    int n = sched_getaffinity(0, sizeof set, &set) ? 1 : CPU_COUNT(&set);
    return n > 0 ? (unsigned)n : 1;
}

/* What the kernel could give without swapping. */
static uint64_t available(void)
{
    char line[256];
    unsigned long long kib = 0;
    FILE *file = fopen("/proc/meminfo", "re");
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "MemAvailable: %llu", &kib) == 1)
            break;
    if (file)
        fclose(file);
    return (uint64_t)kib << 10;
}

static uint64_t expected(const struct mt_fit *fit)
{
    return fit->most_host ? fit->most_host + fit->most_host / 8 : FIRST_RUN;
}

/* A control group may allow less than the machine has. */
uint64_t mt_host_free(const struct mt_fit *fit)
{
    uint64_t taken = 0, to_come = 0, each = expected(fit);
    for (size_t i = 0; i < fit->n_attempts; i++) {
        uint64_t now = fit->attempt[i].keeper > 0 ? fit->attempt[i].outcome->host_now : 0;
        taken += now;
        to_come += fit->attempt[i].keeper > 0 && now < each ? each - now : 0;
    }
    uint64_t allowed = 2 * mt_room_of_machine(), have = available();
    allowed = allowed > taken ? allowed - taken : 0;
    have = allowed < have ? allowed : have;
    return have > to_come ? have - to_come : 0;
}

bool mt_host_has_room(const struct mt_fit *fit, size_t running)
{
    unsigned most = fit->jobs ? fit->jobs : count_processors();
    if (!running)
        return 1;
    return running < most && mt_host_free(fit) > expected(fit);
}
