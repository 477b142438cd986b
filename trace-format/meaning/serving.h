/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a program that serves models is doing: the functions of servers (vLLM, SGLang) on a Python
 * stack say it. One table of them, in serving.c.
 */
#ifndef MT_SERVING_H
#define MT_SERVING_H

#include <stdbool.h>
#include <stdint.h>

/* S(enumerator, name in JSON, in a sentence). Of several on a stack the last one of this list
 * counts: a warm-up runs steps, a profile run may be part of anything. */
/* clang-format off */
#define MT_SERVING_LIST(S)                                                                         \
    S(NONE, "", "no work of a server")                                                             \
    S(STEP, "step", "step")                                                                        \
    S(DECODE, "decode", "decode")                                                                  \
    S(PREFILL, "prefill", "prefill")                                                               \
    S(SAMPLING, "sampling", "the sampling")                                                        \
    S(WARM_UP, "warm-up", "the warm-up")                                                           \
    S(LOAD, "load", "loading the model")                                                           \
    S(CACHE, "cache", "making the kv cache")                                                       \
    S(PROFILE, "profile", "the profile run")                                                       \
    S(CAPTURE, "capture", "capturing graphs")
/* clang-format on */

enum mt_serving {
#define MT_SERVING_ENUM(id, ...) MT_SERVING_##id,
    MT_SERVING_LIST(MT_SERVING_ENUM)
#undef MT_SERVING_ENUM
        MT_SERVING_COUNT
};

extern const struct mt_serving_name {
    const char *name, *where;
} mt_serving_names[MT_SERVING_COUNT];

/* Return what a frame of Python says; function may be a qualified name. */
enum mt_serving mt_serving_of(const char *function, const char *file);

/* Return what a range of NVTX says of the step that is in it: vLLM's, while a profiler runs, are
 * named "execute_context_2(135)_generation_3(3)", by requests and their tokens. A step that has
 * both is a prefill. */
enum mt_serving mt_serving_of_range(const char *name);

/* Return whether a model runs for requests: each time is a step of the server's. */
static inline bool mt_serving_is_step(enum mt_serving serving)
{
    return serving >= MT_SERVING_STEP && serving <= MT_SERVING_PREFILL;
}

#endif
