/* SPDX-License-Identifier: Apache-2.0 */
/* The settings from the environment, copied once when recording starts. */
#ifndef MT_PRELOAD_SETTINGS_H
#define MT_PRELOAD_SETTINGS_H

#include "trace-format/settings/table.h"

#include <limits.h>
#include <stdbool.h>

/* The size limits of values by kind, in bytes. Each process has these buffers. */
enum {
    MT_SIZE_OF_PATH = PATH_MAX,
    MT_SIZE_OF_PATTERN = PATH_MAX,
    MT_SIZE_OF_CHOICE = 48, /* so that the states after them need no other page */
    MT_SIZE_OF_LEVEL = 16,
    MT_SIZE_OF_SIZE = 64,
    MT_SIZE_OF_MODE = 16,
    MT_SIZE_OF_TIME = 64,
    MT_SIZE_OF_COUNT = 64,
    MT_SIZE_OF_BOUND = 64,
    MT_SIZE_OF_LIST = 64,
};

struct mt_settings {
#define MT_SETTING_MEMBER(name, option, letter, variable, otherwise, kind, ...)                    \
    char name[MT_SIZE_OF_##kind];
    MT_SETTINGS(MT_SETTING_MEMBER)
#undef MT_SETTING_MEMBER
    int python_stacks, native_stacks; /* "both" sets both, "auto" the first */
    int zstd_level;
    unsigned holders_at;           /* a bit for each enum mt_holders_moment */
    int file_mode;                 /* permissions of traces; 0: by the umask */
    uint64_t keep_bytes;           /* 0: all */
    uint64_t most_ns, most_events; /* limits of the run; 0: none */
    uint64_t old_ns, old_bytes;    /* limits of ended runs' traces; UINT64_MAX: none */
    bool is_quiet, is_verbose, has_thread, is_light, has_uses, has_auto_stacks, is_dormant;
};

extern struct mt_settings mt_settings;

/* Read the settings. Report an invalid or too long value once on stderr, and use the default. */
void mt_settings_read(void);

#endif
