/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of native frames, looked up by build id in the files that the program ran or in their
 * separate debug files (/usr/lib/debug). Rebuilt files are not used, and the network only if
 * DEBUGINFOD_URLS is set. Use it from one thread at a time.
 */
#ifndef MT_SYMBOLS_H
#define MT_SYMBOLS_H

#include "definitions.h"

struct mt_symbols;

struct mt_symbol {
    const char *function; /* demangled, without its parameters */
    const char *file;     /* source, NULL: unknown */
    uint32_t line;        /* 0: unknown */
};

/* Create symbols. NULL: no memory. */
struct mt_symbols *mt_symbols_create(void);
void mt_symbols_destroy(struct mt_symbols *symbols);

/* Look up an address of an image. Return 0, -ENOENT, or -ENOMEM. The texts live as long as the
 * symbols. An image's file is opened at its first lookup and stays open. */
int mt_symbols_find(struct mt_symbols *symbols, struct mt_trace_image image, uint64_t address,
                    struct mt_symbol *out);

#endif
