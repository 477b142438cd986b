/* SPDX-License-Identifier: Apache-2.0 */
/* What the environment says, read and copied once when recording starts. */
#ifndef MT_PRELOAD_SETTINGS_H
#define MT_PRELOAD_SETTINGS_H

#include <limits.h>
#include <stdint.h>

/* S(member, environment variable, default, meaning). */
#define MT_SETTINGS(S)                                                                             \
    S(output, "MEMTAP_OUTPUT", "memtap-%e-%p.mtap",                                                \
      "path of the trace; %p pid, %e program, %h host, %r rank")                                   \
    S(roster, "MEMTAP_ROSTER", "", "file to which the trace's path is appended (memtap run)")      \
    S(stacks, "MEMTAP_STACKS", "python", "stacks to record: python, native, both or none")         \
    S(level, "MEMTAP_LEVEL", "1", "zstd compression level, 1 to 19")                               \
    S(keep, "MEMTAP_KEEP", "all",                                                                  \
      "what of a long recording is kept: the newest events, at least of this size, such as 512M, " \
      "and what was live before them")                                                             \
    S(cupti, "MEMTAP_CUPTI", "auto",                                                               \
      "whether CUPTI tells of CUDA's calls: auto (where the hooks cannot see them), on or off")    \
    S(quiet, "MEMTAP_QUIET", "0", "1: no line at the end of the program")                          \
    S(verbose, "MEMTAP_VERBOSE", "0",                                                              \
      "1: at the end, what could be recorded and what not, a line each")

struct mt_settings {
#define MT_SETTING_MEMBER(member, variable, value, meaning) char member[PATH_MAX];
    MT_SETTINGS(MT_SETTING_MEMBER)
#undef MT_SETTING_MEMBER
    int python_stacks, native_stacks; /* of which "both" is both */
    int zstd_level;
    uint64_t keep_bytes; /* 0: all */
    int is_quiet, is_verbose;
};

extern struct mt_settings mt_settings;

/* A value that is not one of its setting's, or too long, is named on stderr, once, and the default
 * is taken. */
void mt_settings_read(void);

#endif
