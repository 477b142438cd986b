/* SPDX-License-Identifier: Apache-2.0 */
/* The driver's functions by name, as requested by a library that is not linked to the driver. */
#ifndef SIM_API_LOOKUP_H
#define SIM_API_LOOKUP_H

#include <cuda.h>

/* Call the driver's own lookup, cuGetProcAddress. Return CUDA_ERROR_NOT_INITIALIZED if there is no
 * driver. */
CUresult api_find_driver_function(const char *name, void **out, int version, cuuint64_t flags,
                                  CUdriverProcAddressQueryResult *status);

#endif
