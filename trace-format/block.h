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

/* Return whether the path names a file that is neither a trace nor empty and whose name does not
 * end in .mtap. */
bool mt_is_foreign_file(const char *path);

#define MT_BLOCK_HEADER_SIZE 48u
#define MT_BLOCK_BARE_SIZE 32u /* of versions before MT_BLOCK_LINKED: without the link */
#define MT_BLOCK_LINKED 5u
#define MT_BLOCK_PAYLOAD_LIMIT (64u << 20) /* bytes, stored or raw */
#define MT_BLOCK_RECORD_LIMIT (1u << 20)

enum mt_block_type {
    MT_BLOCK_DEFINITIONS = 1,
    MT_BLOCK_EVENTS = 2,
    MT_BLOCK_END = 3,
    MT_BLOCK_CARRIED = 4, /* events that replace an older segment */
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
    /* The link to the preceding block of the file; zeros in versions without links. */
    uint32_t number; /* of the block; the first is 1 */
    uint32_t before; /* checksum of the preceding block; for the first: mt_chain_begin */
    uint64_t events; /* before this block (struct mt_chain) */
    uint32_t checksum;
};

/* Return whether the blocks of a file of that version are linked, so that a missing one is noticed.
 */
static inline bool mt_version_shows_gaps(unsigned version)
{
    return version >= MT_BLOCK_LINKED;
}

/* The size of a block's header in a file of that version, bytes. */
static inline size_t mt_block_header_size(unsigned version)
{
    return version < MT_BLOCK_LINKED ? MT_BLOCK_BARE_SIZE : MT_BLOCK_HEADER_SIZE;
}

/* Start a chain from a file's header: its trace id and the number of events in the older segment.
 */
struct mt_chain mt_chain_begin(uint64_t trace_id, uint64_t of_older, unsigned version);

/* Fill in the link of a block whose other members are set. Call mt_chain_add once the header has
 * been written or read. */
void mt_chain_link(const struct mt_chain *chain, struct mt_block_header *header);
void mt_chain_add(struct mt_chain *chain, const struct mt_block_header *header);

/* Return whether a block follows the chain. The first block states how many events the older
 * segment had; the chain copies that number. */
bool mt_chain_fits(struct mt_chain *chain, const struct mt_block_header *header);

/* Follow a file's blocks up to the byte `until`, which must be the start of a block or the end of
 * the file. Reads headers only. Return 0 and set *chain, or a negative errno. */
int mt_chain_read(struct mt_chain *chain, int fd, uint64_t until);

/* Tables for CRC-32 of eight bytes at a time. Each user has its own, filled by mt_crc_init. */
struct mt_crc {
    uint32_t table[8][256];
};

void mt_crc_init(struct mt_crc *crc);

/* Write the header and set *header's checksum, which covers the header and the stored payload.
 * Return the header's size in a file of that version. */
size_t mt_block_header_put(unsigned char out[MT_BLOCK_HEADER_SIZE], struct mt_block_header *header,
                           const void *payload, unsigned version, const struct mt_crc *crc);

/* Read the header of a file of that version. Return 0, or -EINVAL if it is not a header or its
 * sizes exceed the limits. */
int mt_block_header_get(const unsigned char in[MT_BLOCK_HEADER_SIZE],
                        struct mt_block_header *header, unsigned version);

/* Read the header of the block at an offset in a file of that version. Return 1; 0 if the file ends
 * before it; or -EINVAL as above. */
int mt_block_header_at(int fd, uint64_t at, struct mt_block_header *header, unsigned version);

/* Return whether the checksum matches the header and its payload. */
bool mt_block_sound(const unsigned char header[MT_BLOCK_HEADER_SIZE], const void *payload,
                    size_t size, unsigned version, const struct mt_crc *crc);

#endif
