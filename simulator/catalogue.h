/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The catalogue of cards that can be simulated. The data is gpus.def.
 */
#ifndef SIM_CATALOGUE_H
#define SIM_CATALOGUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One card. Everything is constant and lives as long as the process; all sizes in bytes. */
struct sim_gpu {
    const char *name;    /* as the user types it: "h200" */
    const char *product; /* as the driver reports it: "NVIDIA H200" */
    int major, minor;    /* compute capability */
    int sms;
    uint64_t l2;
    uint64_t memory;  /* total, as the driver reports it to a program */
    uint64_t board;   /* total, as nvidia-smi shows it */
    uint64_t context; /* used by a context before the first allocation */
    int threads_per_sm, blocks_per_sm;
    uint64_t shared_per_sm, shared_per_block; /* per block: the opt-in limit */
    int bus_bits;
    int memory_khz, core_khz;
    const char *source; /* the source of its memory size: a URL, or "estimate: ..." */
};

/* Return the card with this name or alias (in any case), or of this file; NULL if there is none. */
const struct sim_gpu *sim_gpu_find(const char *name);

/* Return the card of the catalogue with this name or alias; NULL if there is none. */
const struct sim_gpu *sim_gpu_listed(const char *name);

/* Return whether a name is that of a file: it has a slash, or ends with .gpu. */
bool sim_gpu_is_file(const char *name);

/*
 * Read a card from a file of lines "name = value" that begins with "like = NAME", a name of the
 * catalogue. The card's name is the file's absolute path. Return NULL, with the reason in `why`, if
 * the file cannot be read.
 */
const struct sim_gpu *sim_gpu_read(const char *path, char *why, size_t size);

/* Return the default card. Never NULL. */
const struct sim_gpu *sim_gpu_default(void);

/* Return the cards in catalogue order: 0 .. until NULL. Aliases are not listed. */
const struct sim_gpu *sim_gpu_at(size_t index);

/* Return the aliases: 0 .. until NULL. *gpu is set to the card that the alias means. */
const char *sim_gpu_alias_at(size_t index, const struct sim_gpu **gpu);

#endif
