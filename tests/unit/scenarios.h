/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Traces of small made-up programs, for tests of the analyzer and of the command.
 */
#ifndef MT_SCENARIOS_H
#define MT_SCENARIOS_H

#include "trace-builder.h"

#define MT_KIB 1024ull
#define MT_MIB (1024 * MT_KIB)

/* A model of one layer, trained for `steps` iterations with Adam. At its peak, in the last
 * backward, there are live: */
enum {
    MT_TRAINING_PARAMETERS = 1 << 20,
    MT_TRAINING_BUFFERS = 4 << 10,
    MT_TRAINING_GRADIENTS = 1 << 20,
    MT_TRAINING_OPTIMIZER = 2 << 20, /* from the second iteration on */
    MT_TRAINING_ACTIVATIONS = (256 << 10) + (32 << 10) + 512,
    MT_TRAINING_INPUTS = 64 << 10,
    MT_TRAINING_TEMPORARIES = 2 << 20,
};
void mt_scenario_training(struct mt_builder *builder, unsigned steps);

/* The same after a change: each iteration's inputs are kept, and the lines have moved. */
void mt_scenario_keeping(struct mt_builder *builder, unsigned steps);

/* A model of a matrix and a bias in bf16, their fp32 master weights and Adam: 16 bytes for each of
 * the parameters at the end of the second backward, and what blocks are rounded by.
 * _steps: without the trace's end. */
enum { MT_MIXED_MATRIX = 3 << 20, MT_MIXED_BIAS = 1600 };
void mt_scenario_mixed(struct mt_builder *builder);
void mt_scenario_mixed_steps(struct mt_builder *builder);

/* A model of four layers, each a norm and a matrix, and a loss, in a step: its modules have names.
 * Layer 2's output is larger; the last layer's weight has a gradient. */
void mt_scenario_layers(struct mt_builder *builder);

/* A C program: three cudaMallocs, of which one fails, and a free by another thread, twice. */
void mt_scenario_c_program(struct mt_builder *builder);

/* A C program that names its phases and memory, twice around, and marks two moments. */
void mt_scenario_phases(struct mt_builder *builder);

/* A C program whose copies show memory that it does not use, with frees that are none. */
void mt_scenario_copies(struct mt_builder *builder);

/* A C program and one with Python, with native stacks, of which one frame has a name. */
void mt_scenario_native(struct mt_builder *builder);

/* A program that runs out of memory, on two devices, with a trace that lost events. */
void mt_scenario_oom(struct mt_builder *builder);
void mt_scenario_oom_in_backward(struct mt_builder *builder);

/* Within a library that the program called nine calls before. */
void mt_scenario_oom_in_library(struct mt_builder *builder);

/* Memory runs out twice: once it is caught; the second time three segments of 20 MiB are kept by a
 * block of 2 MiB each. */
void mt_scenario_fragmented(struct mt_builder *builder);

/* PyTorch, a library, another process, and a device that was sampled; memory runs out. */
void mt_scenario_balance(struct mt_builder *builder);

/* A program that runs every night: 8 MiB of parameters, and bytes of activations. */
void mt_scenario_night(struct mt_builder *builder, unsigned night, uint64_t activations);

/* A training that keeps its losses, with lists of holders as it grew and at its end; and one that
 * runs out of memory, with a list that is read later (scenario-holders.c). */
void mt_scenario_held(struct mt_builder *builder);
void mt_scenario_held_oom(struct mt_builder *builder);

/* One rank of a job of two. */
void mt_scenario_rank(struct mt_builder *builder, unsigned rank);

/* Nothing but the process. */
void mt_scenario_idle(struct mt_builder *builder);

#endif
