/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIM_RUNTIME_COPY_H
#define SIM_RUNTIME_COPY_H

#include "runtime.h"

/* Copy by the driver's call of this kind; waits: the one that returns when it is done. */
cudaError_t runtime_copy_bytes(void *to, const void *from, size_t size, enum cudaMemcpyKind kind,
                               bool waits, cudaStream_t stream);

/* Convert a copy's parameters to the driver's, and back. Return false if the kind is unknown. */
bool runtime_copy_form(CUDA_MEMCPY3D *form, const struct cudaMemcpy3DParms *copy);
void runtime_copy_of_form(struct cudaMemcpy3DParms *copy, const CUDA_MEMCPY3D *form);

#endif
