/* SPDX-License-Identifier: Apache-2.0 */
#include "block.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define EXTENSION ".mtap"

bool mt_is_foreign_file(const char *path)
{
    struct stat status;
    char begin[MT_FILE_MAGIC_SIZE] = "";
    size_t n = strlen(path), extension = strlen(EXTENSION);
    if (n > extension && !strcmp(path + n - extension, EXTENSION))
        return false;
    if (stat(path, &status) || !S_ISREG(status.st_mode) || !status.st_size)
        return false;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    ssize_t size = fd < 0 ? 0 : pread(fd, begin, sizeof begin, 0);
    if (fd >= 0)
        close(fd);
    return size != (ssize_t)sizeof begin || memcmp(begin, MT_FILE_MAGIC, sizeof begin);
}

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
    AT_NUMBER = 32,
    AT_BEFORE = 36,
    AT_EVENTS = 40,
};

static const char block_magic[4] = {'M', 'T', 'B', 'K'};

static inline uint64_t get(const unsigned char *at, unsigned size)
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

/* Compute the tables of CRC-32 with the reflected polynomial 0xEDB88320 (ISO 3309). table[0] has a
 * byte's remainder, table[k] that of a byte followed by k zero bytes. */
void mt_crc_init(struct mt_crc *crc)
{
    for (uint32_t byte = 0; byte < 256; byte++) {
        uint32_t rest = byte;
        for (int bit = 0; bit < 8; bit++)
            rest = rest & 1 ? (rest >> 1) ^ 0xedb88320 : rest >> 1;
        crc->table[0][byte] = rest;
    }
    for (uint32_t byte = 0; byte < 256; byte++)
        for (int k = 1; k < 8; k++) {
            uint32_t before = crc->table[k - 1][byte];
            crc->table[k][byte] = (before >> 8) ^ crc->table[0][before & 0xff];
        }
}

static uint32_t crc32_add(const struct mt_crc *crc, uint32_t sum, const unsigned char *at,
                          size_t size)
{
    for (; size >= 8; at += 8, size -= 8) {
        uint64_t word = mt_get64(at) ^ sum; /* unrolled by hand: compilers do not */
        sum = crc->table[7][word & 0xff] ^ crc->table[6][word >> 8 & 0xff] ^
              crc->table[5][word >> 16 & 0xff] ^ crc->table[4][word >> 24 & 0xff] ^
              crc->table[3][word >> 32 & 0xff] ^ crc->table[2][word >> 40 & 0xff] ^
              crc->table[1][word >> 48 & 0xff] ^ crc->table[0][word >> 56];
    }
    for (; size; at++, size--)
        sum = (sum >> 8) ^ crc->table[0][(sum ^ *at) & 0xff];
    return sum;
}

/* Return the checksum of the header, its own checksum field as zero, and the payload. */
static uint32_t checksum(const struct mt_crc *crc, const unsigned char *header, size_t header_size,
                         const void *payload, size_t size)
{
    unsigned char blank[MT_BLOCK_HEADER_SIZE];
    memcpy(blank, header, header_size);
    put(blank + AT_CHECKSUM, 0, 4);
    uint32_t sum = crc32_add(crc, 0xffffffff, blank, header_size);
    return ~crc32_add(crc, sum, payload, size);
}

size_t mt_block_header_put(unsigned char out[MT_BLOCK_HEADER_SIZE], struct mt_block_header *header,
                           const void *payload, unsigned version, const struct mt_crc *crc)
{
    size_t size = mt_block_header_size(version);
    memset(out, 0, size);
    memcpy(out + AT_MAGIC, block_magic, sizeof block_magic);
    out[AT_TYPE] = header->type;
    out[AT_CODEC] = header->codec;
    put(out + AT_STORED_SIZE, header->stored_size, 4);
    put(out + AT_RAW_SIZE, header->raw_size, 4);
    put(out + AT_RECORDS, header->records, 4);
    put(out + AT_BASE_TIME, header->base_time_ns, 8);
    if (version >= MT_BLOCK_LINKED) {
        put(out + AT_NUMBER, header->number, 4);
        put(out + AT_BEFORE, header->before, 4);
        put(out + AT_EVENTS, header->events, 8);
    }
    header->checksum = checksum(crc, out, size, payload, header->stored_size);
    put(out + AT_CHECKSUM, header->checksum, 4);
    return size;
}

int mt_block_header_get(const unsigned char in[MT_BLOCK_HEADER_SIZE],
                        struct mt_block_header *header, unsigned version)
{
    if (memcmp(in + AT_MAGIC, block_magic, sizeof block_magic))
        return -EINVAL;
    bool is_linked = version >= MT_BLOCK_LINKED;
    *header = (struct mt_block_header){.type = in[AT_TYPE],
                                       .codec = in[AT_CODEC],
                                       .stored_size = (uint32_t)get(in + AT_STORED_SIZE, 4),
                                       .raw_size = (uint32_t)get(in + AT_RAW_SIZE, 4),
                                       .records = (uint32_t)get(in + AT_RECORDS, 4),
                                       .base_time_ns = get(in + AT_BASE_TIME, 8),
                                       .checksum = (uint32_t)get(in + AT_CHECKSUM, 4),
                                       .number = is_linked ? (uint32_t)get(in + AT_NUMBER, 4) : 0,
                                       .before = is_linked ? (uint32_t)get(in + AT_BEFORE, 4) : 0,
                                       .events = is_linked ? get(in + AT_EVENTS, 8) : 0};
    if (header->stored_size > MT_BLOCK_PAYLOAD_LIMIT || header->raw_size > MT_BLOCK_PAYLOAD_LIMIT ||
        header->records > MT_BLOCK_RECORD_LIMIT)
        return -EINVAL;
    return 0;
}

int mt_block_header_at(int fd, uint64_t at, struct mt_block_header *header, unsigned version)
{
    unsigned char bytes[MT_BLOCK_HEADER_SIZE];
    const ssize_t size = (ssize_t)mt_block_header_size(version);
    if (pread(fd, bytes, (size_t)size, (off_t)at) != size)
        return 0;
    return mt_block_header_get(bytes, header, version) ? -EINVAL : 1;
}

bool mt_block_sound(const unsigned char header[MT_BLOCK_HEADER_SIZE], const void *payload,
                    size_t size, unsigned version, const struct mt_crc *crc)
{
    return get(header + AT_CHECKSUM, 4) ==
           checksum(crc, header, mt_block_header_size(version), payload, size);
}

/* --- the chain ------------------------------------------------------------------------------ */

struct mt_chain mt_chain_begin(uint64_t trace_id, uint64_t of_older, unsigned version)
{
    return (struct mt_chain){.before = (uint32_t)(trace_id ^ trace_id >> 32),
                             .events = of_older,
                             .of_older = of_older,
                             .is_bare = version < MT_BLOCK_LINKED};
}

void mt_chain_link(const struct mt_chain *chain, struct mt_block_header *header)
{
    header->number = chain->blocks + 1;
    header->before = chain->before;
    header->events = chain->events;
}

void mt_chain_add(struct mt_chain *chain, const struct mt_block_header *header)
{
    chain->blocks++;
    chain->before = header->checksum;
    chain->events += header->type == MT_BLOCK_EVENTS ? header->records : 0;
}

bool mt_chain_fits(struct mt_chain *chain, const struct mt_block_header *header)
{
    if (!chain->blocks && !chain->is_bare)
        chain->events = chain->of_older = header->events;
    return chain->is_bare || (header->number == chain->blocks + 1 &&
                              header->before == chain->before && header->events == chain->events);
}

int mt_chain_read(struct mt_chain *chain, int fd, uint64_t until)
{
    unsigned char bytes[MT_FILE_HEADER_SIZE];
    struct mt_block_header header;
    int rc = 0;
    if (pread(fd, bytes, MT_FILE_HEADER_SIZE, 0) != MT_FILE_HEADER_SIZE ||
        memcmp(bytes, MT_FILE_MAGIC, MT_FILE_MAGIC_SIZE))
        return -EINVAL;
    unsigned version = mt_get16(bytes + 8);
    uint64_t at = mt_get16(bytes + 10);
    *chain = mt_chain_begin(mt_get64(bytes + 16), 0, version);
    while (at < until && (rc = mt_block_header_at(fd, at, &header, version)) > 0) {
        if (!mt_chain_fits(chain, &header))
            return -EINVAL;
        mt_chain_add(chain, &header);
        at += mt_block_header_size(version) + header.stored_size;
    }
    return rc < 0 ? rc : 0;
}
