/* SPDX-License-Identifier: Apache-2.0 */
/* The core's errors as codes of the API. */
#include <errno.h>

#include "api.h"

api_result api_error(int error)
{
    switch (error) {
    case 0:
        return api_code(API_SUCCESS);
    case -ENOMEM:
        return api_code(API_OUT_OF_MEMORY);
    case -ENODEV:
        return api_code(sim_device_count() ? API_INVALID_DEVICE : API_NO_DEVICE);
    case -EEXIST:
        return api_code(API_ALREADY_REGISTERED);
    case -ENOTSUP:
        return api_code(API_NOT_SUPPORTED);
    case -ECANCELED:
        return api_code(API_CAPTURE_INVALIDATED);
    default:
        return api_code(API_INVALID_VALUE);
    }
}
