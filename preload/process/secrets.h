/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Secrets in command lines: found by the name before them (--token VALUE, HF_TOKEN=VALUE,
 * "api_key": "VALUE"), by their own form (hf_..., a JSON web token), or as a URL's password.
 * secrets.c has the tables. A secret without such a name or form is not found.
 */
#ifndef MT_SECRETS_H
#define MT_SECRETS_H

#include <stddef.h>

/* Replace each secret by MT_SECRET_MASK. text is words separated by zeros or spaces, `size` bytes;
 * it does not grow. Return the new size. Makes no allocation and no call. */
#define MT_SECRET_MASK "***"
size_t mt_mask_secrets(char *text, size_t size);

#endif
