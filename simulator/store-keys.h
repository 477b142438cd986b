/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keys of a store that absent ranks would set, and what they would hold.
 */
#ifndef SIM_STORE_KEYS_H
#define SIM_STORE_KEYS_H

#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* The size of what names a communicator of NCCL, in bytes. */
enum { SIM_COMMUNICATOR_NAME = 128 };

/* What a TCPStore client appends to a key, in CHECK and WAIT, to query whether its value is known.
 * A plain WAIT is answered at once: absent ranks have passed each barrier. */
#define SIM_KEY_VALUE " (its value)"

static inline bool sim_key_digit(char c)
{
    return isdigit((unsigned char)c);
}

/* Return whether two keys differ only in one number, like those of two ranks. */
static inline bool sim_key_of_another_rank(const char *a, size_t a_size, const char *b,
                                           size_t b_size)
{
    const char *x = a, *y = b, *x_end = a + a_size, *y_end = b + b_size;
    while (x < x_end && y < y_end && *x == *y)
        x++, y++;
    while (x > a && sim_key_digit(x[-1]))
        x--, y--;
    if (x == x_end || y == y_end || !sim_key_digit(*x) || !sim_key_digit(*y))
        return false;
    while (x < x_end && sim_key_digit(*x))
        x++;
    while (y < y_end && sim_key_digit(*y))
        y++;
    return x_end - x == y_end - y && !memcmp(x, y, (size_t)(x_end - x));
}

/* Return whether a key has PyTorch's name of a communicator. Any name will do, since the stand-in
 * for NCCL contacts nobody: nccl_storekey_0 or UniqueNCCLID:0, nccl4py_uid, before 2.8 a number or
 * two ("0:1") within the store of a group's device. */
static inline bool sim_key_of_communicator(const char *key, size_t size)
{
    static const char *const words[] = {"nccl_storekey_", "UniqueNCCLID:", "nccl4py_uid"};
    size_t start = size;
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (memmem(key, size, words[i], strlen(words[i])))
            return true;
    while (start && (sim_key_digit(key[start - 1]) || key[start - 1] == ':'))
        start--;
    return start < size && start > 2 && !memcmp(key + start - 2, "//", 2);
}

#endif
