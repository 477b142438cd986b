/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Turn records into the bytes of a trace file: mt_encode_file_header first, then mt_encoder_event
 * or mt_encoder_definition for each record and mt_encoder_finish for each block. An encoder may be
 * used by one thread at a time. It allocates with malloc.
 */
#ifndef MT_TRACE_ENCODER_H
#define MT_TRACE_ENCODER_H

#include "author/author.h"
#include "model.h"

#include <stdbool.h>

#define MT_LIVE_HEADER_SIZE (MT_FILE_HEADER_SIZE + MT_AUTHOR_SIZE)

/* Finish a block at this many records, or bytes of definitions: a reader holds a whole block in
 * memory. */
#define MT_BLOCK_RECORDS 65536u
#define MT_BLOCK_BYTES (1u << 20)

struct mt_encoder;

/* Encode the header. trace_id must be unlikely to repeat. older_id is the id of the older segment;
 * 0 if there is none. */
void mt_encode_file_header(unsigned char out[MT_FILE_HEADER_SIZE], uint64_t trace_id,
                           uint64_t older_id);

/* Encode the header of a trace that `author` is about to write. */
void mt_encode_live_header(unsigned char out[MT_LIVE_HEADER_SIZE], uint64_t trace_id,
                           uint64_t older_id, const struct mt_author *author);

/* Encode a definition into at most MT_DEFINITION_SIZE bytes. Return their number. The text must be
 * within MT_TEXT_LIMIT. */
#define MT_DEFINITION_SIZE (64 + MT_TEXT_LIMIT)
size_t mt_encode_definition(unsigned char out[MT_DEFINITION_SIZE],
                            const struct mt_definition *definition);

/* Return an encoder, or NULL if out of memory. level is zstd's, 1 to 19. */
struct mt_encoder *mt_encoder_create(int level);

/* Begin the trace with that id. The next block is its first. */
void mt_encoder_begin(struct mt_encoder *encoder, uint64_t trace_id);

/* Append the next blocks to a chain, which the caller owns; several encoders can write one trace in
 * turn this way. Call this or mt_encoder_begin before the first block. */
void mt_encoder_follow(struct mt_encoder *encoder, struct mt_chain *chain);

void mt_encoder_destroy(struct mt_encoder *encoder);

/*
 * Add a record to the block under construction, which accepts only events, only definitions or only
 * definitions of kind MT_DEF_SUMMARY until it is finished. Return 0, -ENOMEM, or -EINVAL for a kind
 * that is not in the table, a text over MT_TEXT_LIMIT or the other sort of record; on failure the
 * block is as before.
 */
int mt_encoder_event(struct mt_encoder *encoder, const struct mt_event *event);
int mt_encoder_carried(struct mt_encoder *encoder, const struct mt_event *event);
int mt_encoder_definition(struct mt_encoder *encoder, const struct mt_definition *definition);

/* Add n events, at most mt_encoder_room. On failure none of them is added. Overwrites their
 * arguments with coded numbers. */
int mt_encoder_events(struct mt_encoder *encoder, struct mt_event *events, size_t n);

/* Return how many events still fit into the block under construction. */
size_t mt_encoder_room(const struct mt_encoder *encoder);

/* Return whether the block under construction has reached its size. */
bool mt_encoder_full(const struct mt_encoder *encoder);

/* Finish the block. *out points to *size bytes to append to the file, owned by the encoder and
 * valid until its next call; *size is 0 if no record was added. Return 0 or -ENOMEM. */
int mt_encoder_finish(struct mt_encoder *encoder, const unsigned char **out, size_t *size);

/* Finish the trace with its end block. */
int mt_encoder_end(struct mt_encoder *encoder, const struct mt_end *end, const unsigned char **out,
                   size_t *size);

#endif
