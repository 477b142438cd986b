/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What reading a file may take, so that a small file that stands for much ends in a line: as
 * options and the environment give it, and else by the bytes that are read.
 */
#ifndef MT_LIMITS_H
#define MT_LIMITS_H

#include <stddef.h>
#include <stdint.h>

enum mt_limit_kind { MT_LIMIT_MEMORY, MT_LIMIT_OUTPUT, MT_LIMIT_EVENTS, MT_LIMITS_N };

/* Bytes of memory, of one output, and events; 0: choose by what is read. */
struct mt_limits {
    uint64_t most[MT_LIMITS_N];
};

/* The variables of the environment, by limit: MEMTAP_MOST_MEMORY ... */
extern const char *const mt_limit_variables[MT_LIMITS_N];

/* Read a limit that a user wrote for the option or variable `name`. 0, or -EINVAL with a line in
 * `error`. */
int mt_limit_read(uint64_t *most, enum mt_limit_kind limit, const char *name, const char *text,
                  char *error, size_t size);

/* Put what the environment says where a limit is 0. The same. */
int mt_limits_of_environment(struct mt_limits *limits, char *error, size_t size);

/* Bytes of memory and of output for so many bytes of files. Traces of PyTorch take less: their
 * outputs have at most 123 bytes for each. A sanitizer takes memory itself. */
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

static inline uint64_t mt_output_for(uint64_t input)
{
    return (UINT64_C(64) << 20) + input * 256;
}

#endif
