/* SPDX-License-Identifier: Apache-2.0 */
/* The options of commands that start a program: rows of struct mt_option. */
#ifndef MT_SETTING_OPTIONS_H
#define MT_SETTING_OPTIONS_H

#include "simulation.h"
#include "tools/memtap/terminal/values.h"
#include "trace-format/settings/table.h"

/* A setting's option, stored in an array of texts at the start of the arguments. */
#define MT_SETTING_OPTION(id, name, letter, variable, otherwise, kind, choices, value, meaning)    \
    {letter,                                                                                       \
     name,                                                                                         \
     value,                                                                                        \
     meaning,                                                                                      \
     (value) ? (choices) : NULL,                                                                   \
     (value) ? mt_note_text : mt_note_last_choice,                                                 \
     MT_ID_##id * sizeof(char *)},

/* Store an option without a value as the last choice of its setting, whose place it has. */
int mt_note_last_choice(const struct mt_typed *typed);

/* Store -m: the card's memory or, as for Python, the module to run, which is then the last option.
 * Its place is the simulation. */
int mt_note_memory(const struct mt_typed *typed);

/* clang-format off */
/* Rows for a struct mt_simulation within the arguments. */
#define MT_SIMULATION_TEXT(place, member) mt_note_text, (place) + offsetof(struct mt_simulation, member)
#define MT_MEMORY_OPTION(place, help) {'m', "memory", "SIZE", help, NULL, mt_note_memory, place}
#define MT_GPUS_OPTION(place)                                                                      \
    {'n', "gpus", "N", "simulate N cards (1)", NULL, MT_SIMULATION_TEXT(place, gpus)}
#define MT_MADE_UP_OPTIONS(place)                                                                  \
    {0, "values", "SIZE", "simulate values of tensors up to this size (64K); 0: none", NULL,                  \
     MT_SIMULATION_TEXT(place, values)},                                                           \
    {0, "skew", "HOW", "expert load: even, zipf:S, or a file with loads", NULL,             \
     MT_SIMULATION_TEXT(place, skew)},                                                             \
    {0, "seed", "N", "seed for made-up values where they are not simulated", NULL,                         \
     MT_SIMULATION_TEXT(place, seed)},                                                             \
    {0, "boxes", "N", "find N boxes where scores are not simulated (0)", NULL,                    \
     MT_SIMULATION_TEXT(place, boxes)},                                                            \
    {0, "cudnn", "DIR", "query cuDNN in DIR for convolution workspaces; off: none", NULL,          \
     MT_SIMULATION_TEXT(place, cudnn)}
#define MT_SIMULATED_OPTIONS(place)                                                                \
    MT_MADE_UP_OPTIONS(place),                                                                     \
    {0, "world-size", "N", "run one rank of N without the others", NULL,            \
     MT_SIMULATION_TEXT(place, world_size)},                                                       \
    {0, "rank", "R[,R...]", "the rank to run (0); several run in turn; all-different", NULL,             \
     MT_SIMULATION_TEXT(place, rank)}
#define MT_SIMULATION_OPTIONS(place)                                                               \
    {'s', "simulate", "NAME", "run on this simulated card; list prints all of them",               \
     "list " MT_CARDS, MT_SIMULATION_TEXT(place, gpu)},                                            \
    MT_MEMORY_OPTION(place, "the simulated card's memory, such as 24G or 512MiB"),                 \
    MT_GPUS_OPTION(place), MT_SIMULATED_OPTIONS(place)
/* clang-format on */

#endif
