/* SPDX-License-Identifier: Apache-2.0 */
#include "trace.h"

#include <errno.h>

struct sim_listener *_Atomic sim_listener;

int sim_listen(struct sim_listener *listener)
{
    struct sim_listener *nobody = NULL;
    return atomic_compare_exchange_strong(&sim_listener, &nobody, listener) ? 0 : -EBUSY;
}

int sim_unlisten(struct sim_listener *listener)
{
    return listener && atomic_compare_exchange_strong(&sim_listener, &listener, NULL) ? 0 : -EINVAL;
}

/* Return the listener if it subscribed to this call. */
static struct sim_listener *who_wants(unsigned domain, unsigned id)
{
    struct sim_listener *listener = sim_listener;
    return listener && id < SIM_CALLS_MAX && listener->wanted[domain][id] ? listener : NULL;
}

bool sim_call_begin(struct sim_call *call)
{
    static _Atomic unsigned last;
    struct sim_listener *listener = who_wants(call->domain, call->id);
    if (!listener)
        return false;
    call->number = ++last;
    listener->hear(listener, call);
    return true;
}

void sim_call_end(struct sim_call *call)
{
    struct sim_listener *listener = who_wants(call->domain, call->id);
    call->after = true;
    if (listener)
        listener->hear(listener, call);
}

void sim_report_resource(enum sim_resource_event event, struct sim_context *context, void *resource)
{
    struct sim_listener *listener = who_wants(SIM_RESOURCE, event);
    struct sim_call call = {.domain = SIM_RESOURCE, .id = event, .result = context};
    call.parameters = resource;
    if (listener)
        listener->hear(listener, &call);
}
