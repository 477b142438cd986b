/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIM_DRIVER_COPY_H
#define SIM_DRIVER_COPY_H

#include "core/memory/array.h"
#include "driver.h"

/* Copies, or adds a node to the graph that the stream captures. */
CUresult driver_copy(const struct sim_copy3d *copy, CUstream stream);
/* For the calls that wait, which a capture forbids. */
CUresult driver_copy_now(const struct sim_copy3d *copy);

#endif
