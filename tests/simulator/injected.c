/* SPDX-License-Identifier: Apache-2.0 */
/* A library for CUDA_INJECTION64_PATH: it says in the environment how often it was initialized. */
#include <cuda.h>
#include <stdlib.h>

int InitializeInjection(void);

int InitializeInjection(void)
{
    const char *before = getenv("SIM_TEST_WAS_INJECTED");

    setenv("SIM_TEST_WAS_INJECTED", before ? "more than 1" : "1", 1);
    return cuInit(0) == CUDA_SUCCESS; /* it may use CUDA at once */
}
