/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Limits on the memory, output and events that reading a file may use, so that a small hostile file
 * fails with a message. Options and the environment set them; the default depends on the bytes
 * read.
 */
#ifndef MT_LIMITS_H
#define MT_LIMITS_H

#include <stddef.h>
#include <stdint.h>

enum mt_limit_kind { MT_LIMIT_MEMORY, MT_LIMIT_OUTPUT, MT_LIMIT_EVENTS, MT_LIMITS_N };

/* Bytes of memory, bytes of one output, and events; 0: choose by the size of the input. */
struct mt_limits {
    uint64_t most[MT_LIMITS_N];
};

/* The environment variables, by limit: MEMTAP_MOST_MEMORY ... */
extern const char *const mt_limit_variables[MT_LIMITS_N];

/* Parse a limit that a user gave for the option or variable `name`. Return 0, or -EINVAL with a
 * message in `error`. */
int mt_limit_read(uint64_t *most, enum mt_limit_kind limit, const char *name, const char *text,
                  char *error, size_t size);

/* Fill in limits that are 0 from the environment. Return as mt_limit_read. */
int mt_limits_of_environment(struct mt_limits *limits, char *error, size_t size);

/* Bytes of memory and of output allowed for so many bytes of input. PyTorch's traces need less:
 * their outputs have at most 123 bytes for each. Sanitizers use memory themselves. */
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
#define MT_LIMIT_TIMES 16u
#else
#define MT_LIMIT_TIMES 1u
#endif
static inline uint64_t mt_memory_for(uint64_t input)
{
    uint64_t little = (UINT64_C(128) << 20) + input * 128, much = input * 256;
    return MT_LIMIT_TIMES * (little > much ? little : much);
}

/* Steps of work (mt_work_is_too_much) allowed for so many bytes of input. */
static inline uint64_t mt_work_for(uint64_t input)
{
    return (UINT64_C(24) << 20) + input * 64;
}

static inline uint64_t mt_output_for(uint64_t input)
{
    return (UINT64_C(64) << 20) + input * 256;
}

#endif
