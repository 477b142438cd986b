/* SPDX-License-Identifier: Apache-2.0 */
#include "write.h"
#include "trace-format/block.h"

#include <errno.h>
#include <sys/random.h>
#include <unistd.h>

int mt_write_bytes(FILE *out, const void *bytes, size_t size)
{
    return !size || fwrite(bytes, 1, size, out) == size ? 0 : errno ? -errno : -EIO;
}

int mt_write_begin(FILE *out, struct mt_encoder *definitions, struct mt_encoder *events,
                   struct mt_chain *chain)
{
    unsigned char header[MT_FILE_HEADER_SIZE];
    uint64_t trace_id;
    if (getrandom(&trace_id, sizeof trace_id, 0) != sizeof trace_id)
        return -errno;
    trace_id |= 1; /* 0: none */
    mt_encode_file_header(header, trace_id, 0);
    *chain = mt_chain_begin(trace_id, 0, MT_FORMAT_VERSION);
    mt_encoder_follow(definitions, chain);
    mt_encoder_follow(events, chain);
    return mt_write_bytes(out, header, sizeof header);
}

int mt_write_block(FILE *out, struct mt_encoder *encoder)
{
    const unsigned char *bytes;
    size_t size;
    int rc = mt_encoder_finish(encoder, &bytes, &size);
    return rc ? rc : mt_write_bytes(out, bytes, size);
}

int mt_write_definition(FILE *out, struct mt_encoder *encoder,
                        const struct mt_definition *definition)
{
    int rc = mt_encoder_definition(encoder, definition);
    if (rc == -EINVAL && !(rc = mt_write_block(out, encoder))) /* the block has the other sort */
        rc = mt_encoder_definition(encoder, definition);
    return rc || !mt_encoder_full(encoder) ? rc : mt_write_block(out, encoder);
}

int mt_write_event(FILE *out, struct mt_encoder *encoder, const struct mt_event *event)
{
    int rc = mt_encoder_event(encoder, event);
    return rc || !mt_encoder_full(encoder) ? rc : mt_write_block(out, encoder);
}

int mt_write_end(FILE *out, struct mt_encoder *encoder, const struct mt_end *end)
{
    const unsigned char *bytes;
    size_t size;
    int rc = mt_encoder_end(encoder, end, &bytes, &size);
    return rc ? rc : mt_write_bytes(out, bytes, size);
}

int mt_write_all(int fd, const void *bytes, size_t size)
{
    for (size_t done = 0; done < size;) {
        ssize_t n = write(fd, (const char *)bytes + done, size - done);
        if (n < 0 && errno != EINTR)
            return -errno;
        done += n > 0 ? (size_t)n : 0;
    }
    return 0;
}
