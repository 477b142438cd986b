/* SPDX-License-Identifier: Apache-2.0 */
/* Compiles only where the hook table's signatures are those of the CUDA headers. */
#include <cuda_runtime_api.h>

#define MT_EXPORTS_MAP /* the table alone: its prototypes would meet the headers' */
#include "preload/hooks.h"

#define POINTER(name, symbol, library, result, parameters) typedef result(*table_##name) parameters;
MT_CUDART_HOOKS(POINTER)

/* cudaError_t is an enum, in the ABI an unsigned. */
#define SAME(name, function)                                                                       \
    _Static_assert(__builtin_types_compatible_p(table_##name, __typeof__(&function)),              \
                   #function " has another signature")
SAME(cuda_malloc, cudaMalloc);
SAME(cuda_free, cudaFree);
_Static_assert(sizeof(cudaError_t) == sizeof(unsigned), "cudaError_t has another size");

int main(void)
{
    return 0;
}
