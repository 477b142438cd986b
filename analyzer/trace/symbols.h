/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The names of native frames, looked up in the files that the program ran, or in what was split off
 * from them (/usr/lib/debug), by build id: what has been built anew since is not asked. The network
 * is only where DEBUGINFOD_URLS says so. Used by one thread at a time.
 */
#ifndef MT_SYMBOLS_H
#define MT_SYMBOLS_H

#include "definitions.h"

struct mt_symbols;

struct mt_symbol {
    const char *function; /* demangled, without its parameters */
    const char *file;     /* source, NULL: not known */
    uint32_t line;        /* 0: not known */
};

/* NULL when there is no memory. */
struct mt_symbols *mt_symbols_create(void);
void mt_symbols_destroy(struct mt_symbols *symbols);

/* Looks up what is at an address of an image: 0, -ENOENT, or -ENOMEM. The texts live as long as
 * the symbols. A image's file is opened at its first address and kept open. */
int mt_symbols_find(struct mt_symbols *symbols, struct mt_trace_image image, uint64_t address,
                    struct mt_symbol *out);

#endif
