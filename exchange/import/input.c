/* SPDX-License-Identifier: Apache-2.0 */
#include "input.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

bool mt_input_fill(struct mt_input *input)
{
    ssize_t n;
    if (input->rc)
        return false;
    do
        n = read(input->fd, input->buffer, MT_INPUT_BUFFER);
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
