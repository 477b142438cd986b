/* SPDX-License-Identifier: Apache-2.0 */
/* Calls that CUPTI reports to its subscriber, under the names of CUPTI's headers. */
#ifndef SIM_CALLS_H
#define SIM_CALLS_H

#include <cupti.h>

#include "core/device/trace.h"

#define RUNTIME_CALL(id, arguments, expression)                                                    \
    SIM_CALL(SIM_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_##id, __func__, cudaError_t,                \
             struct id##_params_st, arguments, expression)
#define DRIVER_CALL(id, arguments, expression)                                                     \
    SIM_CALL(SIM_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_##id, #id, CUresult, struct id##_params_st,   \
             arguments, expression)

/* The start of a driver function that CUPTI reports by the name that programs link to. */
#define DRIVER_REPORTS(function, parameters, arguments)                                            \
    DRIVER_REPORTS_AS(function, function##_now, parameters, arguments)
#define DRIVER_REPORTS_AS(function, now, parameters, arguments)                                    \
    static CUresult now parameters;                                                                \
    CUresult function parameters                                                                   \
    {                                                                                              \
        return DRIVER_CALL(function, arguments, now arguments);                                    \
    }                                                                                              \
    static CUresult now parameters

#endif
