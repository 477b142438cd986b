/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Other tools' recordings, converted to traces: the importer of memtap import. What it writes goes
 * to files that the page keeps in memory (src/wasi.ts).
 */
#include "exchange/import/import.h"
#include "analyzer/support/new-file.h"
#include "export.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

static struct mt_import_error error;
static char *notes;

/* Return whether a file is of another tool. */
EXPORT("may_import") bool mt_web_may_import(const char *path)
{
    return mt_may_import(path);
}

/* Convert a file to a trace. Return 0 or a negative errno; `import_fault` says why, unless it is
 * empty. */
EXPORT("import") int mt_web_import(const char *path, const char *trace)
{
    struct mt_import_summary summary;
    size_t size;
    FILE *out = fopen(trace, "w"), *text = open_memstream(&notes, &size);
    int rc = out && text ? mt_import(path, out, "", &summary, &error) : -ENOMEM;
    if (out && fclose(out) && !rc)
        rc = -errno;
    if (text && !rc)
        mt_import_notes(&summary, text);
    if (text)
        fclose(text);
    return rc;
}

EXPORT("import_fault") const char *mt_web_import_fault(void)
{
    return error.text;
}

/* Return what the trace lacks and why, a line each. */
EXPORT("import_notes") const char *mt_web_import_notes(void)
{
    return notes ? notes : "";
}

FILE *mt_unnamed_file(const char *folder)
{
    (void)folder;
    return fopen("unnamed", "w+");
}

/* Zstd frames that only store: a page writes traces for itself, and has no compressor. */
#define BLOCK (128u << 10) /* zstd's most */

ZSTD_CCtx *mt_stored_create(void)
{
    return malloc(1);
}

size_t mt_stored_free(ZSTD_CCtx *context)
{
    free(context);
    return 0;
}

/* As ZSTD_compressCCtx: `room` is at least ZSTD_compressBound(size), which a stored frame never
 * exceeds. */
size_t mt_stored_compress(ZSTD_CCtx *context, void *out, size_t room, const void *bytes,
                          size_t size, int level)
{
    (void)context, (void)room, (void)level;
    const unsigned char head[] = {0x28, 0xb5, 0x2f, 0xfd, 0xa0 /* one segment, size in 4 bytes */};
    unsigned char *at = memcpy(out, head, sizeof head);
    at += sizeof head;
    for (unsigned i = 0; i < 4; i++)
        *at++ = (unsigned char)(size >> 8 * i);
    for (size_t done = 0; done < size || !size;) {
        size_t n = size - done < BLOCK ? size - done : BLOCK;
        size_t word = n << 3 | (done + n == size); /* stored, the last one */
        for (unsigned i = 0; i < 3; i++)
            *at++ = (unsigned char)(word >> 8 * i);
        memcpy(at, (const char *)bytes + done, n);
        at += n;
        done += n;
        if (!size)
            break;
    }
    return (size_t)(at - (unsigned char *)out);
}
