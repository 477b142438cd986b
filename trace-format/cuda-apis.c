/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda-apis.h"

#include <stddef.h>

static const struct {
    const char *name;
    enum mt_space space;
} apis[MT_API_LIMIT] = {
#define ROW(id, number, text, kind) [number] = {text, MT_SPACE_##kind},
    MT_CUDA_APIS(ROW)};

static int is_known(unsigned long long api)
{
    return api < MT_API_LIMIT && apis[api].name != NULL;
}

const char *mt_cuda_api_name(unsigned long long api)
{
    return is_known(api) ? apis[api].name : "?";
}

enum mt_space mt_cuda_api_space(unsigned long long api)
{
    return is_known(api) ? apis[api].space : MT_SPACE_UNKNOWN;
}
