/* SPDX-License-Identifier: Apache-2.0 */
/* The CUDA driver's call to its tool, and calls of CUPTI's other clients. */
#include "cudart.h"
#include "cupti.h"
#include "driver.h"
#include "preload/hooks/hooks.h"
#include "preload/loader/find-real.h"

#define NO_FUNCTION 999 /* CUPTI_ERROR_UNKNOWN */

/* Return 1: we are ready. */
int mt_hook_injection(void)
{
    mt_cupti_open(mt_driver_was_looked_up());
    return 1;
}

/* Return the function of the CUPTI that the caller is linked to. */
static void *real_of(const char *symbol, const void *caller)
{
    void *scope = mt_scope_of(caller);
    void *found = scope ? mt_scope_symbol(scope, symbol) : NULL;
    return found && !mt_is_ours(found) ? found : mt_find_real(symbol, "libcupti.so.13");
}

/* CUPTI has one subscriber, and its activities need it: torch.profiler, which uses them, records
 * nothing while another client is subscribed. */
#define HOOK(name, symbol, parameters, ...)                                                        \
    int mt_hook_##name parameters                                                                  \
    {                                                                                              \
        int(*real) parameters;                                                                     \
        *(void **)&real = real_of(symbol, __builtin_return_address(0));                            \
        mt_cupti_step_back();                                                                      \
        return real ? real(__VA_ARGS__) : NO_FUNCTION;                                             \
    }
HOOK(cupti_subscribe, "cuptiSubscribe", (void **subscriber, void *callback, void *data), subscriber,
     callback, data)
HOOK(cupti_subscribe_v2, "cuptiSubscribe_v2",
     (void **subscriber, void *callback, void *data, void *parameters), subscriber, callback, data,
     parameters)
HOOK(cupti_activities, "cuptiActivityRegisterCallbacks",
     (void *buffer_requested, void *buffer_completed), buffer_requested, buffer_completed)
HOOK(cupti_activity, "cuptiActivityEnable", (int kind), kind)
