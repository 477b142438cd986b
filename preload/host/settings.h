/* SPDX-License-Identifier: Apache-2.0 */
/* The settings in the environment, copied once when recording starts. */
#ifndef MT_PRELOAD_SETTINGS_H
#define MT_PRELOAD_SETTINGS_H

#include "settings/table.h"

#include <limits.h>
#include <stdbool.h>

struct mt_settings {
#define MT_SETTING_MEMBER(name, ...) char name[PATH_MAX];
    MT_SETTINGS(MT_SETTING_MEMBER)
#undef MT_SETTING_MEMBER
    int python_stacks, native_stacks; /* "both" sets both */
    int zstd_level;
    int file_mode;                 /* permissions of traces; 0: what the umask leaves */
    uint64_t keep_bytes;           /* 0: all */
    uint64_t most_ns, most_events; /* of the run; 0: any */
    uint64_t old_ns, old_bytes;    /* of ended runs' traces; UINT64_MAX: any */
    bool is_quiet, is_verbose, has_thread, is_light;
};

extern struct mt_settings mt_settings;

/* Read the settings. Report an invalid or too long value once on stderr, and use the default. */
void mt_settings_read(void);

#endif
