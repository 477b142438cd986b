/* SPDX-License-Identifier: Apache-2.0 */
#include "input.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

/* Bytes that a byte of a compressed file may expand to, beyond some that any file may: profiles
 * have 10 to 50. */
#define MOST_EXPANSION 200
#define ANY_EXPANSION (64u << 20)

void mt_input_unpack(struct mt_input *input)
{
    int fd = lseek(input->fd, 0, SEEK_SET) ? -1 : dup(input->fd);
    input->packed = fd < 0 ? NULL : gzdopen(fd, "rb");
    if (!input->packed) {
        input->rc = errno ? -errno : -ENOMEM;
        if (fd >= 0)
            close(fd);
    }
    input->at = input->n = 0;
    mt_input_fill(input);
}

void mt_input_close(struct mt_input *input)
{
    if (input->packed)
        gzclose(input->packed);
    close(input->fd);
}

static ssize_t unpack(struct mt_input *input)
{
    int n = gzread(input->packed, input->buffer, MT_INPUT_BUFFER);
    z_off_t packed = gzoffset(input->packed);
    if (n > 0 && input->before > ANY_EXPANSION &&
        input->before / MOST_EXPANSION > (uint64_t)packed) {
        errno = E2BIG;
        return -1;
    }
    if (n < 0)
        errno = EIO;
    return n;
}

bool mt_input_fill(struct mt_input *input)
{
    ssize_t n;
    if (input->rc)
        return false;
    do
        n = input->packed ? unpack(input) : read(input->fd, input->buffer, MT_INPUT_BUFFER);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        input->rc = -errno;
    if (n <= 0)
        return false;
    input->before += input->n;
    input->n = (size_t)n;
    input->at = 0;
    return true;
}

int mt_input_bytes(struct mt_input *input, void *out, size_t size)
{
    char *to = out;
    while (size) {
        if (input->at == input->n && !mt_input_fill(input))
            return input->rc ? input->rc : -ENODATA;
        size_t n = input->n - input->at < size ? input->n - input->at : size;
        memcpy(to, input->buffer + input->at, n);
        input->at += n;
        to += n;
        size -= n;
    }
    return 0;
}

int mt_input_skip(struct mt_input *input, uint64_t size)
{
    while (size) {
        if (input->at == input->n && !mt_input_fill(input))
            return input->rc ? input->rc : -ENODATA;
        size_t n = input->n - input->at;
        if (n > size)
            n = (size_t)size;
        input->at += n;
        size -= n;
    }
    return 0;
}
