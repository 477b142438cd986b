/* SPDX-License-Identifier: Apache-2.0 */
/* The options of commands that record: rows of struct mt_option. */
#ifndef MT_SETTING_OPTIONS_H
#define MT_SETTING_OPTIONS_H

#include "settings/table.h"
#include "tools/terminal/command.h"

/* The settings' options. One without a short form has a number below all letters. */
#define MT_SETTING_OPTION(id, name, letter, variable, otherwise, kind, choices, value, meaning)    \
    {(letter) ? (letter) : 2 + MT_ID_##id, name, value, meaning, (value) ? (choices) : NULL},

/* clang-format off */
#define MT_VALUES_OPTION 30 /* no setting's number, and below all letters */
#define MT_SIMULATION_OPTIONS                                                                      \
    {'s', "simulate", "NAME", "run on this simulated card; list prints all of them", "list " MT_CARDS}, \
    {'m', "memory", "SIZE", "the simulated card's memory, such as 24G or 512MiB"},                 \
    {'n', "gpus", "N", "simulate N cards; 1 by default"},                                          \
    {MT_VALUES_OPTION, "values", "SIZE", "compute tensors up to this size (64K); 0: none"}
/* clang-format on */

#endif
