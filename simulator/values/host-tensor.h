/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors of the host that represent the device's: memory of the simulated device is memory of the
 * host. */
#ifndef SIM_HOST_TENSOR_H
#define SIM_HOST_TENSOR_H

/* Let a host tensor's elements be at that address. Its own memory stays with it. */
void sim_host_put(void *tensor, void *elements);

/* Each returns a new reference to a tensor of the host; NULL: it cannot be made. */

/* Of the same shape and type, without its elements. */
void *sim_host_like(const void *tensor);
/* Over the same memory. */
void *sim_host_over(void *tensor);
/* With a device's integers as real numbers; all of 53 bits are exact. */
void *sim_host_reals(void *tensor);
/* With the elements that a view of conjugates or negatives stands for. */
void *sim_host_resolved(void *tensor);

#endif
