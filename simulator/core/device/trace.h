/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The listener to a program's calls: the only subscriber of the simulated libcupti. A listener is
 * called before and after each call that it subscribed to.
 */
#ifndef SIM_TRACE_H
#define SIM_TRACE_H

#include "../base/base.h"

struct sim_context; /* device.h */

/* By CUPTI's numbers. */
enum sim_domain { SIM_DRIVER_API = 1, SIM_RUNTIME_API = 2, SIM_RESOURCE = 3, SIM_DOMAINS = 7 };
enum { SIM_CALLS_MAX = 1024 };

enum sim_resource_event {
    SIM_CONTEXT_CREATED = 1,
    SIM_CONTEXT_DESTROYED = 2,
    SIM_STREAM_CREATED = 3,
    SIM_STREAM_DESTROYED = 4,
    SIM_INIT_FINISHED = 5,
    SIM_MODULE_LOADED = 6,
};

struct sim_call {
    enum sim_domain domain;
    unsigned id;
    const char *name;       /* of the function; NULL for a resource */
    const void *parameters; /* in the form of CUDA's headers, or the resource */
    void *result;
    bool after; /* the call has returned */
    unsigned number;
    uint64_t data; /* the listener's own data, from the call to its return */
};

struct sim_listener {
    void (*hear)(const struct sim_listener *listener, struct sim_call *call);
    void *function, *data; /* the subscriber's */
    _Atomic unsigned char wanted[SIM_DOMAINS][SIM_CALLS_MAX];
};

/* The present listener, or NULL. */
SIM_API extern struct sim_listener *_Atomic sim_listener;

/* Install the only listener, which is never freed. -EBUSY: there is one. */
SIM_API int sim_listen(struct sim_listener *listener);
SIM_API int sim_unlisten(struct sim_listener *listener);
/* Report a call to the listener, if it subscribed to it. Return whether its end is to be reported
 * too. */
SIM_API bool sim_call_begin(struct sim_call *call);
SIM_API void sim_call_end(struct sim_call *call);
/* Report that a resource was created, or will be destroyed. */
SIM_API void sim_report_resource(enum sim_resource_event event, struct sim_context *context,
                                 void *resource);

/*
 * Load the library that CUDA_INJECTION64_PATH names and call its InitializeInjection, once. The
 * driver's first call does this.
 */
SIM_API void sim_inject(void);

/*
 * Return the result of `expression`, a call that a listener may subscribe to. `parameters` is the
 * structure of CUDA's headers, `arguments` its fields, in brackets.
 */
#define SIM_CALL(domain_, id_, name_, type, structure, arguments, expression)                      \
    ({                                                                                             \
        type sim_result_;                                                                          \
        structure sim_parameters_;                                                                 \
        struct sim_call sim_call_;                                                                 \
        bool sim_heard_ = false;                                                                   \
        if (SIM_UNLIKELY(atomic_load_explicit(&sim_listener, memory_order_relaxed) != NULL)) {     \
            sim_parameters_ = (structure){SIM_UNPACK arguments};                                   \
            sim_call_ = (struct sim_call){.domain = (domain_),                                     \
                                          .id = (id_),                                             \
                                          .name = (name_),                                         \
                                          .parameters = &sim_parameters_,                          \
                                          .result = &sim_result_};                                 \
            sim_heard_ = sim_call_begin(&sim_call_);                                               \
        }                                                                                          \
        sim_result_ = (expression);                                                                \
        if (SIM_UNLIKELY(sim_heard_))                                                              \
            sim_call_end(&sim_call_);                                                              \
        sim_result_;                                                                               \
    })
#define SIM_UNPACK(...) __VA_ARGS__

#endif
