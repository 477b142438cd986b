// SPDX-License-Identifier: Apache-2.0
// The hooks whose real functions may throw, as C++ sees them: E(name, symbol, result, parameters).
// Those of libc do not, and what memtap.h declares has no other function behind it.
#ifndef ALL_HOOKS_H
#define ALL_HOOKS_H

#define _Bool bool
#define _Thread_local __thread
#include "preload/hooks/hooks.h"

// clang-format off
#define ALL_HOOKS(E)                                                                               \
    MT_TORCH_HOOKS(E) MT_CUDART_HOOKS(E) MT_MATH_HOOKS(E) MT_NCCL_HOOKS(E) MT_STEP_HOOKS(E) MT_POOL_HOOKS(E)        \
    MT_CONF_HOOKS(E)                                                                               \
    E(cupti_subscribe, "cuptiSubscribe", "libcupti.so.13", int,                                    \
      (void **subscriber, void *callback, void *data))                                             \
    E(cupti_activities, "cuptiActivityRegisterCallbacks", "libcupti.so.13", int,                   \
      (void *buffer_requested, void *buffer_completed))                                            \
    E(cupti_activity, "cuptiActivityEnable", "libcupti.so.13", int, (int kind))
// clang-format on

#endif
