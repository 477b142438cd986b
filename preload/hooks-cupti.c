/* SPDX-License-Identifier: Apache-2.0 */
/* Where the CUDA driver calls its tool, and where another client of CUPTI comes. */
#include "cudart.h"
#include "cupti.h"
#include "driver.h"
#include "hooks.h"
#include "real.h"

#define NO_FUNCTION 999 /* CUPTI_ERROR_UNKNOWN */

/* 1: we are ready. */
int mt_hook_injection(void)
{
    mt_cupti_open(mt_driver_was_looked_up());
    return 1;
}

/* That of the CUPTI which the caller is linked to. */
static void *real_of(const char *symbol, const void *caller)
{
    void *scope = mt_scope_of(caller);
    void *found = scope ? mt_real_dlsym(scope, symbol) : NULL;
    return found && !mt_is_ours(found) ? found : mt_find_real(symbol, "libcupti.so.13");
}

/* CUPTI has one subscriber: torch.profiler's records nothing if it is not that one. */
int mt_hook_cupti_subscribe(void **subscriber, void *callback, void *data)
{
    int (*real)(void **, void *, void *);
    *(void **)&real = real_of("cuptiSubscribe", __builtin_return_address(0));
    mt_cupti_step_back();
    return real ? real(subscriber, callback, data) : NO_FUNCTION;
}

int mt_hook_cupti_subscribe_v2(void **subscriber, void *callback, void *data, void *parameters)
{
    int (*real)(void **, void *, void *, void *);
    *(void **)&real = real_of("cuptiSubscribe_v2", __builtin_return_address(0));
    mt_cupti_step_back();
    return real ? real(subscriber, callback, data, parameters) : NO_FUNCTION;
}
