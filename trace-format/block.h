/* SPDX-License-Identifier: Apache-2.0 */
/* The container: file header and block headers (FORMAT.md, "File" and "Blocks"). */
#ifndef MT_TRACE_BLOCK_H
#define MT_TRACE_BLOCK_H

#include "little-endian.h"
#include "model.h"
#include <stdbool.h>
#include <stddef.h>

#define MT_FORMAT_VERSION 5u
#define MT_FILE_MAGIC "\x89MTAP\r\n\x1a"
#define MT_FILE_MAGIC_SIZE 8u
#define MT_TRACE_ID_AT 16 /* bytes from the file's beginning */
#define MT_OLDER_ID_AT 24

/* Return whether there is a file at the path that is neither a trace nor empty, nor named as a
 * trace
 * (.mtap). */
bool mt_is_other_file(const char *path);

#define MT_BLOCK_HEADER_SIZE 48u
#define MT_BLOCK_BARE_SIZE 32u /* of versions before MT_BLOCK_LINKED: without the link */
#define MT_BLOCK_LINKED 5u
#define MT_BLOCK_PAYLOAD_LIMIT (64u << 20) /* bytes, stored or raw */
#define MT_BLOCK_RECORD_LIMIT (1u << 20)

enum mt_block_type {
    MT_BLOCK_DEFINITIONS = 1,
    MT_BLOCK_EVENTS = 2,
    MT_BLOCK_END = 3,
    MT_BLOCK_CARRIED = 4, /* events in place of an older segment */
    MT_BLOCK_SUMMARY = 5  /* definitions of kind MT_DEF_SUMMARY */
};
enum mt_block_codec { MT_CODEC_RAW = 0, MT_CODEC_ZSTD = 1 };

struct mt_block_header {
    uint8_t type;         /* enum mt_block_type */
    uint8_t codec;        /* enum mt_block_codec */
    uint32_t stored_size; /* bytes of payload in the file */
    uint32_t raw_size;    /* bytes of payload after decompression */
    uint32_t records;
    uint64_t base_time_ns;
    /* The link to what is before the block in the file; zeros in versions without. */
    uint32_t number; /* of the block, from 1 */
    uint32_t before; /* checksum of the block before; of the first one: mt_chain_begin */
    uint64_t events; /* before the block: struct mt_chain */
    uint32_t checksum;
};

/* Return whether the blocks of a file of that version have links, so that none can be missing
 * unnoticed. */
static inline bool mt_version_shows_gaps(unsigned version)
{
    return version >= MT_BLOCK_LINKED;
}

/* The size of a block's header in a file of that version, bytes. */
static inline size_t mt_block_header_size(unsigned version)
{
    return version < MT_BLOCK_LINKED ? MT_BLOCK_BARE_SIZE : MT_BLOCK_HEADER_SIZE;
}

/* Begin with a file's header: its trace id, and the number of events in the older segment. */
struct mt_chain mt_chain_begin(uint64_t trace_id, uint64_t of_older, unsigned version);

/* Link a block, of which all else is known, to a chain; then, with its header made or read, add it
 * to the chain. */
void mt_chain_link(const struct mt_chain *chain, struct mt_block_header *header);
void mt_chain_add(struct mt_chain *chain, const struct mt_block_header *header);

/* Return whether a block follows what is in the chain. How many events the older segment had is
 * known by the first block, which the chain takes over. */
bool mt_chain_fits(struct mt_chain *chain, const struct mt_block_header *header);

/* Follow a file's blocks up to a byte, where one must begin or the file end; only headers are read:
 * 0, with *chain of them, or a negative errno. */
int mt_chain_read(struct mt_chain *chain, int fd, uint64_t until);

/* Tables for eight bytes of CRC-32 at a time. Each user has its own, made by mt_crc_init. */
struct mt_crc {
    uint32_t table[8][256];
};

void mt_crc_init(struct mt_crc *crc);

/* Write the header, with the checksum over itself and the stored payload, which *header gets too.
 * Return its size in a file of that version. */
size_t mt_block_header_put(unsigned char out[MT_BLOCK_HEADER_SIZE], struct mt_block_header *header,
                           const void *payload, unsigned version, const struct mt_crc *crc);

/* Read a header of a file of that version. Return 0, or -EINVAL if it is none or its sizes are over
 * the limits. */
int mt_block_header_get(const unsigned char in[MT_BLOCK_HEADER_SIZE],
                        struct mt_block_header *header, unsigned version);

/* Read the header of the block at a byte of a file of that version. Return 1; 0: the file ends
 * before it; or -EINVAL as above. */
int mt_block_header_at(int fd, uint64_t at, struct mt_block_header *header, unsigned version);

/* Return whether the header's checksum is right for the header and its payload. */
int mt_block_sound(const unsigned char header[MT_BLOCK_HEADER_SIZE], const void *payload,
                   size_t size, unsigned version, const struct mt_crc *crc);

#endif
