/* SPDX-License-Identifier: Apache-2.0 */
/* The bytes of a file that is read sequentially. */
#ifndef MT_IMPORT_INPUT_H
#define MT_IMPORT_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MT_INPUT_BUFFER (1u << 20)

struct mt_input {
    int fd;
    void *packed;          /* zlib's handle of the same file; NULL: not compressed */
    unsigned char *buffer; /* of MT_INPUT_BUFFER bytes */
    size_t at, n;
    uint64_t before; /* bytes of the file before the buffer */
    int rc;          /* of reading: 0 or a negative errno */
};

/* Read the file from its start as gzip. Only its first buffer may have been read before. */
void mt_input_unpack(struct mt_input *input);
void mt_input_close(struct mt_input *input);

/* Read more: false at the end. */
bool mt_input_fill(struct mt_input *input);

static inline uint64_t mt_input_offset(const struct mt_input *input)
{
    return input->before + input->at;
}

/* Read the next byte. Return -1 at the end. */
static inline int mt_input_byte(struct mt_input *input)
{
    return input->at < input->n || mt_input_fill(input) ? input->buffer[input->at++] : -1;
}

static inline int mt_input_peek(struct mt_input *input)
{
    return input->at < input->n || mt_input_fill(input) ? input->buffer[input->at] : -1;
}

/* Read exactly the next bytes. Return 0 or -ENODATA. */
int mt_input_bytes(struct mt_input *input, void *out, size_t size);
int mt_input_skip(struct mt_input *input, uint64_t size);

/* Build a graph from the input. Return 0 or a negative errno, with graph->error. */
struct mt_graph;
int mt_read_pickle(struct mt_input *input, struct mt_graph *graph);
int mt_read_json(struct mt_input *input, struct mt_graph *graph);

#endif
