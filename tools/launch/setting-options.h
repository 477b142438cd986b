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
/* No setting's numbers, and below all letters. */
#define MT_VALUES_OPTION 30
#define MT_WORLD_OPTION  29
#define MT_RANK_OPTION   28
#define MT_SKEW_OPTION   27
#define MT_SEED_OPTION   26
#define MT_BOXES_OPTION  25
#define MT_MADE_UP_OPTIONS                                                                         \
    {MT_SKEW_OPTION, "skew", "HOW", "load experts: even, zipf:S, or a file with their loads"},      \
    {MT_SEED_OPTION, "seed", "N", "make up other values of what is not computed"},                  \
    {MT_BOXES_OPTION, "boxes", "N", "find N boxes by scores that are not computed (0)"}
#define MT_RANK_OPTIONS                                                                            \
    {MT_WORLD_OPTION, "world-size", "N", "the program is one rank of N; the others are absent"},   \
    {MT_RANK_OPTION, "rank", "R[,R...]", "this rank (0); several run in turn; all-different"}
#define MT_SIMULATION_OPTIONS                                                                      \
    {'s', "simulate", "NAME", "run on this simulated card; list prints all of them", "list " MT_CARDS}, \
    {'m', "memory", "SIZE", "the simulated card's memory, such as 24G or 512MiB"},                 \
    {'n', "gpus", "N", "simulate N cards; 1 by default"},                                          \
    {MT_VALUES_OPTION, "values", "SIZE", "compute tensors up to this size (64K); 0: none"}, \
    MT_MADE_UP_OPTIONS,                                                                            \
    MT_RANK_OPTIONS
/* clang-format on */

#endif
