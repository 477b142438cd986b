/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Turn records into the bytes of a trace file: first mt_encode_file_header, then for each block
 * mt_encoder_event or mt_encoder_definition and mt_encoder_finish. An encoder belongs to one thread
 * at a time. It allocates with malloc.
 */
#ifndef MT_TRACE_ENCODER_H
#define MT_TRACE_ENCODER_H

#include "author/author.h"
#include "model.h"

#define MT_LIVE_HEADER_SIZE (MT_FILE_HEADER_SIZE + MT_AUTHOR_SIZE)

/* Finish a block at this many records, or bytes of definitions: the reader holds a block in memory.
 */
#define MT_BLOCK_RECORDS 65536u
#define MT_BLOCK_BYTES (1u << 20)

struct mt_encoder;

/* Encode the header. trace_id: a number that no other trace is likely to have. older_id: the older
 * segment's; 0: none. */
void mt_encode_file_header(unsigned char out[MT_FILE_HEADER_SIZE], uint64_t trace_id,
                           uint64_t older_id);

/* Encode the header of a trace that its author is about to write. */
void mt_encode_live_header(unsigned char out[MT_LIVE_HEADER_SIZE], uint64_t trace_id,
                           uint64_t older_id, const struct mt_author *author);

/* Encode a definition, in at most MT_DEFINITION_SIZE bytes. Return how many. The text must be
 * within the limit. */
#define MT_DEFINITION_SIZE (64 + MT_TEXT_LIMIT)
size_t mt_encode_definition(unsigned char out[MT_DEFINITION_SIZE],
                            const struct mt_definition *definition);

/* Return an encoder; NULL: no memory. level: zstd's, 1 to 19. */
struct mt_encoder *mt_encoder_create(int level);

/* Begin the trace with that id: its first block is next. */
void mt_encoder_begin(struct mt_encoder *encoder, uint64_t trace_id);

/* Let the next blocks follow a chain, to which each is added. The caller keeps it; several encoders
 * may write one trace in turn by it. Call this or mt_encoder_begin before the first block. */
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

/* Add n events at once, at most as many as there is room for: nothing of them is kept where it
 * fails. Other numbers take the place of their arguments. */
int mt_encoder_events(struct mt_encoder *encoder, struct mt_event *events, size_t n);

/* Return how many records of events the block under construction has room for. */
size_t mt_encoder_room(const struct mt_encoder *encoder);

/* Return whether the block under construction has reached its size. */
int mt_encoder_full(const struct mt_encoder *encoder);

/* Finish the block: *out (the encoder's, until its next call) has *size bytes to append to the
 * file; 0 bytes if no record was added. Return 0 or -ENOMEM. */
int mt_encoder_finish(struct mt_encoder *encoder, const unsigned char **out, size_t *size);

/* Finish with the last block of a trace. */
int mt_encoder_end(struct mt_encoder *encoder, const struct mt_end *end, const unsigned char **out,
                   size_t *size);

#endif
