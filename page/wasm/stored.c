/* SPDX-License-Identifier: Apache-2.0 */
/* Zstd frames that only store: a page writes traces for itself, and has no compressor. */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#define BLOCK (128u << 10) /* zstd's most */

ZSTD_CCtx *mt_stored_create(void)
{
    return malloc(1);
}

size_t mt_stored_free(ZSTD_CCtx *context)
{
    free(context);
    return 0;
}

/* As ZSTD_compressCCtx: `room` is at least ZSTD_compressBound(size), which a stored frame never
 * exceeds. */
size_t mt_stored_compress(ZSTD_CCtx *context, void *out, size_t room, const void *bytes,
                          size_t size, int level)
{
    (void)context, (void)room, (void)level;
    const unsigned char head[] = {0x28, 0xb5, 0x2f, 0xfd, 0xa0 /* one segment, size in 4 bytes */};
    unsigned char *at = memcpy(out, head, sizeof head);
    at += sizeof head;
    for (unsigned i = 0; i < 4; i++)
        *at++ = (unsigned char)(size >> 8 * i);
    for (size_t done = 0; done < size || !size;) {
        size_t n = size - done < BLOCK ? size - done : BLOCK;
        size_t word = n << 3 | (done + n == size); /* stored, the last one */
        for (unsigned i = 0; i < 3; i++)
            *at++ = (unsigned char)(word >> 8 * i);
        memcpy(at, (const char *)bytes + done, n);
        at += n;
        done += n;
        if (!size)
            break;
    }
    return (size_t)(at - (unsigned char *)out);
}
