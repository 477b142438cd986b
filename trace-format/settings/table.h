/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every setting of a recording: the variable that the library reads, and the option of memtap run
 * that sets it.
 */
#ifndef MT_SETTINGS_TABLE_H
#define MT_SETTINGS_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The kind of a setting's values. */
enum mt_setting_kind {
    MT_SETTING_PATH,
    MT_SETTING_PATTERN, /* a path with %p and so on */
    MT_SETTING_CHOICE,  /* one of its choices */
    MT_SETTING_LEVEL,
    MT_SETTING_SIZE,
    MT_SETTING_MODE,  /* file permissions in octal, or umask */
    MT_SETTING_TIME,  /* 90s, 10m, 1.5h, or none */
    MT_SETTING_COUNT, /* a positive number, or none */
    MT_SETTING_LIST,  /* some of its choices, with commas between, or none */
    MT_SETTING_BOUND, /* an age (14d), a size (20G), both with a comma (14d,20G), or all */
};

/* S(id, option, its letter (0: none), variable, default, kind, choices, the option's value (NULL:
 * none, it sets the variable to the last choice), help). */
/* clang-format off */
#define MT_OUTPUT_SETTING(S)                                                                       \
    S(output, "output", 'o', "MEMTAP_OUTPUT", "memtap-%e-%p.mtap", PATTERN, NULL, "FILE",                    \
      "write the trace there (memtap-%e-%p.mtap); %p: process id,\n"                                 \
      "%e: program, %h: host, %r: rank, %%: a percent sign")
#define MT_MORE_SETTINGS(S)                                                                        \
    S(stacks, "stacks", 0, "MEMTAP_STACKS", "auto", CHOICE, "auto python native both none", "WHICH",            \
      "stacks to record: auto (the default: python; native in\n"                                      \
      "processes without Python), python, native, both or none")                          \
    S(keep, "keep", 'k', "MEMTAP_KEEP", "all", SIZE, NULL, "SIZE",                                         \
      "keep the newest events only, at least SIZE (512M), and\n"                       \
      "what was live before them; the default is all")                                             \
    S(light, "light", 0, "MEMTAP_LIGHT", "0", CHOICE, "0 1", NULL,                                        \
      "for long runs: count short-lived blocks, and record the\n"                                    \
      "long-lived ones and the peaks in at most 256M (--keep)")                                       \
    S(keep_runs, "keep-runs", 0, "MEMTAP_KEEP_RUNS", "all", BOUND, NULL, "BOUND",                \
      "remove traces of ended runs with this output name that\n"                                \
      "are older than 14d, or exceed 20G in total (14d,20G: both)")                                  \
    S(holders, "holders", 0, "MEMTAP_HOLDERS", "oom,growth", LIST, "oom growth end", "WHEN",          \
      "find what keeps each block alive: oom, when memory runs\n"                                   \
      "out; growth, when each turn of a loop requests more; end,\n"                                \
      "when the script has ended; several (oom,growth: the\n"                                       \
      "default), or none")                                                                           \
    S(uses, "uses", 0, "MEMTAP_USES", "0", CHOICE, "0 1", NULL,                                    \
      "record when each block is first and last used by kernels,\n"                                \
      "copies and fills")                                                                          \
    S(cupti, "cupti", 0, "MEMTAP_CUPTI", "auto", CHOICE, "auto on off", "WHEN",                             \
      "record CUDA calls by CUPTI: auto (the default: where\n"                           \
      "hooks cannot see them), on or off")                                                      \
    S(start, "dormant", 0, "MEMTAP_START", "on", CHOICE, "on off", NULL,                               \
      "do not record until memtap start PID or memtap.start()")                                    \
    S(level, "level", 0, "MEMTAP_LEVEL", "1", LEVEL, NULL, "N",                                             \
      "compress the trace at this zstd level, 1 (default) to 19")                               \
    S(mode, "mode", 0, "MEMTAP_MODE", "umask", MODE, NULL, "MODE",                                         \
      "permissions of traces, as for chmod (640); the default is\n"                               \
      "666 minus the umask")                                                              \
    S(limit_time, "limit-time", 0, "MEMTAP_LIMIT_TIME", "none", TIME, NULL, "TIME",                \
      "end the program this long (90s, 10m) after its first\n"                              \
      "event, and report where it was")                                                                      \
    S(limit_events, "limit-events", 0, "MEMTAP_LIMIT_EVENTS", "none", COUNT, NULL, "N",            \
      "end the program after N events, and report where it was")                                      \
    S(thread, "thread", 0, "MEMTAP_THREAD", "1", CHOICE, "1 0", "0|1",                              \
      "0: do not start a thread in the program; its own calls\n"                                \
      "write the trace")                                                                           \
    S(quiet, "quiet", 'q', "MEMTAP_QUIET", "0", CHOICE, "0 1", NULL,                                        \
      "do not print a summary line at the end")                                                                        \
    S(verbose, "verbose", 'v', "MEMTAP_VERBOSE", "0", CHOICE, "0 1", NULL,                                    \
      "at the end, print what could and could not be recorded")

/* Options of the commands that record. */
#define MT_OPTION_SETTINGS(S)                                                                      \
    MT_OUTPUT_SETTING(S)                                                                           \
    MT_MORE_SETTINGS(S)

/* Settings, with one that only memtap run sets. */
#define MT_SETTINGS(S)                                                                             \
    MT_OPTION_SETTINGS(S)                                                                          \
    S(manifest, "manifest", 0, "MEMTAP_ROSTER", "", PATH, NULL, "FILE",                                          \
      "append each trace's path to this file")
/* clang-format on */

enum mt_setting_id {
#define MT_SETTING_ENUM(name, ...) MT_ID_##name,
    MT_SETTINGS(MT_SETTING_ENUM)
#undef MT_SETTING_ENUM
        MT_SETTINGS_COUNT
};

struct mt_setting {
    const char *name, *variable, *otherwise; /* otherwise is the default */
    enum mt_setting_kind kind;
    const char *choices; /* separated by spaces */
};

extern const struct mt_setting mt_setting_table[MT_SETTINGS_COUNT];

#define MT_SETTING_WRONG 640

/* Write what is wrong with a value of the option or variable `name`: "unknown value of
 * MEMTAP_STACKS 'pyton'; did you mean 'python'?", "--level '99' is not ...". Return whether it is
 * wrong. */
bool mt_setting_wrong(char out[MT_SETTING_WRONG], const struct mt_setting *setting,
                      const char *name, const char *value);

/* Append the default name to a pattern that is a folder: it ends with a slash, or stat says so.
 * Return 0, or -ENAMETOOLONG if it does not fit. Safe in signal handlers; keeps errno. */
int mt_setting_complete(char *pattern, size_t size);

/* Return the permissions of an MT_SETTING_MODE; 0 if the umask decides or the value is invalid. */
int mt_setting_mode(const char *value);

/* Return the bytes of a valid MT_SETTING_SIZE; 0 for all. */
uint64_t mt_setting_size(const char *value);

/* Return the nanoseconds of an MT_SETTING_TIME; 0 for none or an invalid value. */
uint64_t mt_setting_time(const char *value);

/* Parse an MT_SETTING_BOUND into the most nanoseconds and bytes, UINT64_MAX if unlimited. Return 0
 * or -EINVAL. */
int mt_setting_bound(const char *value, uint64_t *ns, uint64_t *bytes);

/* Read an MT_SETTING_LIST of these choices: a bit for each, the first the lowest. Return 0 or
 * -EINVAL.
 */
int mt_setting_list(const char *choices, const char *value, unsigned *bits);

/* Return an MT_SETTING_COUNT; 0 for none or an invalid value. */
uint64_t mt_setting_count(const char *value);

#endif
