/* SPDX-License-Identifier: Apache-2.0 */
/* Plausible choices among unknown values. */
#ifndef SIM_CHOOSE_H
#define SIM_CHOOSE_H

#include <stddef.h>
#include <stdint.h>

/* From this many on, the choices are a vocabulary or positions in a sequence; fewer are experts. */
enum { SIM_MANY_CHOICES = 1000 };

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Choose `picks` different numbers from 0 .. choices - 1 for each row. The loads are even, or as
 * CUDASIM_SKEW specifies. From a large number (a vocabulary), none of the first or last ones is
 * chosen, because these have special meanings: an end-of-text token would end a loop at once. The
 * picks of a single row are spread over the whole range, and the first of several is not 0. `zero`
 * is not chosen, because its value is known to be 0 while the others are unknown; -1 if there is
 * none. CUDASIM_SEED changes the start.
 */
void sim_choose(int64_t *chosen, size_t rows, size_t picks, size_t choices, int64_t zero);
/* Return how many elements a selection by unknown values finds among n (CUDASIM_BOXES). */
int64_t sim_found(int64_t n);
/* Return CUDASIM_SEED. */
uint64_t sim_seed(void);

#ifdef __cplusplus
}
#endif

#endif
