/* SPDX-License-Identifier: Apache-2.0 */
/* --allow-ended HOW: the ends of a run that the user accepts. */
#ifndef MT_ALLOW_ENDED_H
#define MT_ALLOW_ENDED_H

#include "nightly/check/allowed.h"
#include "tools/terminal/command.h"

#define MT_ALLOWED_CHOICES "any oom exit killed running executed stopped open cut"

/* clang-format off */
#define MT_ALLOW_ENDED_OPTION(letter)                                                              \
    {letter, "allow-ended", "HOW",                                                                 \
     "accept a run that ended like this: any, oom, exit, killed,\n"                         \
     "running, executed, stopped, open or cut; may be repeated", MT_ALLOWED_CHOICES}
/* clang-format on */

/* Add the ends that a value names, separated by commas. Return 0, or -1 after a message. */
int mt_read_allowed(const struct mt_command *command, const char *value, mt_allowed_ends *allowed);

#endif
