/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The limits of one query to the library. It replaces analyzer/support/room.h, whose limits apply
 * to the whole process, which here belongs to the host. Every allocation of the library's own code
 * counts (the linker's --wrap); beyond the quota it fails as if there were no memory.
 */
#ifndef MT_READER_QUOTA_H
#define MT_READER_QUOTA_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mt_quota {
    uint64_t memory, output; /* bytes; 0: derived from the input, by mt_room_input */
    uint64_t input;          /* bytes of files */
    uint64_t device, file;   /* the last of them */
    atomic_int_least64_t held;
    uint64_t given; /* bytes of output */
    atomic_bool is_used_up;
};

/* Begin a quota by what memtap_reader_limits and the environment say. 0, or -EINVAL with a line in
 * `error`. */
int mt_quota_begin(struct mt_quota *quota, char *error, size_t size);

/* Use this quota for what the thread allocates and frees from now on; NULL: none. */
void mt_quota_use(struct mt_quota *quota);

/* Hand an allocation over to the library's caller: it is part of the output. */
void mt_quota_hand_over(void *bytes);

/* Note so many bytes of output. Return whether it is more than the quota has. */
bool mt_quota_count(struct mt_quota *quota, uint64_t bytes);

/* Write what was used up, and what allows more. */
void mt_quota_describe(const struct mt_quota *quota, char *text, size_t size);

#endif
