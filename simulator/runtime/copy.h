/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIM_RUNTIME_COPY_H
#define SIM_RUNTIME_COPY_H

#include "core/memory/array.h"
#include "runtime.h"

/* Copies, or adds a node to the graph that the stream captures; fills in the direction. */
cudaError_t runtime_copy(struct sim_copy3d *copy, enum cudaMemcpyKind kind, cudaStream_t stream);
/* For the calls that wait, which a capture forbids. */
cudaError_t runtime_copy_now(struct sim_copy3d *copy, enum cudaMemcpyKind kind);

#endif
