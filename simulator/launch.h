/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For launchers, to start a program on the simulated device: prepare the environment
 * of the calling process, which then calls exec. (To prepare a child's, call it after fork.)
 */
#ifndef SIM_LAUNCH_H
#define SIM_LAUNCH_H

#include <stddef.h>
#include <stdint.h>

#include "catalogue.h"

struct sim_launch {
    const char *libdir;         /* folder of the stand-in libraries; made absolute here */
    const struct sim_gpu *gpu;  /* NULL: the default card, sim_launch_default_gpu() */
    uint64_t memory;            /* the device's total in bytes; 0: the card's own */
    unsigned gpus;              /* number of cards; 0: one, or with absent ranks a node's: at most
                                   SIM_NODE_GPUS */
    const uint64_t *copy_limit; /* the largest copy to a card that is really made, in bytes; NULL:
                                   CUDASIM_COPY_LIMIT as it is, or 1 MiB */
    const uint64_t *values;     /* the largest tensor that is computed, in bytes, 0: none; NULL:
                                   CUDASIM_VALUES as it is, or 64 KiB */
    const char *skew;           /* even, zipf:S or a file: skew.h; NULL: CUDASIM_SKEW as it is */
    uint64_t seed, boxes;       /* of values that are made up, and how many a selection by unknown
                                   ones finds; 0: CUDASIM_SEED and CUDASIM_BOXES as they are */
    const char *cudnn; /* a folder with cuDNN 9.8 or newer, or "off": cudnn-installed.h; NULL:
                          CUDASIM_CUDNN as it is */
    unsigned world_size, rank; /* the program is this rank of so many, and the others are absent;
                                  0: the program starts its ranks, if it has any */
};

/* Return the same as sim_gpu_default(). */
const struct sim_gpu *sim_launch_default_gpu(void);

/* Return the least memory in bytes that a simulated card may have: a context and one allocation. */
uint64_t sim_launch_least_memory(const struct sim_gpu *gpu);

/*
 * Prepare the environment: append every stand-in library to LD_PRELOAD (a profiler that is already
 * there stays first and interposes), prepend libdir to LD_LIBRARY_PATH (for programs that dlopen or
 * are linked to a plain "libcudart.so"), and set CUDASIM_GPU, CUDASIM_MEMORY (decimal bytes; if
 * memory is 0, an earlier call's is removed), CUDASIM_GPUS and, if given, CUDASIM_COPY_LIMIT,
 * CUDASIM_VALUES, CUDASIM_SKEW, CUDASIM_SEED, CUDASIM_BOXES and CUDASIM_CUDNN (an absolute path).
 * With world_size, also set CUDASIM_ALONE and the variables of torchrun, Slurm and Open MPI, and
 * start the server that MASTER_PORT names, which ends with the calling process. A second call
 * changes the card and adds nothing to the lists.
 *
 * The strings of `launch` are only read. Not thread-safe (setenv). Return 0, or:
 *   -ENOENT   a stand-in is missing in libdir, or libdir itself
 *   -EINVAL   memory is below sim_launch_least_memory(), gpus is above SIM_MAX_GPUS, rank is not
 *             below world_size, or skew or cudnn cannot be read
 *   -ENOTSUP  libdir has a space or a colon in its path, which LD_PRELOAD cannot contain
 *   -ENOMEM   out of memory
 * and a message without a newline in why (always terminated; why may be NULL if why_size is 0). The
 * environment is unchanged unless the error was -ENOMEM, or came from the server's socket or
 * process.
 */
int sim_launch_prepare(const struct sim_launch *launch, char *why, size_t why_size);

/* The most cards of a simulated machine. */
enum { SIM_MAX_GPUS = 16, SIM_NODE_GPUS = 8, SIM_MAX_RANKS = 1 << 20 };

/* Return the file names of the stand-ins (their SONAMEs) in preload order: 0 .. until NULL. */
const char *sim_launch_library(size_t index);

#endif
