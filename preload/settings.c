/* SPDX-License-Identifier: Apache-2.0 */
#include "settings.h"
#include "message.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct mt_settings mt_settings;

/* The program may change its environment at any time: what was read is kept in out. */
static void read_variable(char out[PATH_MAX], const char *variable, const char *otherwise)
{
    const char *value = getenv(variable);
    if (value && strlen(value) >= PATH_MAX) {
        mt_message("%s has over %d characters; using %s", variable, PATH_MAX - 1, otherwise);
        value = NULL;
    }
    strcpy(out, value && *value ? value : otherwise);
}

#define MOST_CHOICES 4

/* The index of the value among `choices`, or that of the default, the first. */
static int choose(const char *variable, const char *value, const char *const choices[MOST_CHOICES])
{
    char list[64] = "";
    size_t used = 0;
    for (int i = 0; i < MOST_CHOICES && choices[i]; i++) {
        if (!strcmp(value, choices[i]))
            return i;
        used +=
            (size_t)snprintf(list + used, sizeof list - used, "%s%s", i ? ", " : "", choices[i]);
    }
    mt_message("%s=%s is none of %s; using %s", variable, value, list, choices[0]);
    return 0;
}

static void read_stacks(const char *value)
{
    enum { PYTHON, NATIVE, BOTH };
    int chosen = choose("MEMTAP_STACKS", value,
                        (const char *const[MOST_CHOICES]){"python", "native", "both", "none"});
    mt_settings.python_stacks = chosen == PYTHON || chosen == BOTH;
    mt_settings.native_stacks = chosen == NATIVE || chosen == BOTH;
}

static int read_level(const char *value)
{
    char *end;
    long level = strtol(value, &end, 10);
    if (*end == '\0' && level >= 1 && level <= 19)
        return (int)level;
    mt_message("MEMTAP_LEVEL=%s is no zstd level from 1 to 19; using 1", value);
    return 1;
}

/* "64M", "2G" ... : at least 1 MiB. */
static uint64_t read_keep(const char *value)
{
    static const char units[] = "KMGT";
    char *end;
    if (!strcmp(value, "all"))
        return 0;
    unsigned long long bytes = strtoull(value, &end, 10);
    const char *unit = *end ? strchr(units, *end) : NULL;
    unsigned shift = unit ? 10 * (unsigned)(unit - units + 1) : 0;
    if (bytes && value[0] != '-' && bytes <= UINT64_MAX >> shift && !end[unit != NULL] &&
        bytes << shift >= 1 << 20)
        return bytes << shift;
    mt_message("MEMTAP_KEEP=%s is no size of 1M or more, such as 512M or 2G; keeping all", value);
    return 0;
}

void mt_settings_read(void)
{
#define READ(member, variable, value, meaning) read_variable(mt_settings.member, variable, value);
    MT_SETTINGS(READ)
    read_stacks(mt_settings.stacks);
    mt_settings.is_quiet =
        choose("MEMTAP_QUIET", mt_settings.quiet, (const char *const[MOST_CHOICES]){"0", "1"}) == 1;
    mt_settings.is_verbose = choose("MEMTAP_VERBOSE", mt_settings.verbose,
                                    (const char *const[MOST_CHOICES]){"0", "1"}) == 1;
    choose("MEMTAP_CUPTI", mt_settings.cupti,
           (const char *const[MOST_CHOICES]){"auto", "on", "off"}); /* and see cupti.c */
    mt_settings.zstd_level = read_level(mt_settings.level);
    mt_settings.keep_bytes = read_keep(mt_settings.keep);
}
