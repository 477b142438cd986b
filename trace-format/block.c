/* SPDX-License-Identifier: Apache-2.0 */
#include "block.h"

#include <errno.h>
#include <string.h>

/* Byte offsets in the header; all numbers are little-endian. */
enum {
    AT_MAGIC = 0,
    AT_TYPE = 4,
    AT_CODEC = 5,
    AT_STORED_SIZE = 8,
    AT_RAW_SIZE = 12,
    AT_RECORDS = 16,
    AT_CHECKSUM = 20,
    AT_BASE_TIME = 24,
};

static const char block_magic[4] = {'M', 'T', 'B', 'K'};

static uint64_t get(const unsigned char *at, unsigned size)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < size; i++)
        value |= (uint64_t)at[i] << (8 * i);
    return value;
}

static void put(unsigned char *at, uint64_t value, unsigned size)
{
    for (unsigned i = 0; i < size; i++)
        at[i] = (unsigned char)(value >> (8 * i));
}

/* CRC-32 with the reflected polynomial 0xEDB88320 (ISO 3309), four bits a step: its table fits in
 * a cache line and needs no set-up. */
static uint32_t crc32_add(uint32_t crc, const unsigned char *at, size_t size)
{
    static const uint32_t nibble[16] = {
        0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac, 0x76dc4190, 0x6b6b51f4,
        0x4db26158, 0x5005713c, 0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c,
        0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c};
    for (size_t i = 0; i < size; i++) {
        crc ^= at[i];
        crc = (crc >> 4) ^ nibble[crc & 15];
        crc = (crc >> 4) ^ nibble[crc & 15];
    }
    return crc;
}

/* Of the header with zeros in the place of the checksum, then the payload. */
static uint32_t checksum(const unsigned char header[MT_BLOCK_HEADER_SIZE], const void *payload,
                         size_t size)
{
    unsigned char blank[MT_BLOCK_HEADER_SIZE];
    memcpy(blank, header, sizeof blank);
    put(blank + AT_CHECKSUM, 0, 4);
    uint32_t crc = crc32_add(0xffffffff, blank, sizeof blank);
    return ~crc32_add(crc, payload, size);
}

void mt_block_header_put(unsigned char out[MT_BLOCK_HEADER_SIZE],
                         const struct mt_block_header *header, const void *payload)
{
    memset(out, 0, MT_BLOCK_HEADER_SIZE);
    memcpy(out + AT_MAGIC, block_magic, sizeof block_magic);
    out[AT_TYPE] = header->type;
    out[AT_CODEC] = header->codec;
    put(out + AT_STORED_SIZE, header->stored_size, 4);
    put(out + AT_RAW_SIZE, header->raw_size, 4);
    put(out + AT_RECORDS, header->records, 4);
    put(out + AT_BASE_TIME, header->base_time_ns, 8);
    put(out + AT_CHECKSUM, checksum(out, payload, header->stored_size), 4);
}

int mt_block_header_get(const unsigned char in[MT_BLOCK_HEADER_SIZE],
                        struct mt_block_header *header)
{
    if (memcmp(in + AT_MAGIC, block_magic, sizeof block_magic))
        return -EINVAL;
    header->type = in[AT_TYPE];
    header->codec = in[AT_CODEC];
    header->stored_size = (uint32_t)get(in + AT_STORED_SIZE, 4);
    header->raw_size = (uint32_t)get(in + AT_RAW_SIZE, 4);
    header->records = (uint32_t)get(in + AT_RECORDS, 4);
    header->base_time_ns = get(in + AT_BASE_TIME, 8);
    if (header->stored_size > MT_BLOCK_PAYLOAD_LIMIT || header->raw_size > MT_BLOCK_PAYLOAD_LIMIT ||
        header->records > MT_BLOCK_RECORD_LIMIT)
        return -EINVAL;
    return 0;
}

int mt_block_sound(const unsigned char header[MT_BLOCK_HEADER_SIZE], const void *payload,
                   size_t size)
{
    return get(header + AT_CHECKSUM, 4) == checksum(header, payload, size);
}
