/* SPDX-License-Identifier: Apache-2.0 */
/* Host tensors that represent the device's: memory of the simulated device is host memory. */
#ifndef SIM_HOST_TENSOR_H
#define SIM_HOST_TENSOR_H

#include "torch.h"

/* Point a host tensor at elements at that address. It keeps its own memory. */
void sim_host_put(void *tensor, void *elements);

/* Each returns a new reference to a host tensor, or NULL if it cannot be created. */

/* Of the same shape and type, without its elements. */
void *sim_host_like(const void *tensor);
/* Over the same memory. */
void *sim_host_over(void *tensor);
/* With a device's integers converted to floating point; integers of up to 53 bits are exact. */
void *sim_host_reals(void *tensor);
/* With the elements that a conjugate or negative view represents. */
void *sim_host_resolved(void *tensor);

/* The elements of a tensor, by rows of its last dimension; NULL for zeros. The caller frees them.
 */
struct sim_numbers {
    double *number;
    size_t rows, columns;
};

/* Read a host tensor, or zeros if there is none. false: it cannot be read. */
bool sim_read_numbers(struct sim_numbers *out, const struct sim_value *value);

/* Create a host tensor like another one, with these elements. NULL if it cannot be created. */
void *sim_write_numbers(const double *number, const void *like);

#endif
