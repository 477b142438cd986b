/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SHA-256 (FIPS 180-4) of files, as sha256sum prints it.
 */
#ifndef MT_CHECKSUM_H
#define MT_CHECKSUM_H

#include <stdint.h>

#define MT_CHECKSUM_TEXT 65 /* hexadecimal, terminated */

/* Read a whole file; *size gets its bytes. copy: a file descriptor to copy them to, or -1. Return 0
 * or a negative errno. */
int mt_checksum_file(char out[MT_CHECKSUM_TEXT], uint64_t *size, const char *path, int copy);

#endif
