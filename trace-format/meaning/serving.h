/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a model server is doing, by the functions of servers (vLLM, SGLang) on a Python stack. The
 * table is in serving.c.
 */
#ifndef MT_SERVING_H
#define MT_SERVING_H

#include <stdbool.h>
#include <stdint.h>

/* S(enumerator, name in JSON, in a sentence). If several are on a stack, the last one of this list
 * counts: a warm-up runs steps, and a profile run may contain anything. */
/* clang-format off */
#define MT_SERVING_LIST(S)                                                                         \
    S(NONE, "", "no server work")                                                             \
    S(STEP, "step", "step")                                                                        \
    S(DECODE, "decode", "decode")                                                                  \
    S(PREFILL, "prefill", "prefill")                                                               \
    S(SAMPLING, "sampling", "sampling")                                                        \
    S(WARM_UP, "warm-up", "warm-up")                                                           \
    S(LOAD, "load", "loading the model")                                                           \
    S(CACHE, "cache", "allocating the KV cache")                                                       \
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

/* Return what a Python frame shows; function may be a qualified name. */
enum mt_serving mt_serving_of(const char *function, const char *file);

/* Return the kind of step that an NVTX range names: vLLM's, while a profiler runs, are
 * "execute_context_2(135)_generation_3(3)", with requests and their tokens. A step with both is a
 * prefill. */
enum mt_serving mt_serving_of_range(const char *name);

/* Return whether a model runs for requests: each such time is a step of the server. */
static inline bool mt_serving_is_step(enum mt_serving serving)
{
    return serving >= MT_SERVING_STEP && serving <= MT_SERVING_PREFILL;
}

#endif
