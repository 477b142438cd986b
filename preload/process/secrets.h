/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Secrets in command lines: what is found by the name before it (--token VALUE, HF_TOKEN=VALUE,
 * "api_key": "VALUE"), by its own form (hf_..., a JSON web token), or as a URL's password.
 * secrets.c has the tables. What has neither such a name nor such a form stays.
 */
#ifndef MT_SECRETS_H
#define MT_SECRETS_H

#include <stddef.h>

/* Put MT_SECRET_MASK in the place of each secret. text: words that zeros or spaces separate, `size`
 * bytes; it gets shorter or keeps its length. Return the new size. No allocation, no call. */
#define MT_SECRET_MASK "***"
size_t mt_mask_secrets(char *text, size_t size);

#endif
