/* SPDX-License-Identifier: Apache-2.0 */
/* What other tools recorded, through memtap import: what is wrong must be told in one line, and a
 * trace that is made must be sound, with totals that fit its blocks. */
#include "analyzer/replay/replay.h"
#include "exchange/import/import.h"
#include "target.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define MOST_BYTES (1u << 20)

static int file_in_memory(const char *name)
{
    int fd = memfd_create(name, MFD_CLOEXEC);
    if (fd < 0)
        abort();
    return fd;
}

static void look_at(const char *path)
{
    struct mt_question question = {.moment = {.kind = MT_AT_PEAK}};
    struct mt_replay *replay = calloc(1, sizeof *replay);
    struct mt_trace_error error = {0};
    if (!replay || mt_replay(path, &question, replay, &error) || error.fault)
        abort();
    if (replay->oddities.unknown || replay->oddities.wrong_size)
        abort();
    mt_replay_clear(replay);
    free(replay);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static int from = -1, to = -1;
    char source[64], made[64];
    struct mt_import_summary summary;
    struct mt_import_error error;
    if (size > MOST_BYTES)
        return 0;
    if (from < 0)
        from = file_in_memory("input"), to = file_in_memory("trace");
    if (ftruncate(from, 0) || ftruncate(to, 0) || pwrite(from, bytes, size, 0) != (ssize_t)size)
        abort();
    snprintf(source, sizeof source, "/proc/self/fd/%d", from);
    snprintf(made, sizeof made, "/proc/self/fd/%d", to);
    FILE *out = fopen(made, "r+b");
    if (!out)
        abort();
    int rc = mt_import(source, out, "/dev/shm", &summary, &error);
    if (fclose(out))
        abort();
    if (rc && (rc != -EBADMSG || !*error.text || strchr(error.text, '\n')))
        abort();
    if (!rc)
        look_at(made);
    return 0;
}
