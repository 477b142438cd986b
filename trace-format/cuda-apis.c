/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda-apis.h"

#include <stddef.h>

static const char *const names[MT_API_LIMIT] = {
#define ROW(id, number, name, space) [number] = name,
    MT_CUDA_APIS(ROW)};

const char *mt_cuda_api_name(unsigned long long api)
{
    return api < MT_API_LIMIT && names[api] ? names[api] : "?";
}
