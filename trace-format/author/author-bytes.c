/* SPDX-License-Identifier: Apache-2.0 */
#include "author.h"
#include "trace-format/little-endian.h"

#include <string.h>

void mt_author_put(unsigned char out[MT_AUTHOR_SIZE], const struct mt_author *author)
{
    memset(out, 0, MT_AUTHOR_SIZE);
    mt_put64(out, (uint64_t)author->pid << 32 | author->flags);
    mt_put64(out + 8, author->started);
    mt_put64(out + 16, author->pid_namespace);
    mt_put64(out + 24, author->device);
    mt_put64(out + 32, author->inode);
    memcpy(out + 40, author->boot, sizeof author->boot);
}

void mt_author_get(const unsigned char in[MT_AUTHOR_SIZE], struct mt_author *author)
{
    author->flags = (uint32_t)mt_get64(in);
    author->pid = (uint32_t)(mt_get64(in) >> 32);
    author->started = mt_get64(in + 8);
    author->pid_namespace = mt_get64(in + 16);
    author->device = mt_get64(in + 24);
    author->inode = mt_get64(in + 32);
    memcpy(author->boot, in + 40, sizeof author->boot);
}
