/* SPDX-License-Identifier: Apache-2.0 */
#include "handles.h"
#include "analyzer/support/text.h"

#include <stdio.h>
#include <string.h>

enum { CUBLAS, CUDNN, CUSOLVER, LIBRARIES };

/* streams: bytes used by a handle's streams, whose size CUDA does not report, as measured on an
 * H100. */
static const struct {
    const char *file;
    uint64_t streams;
    bool is_called_back; /* if forward uses it, backward does too */
} table[LIBRARIES] = {
    [CUBLAS] = {"libcublas", 0, true},
    [CUDNN] = {"libcudnn", UINT64_C(10) << 20, true},
    [CUSOLVER] = {"libcusolver", 0, false},
};

static unsigned find_library(const char *file)
{
    unsigned i = 0;
    while (i < LIBRARIES && (!file || strncmp(file, table[i].file, strlen(table[i].file)) != 0))
        i++;
    return i;
}

/* Return the handle's slot, or the next free one. */
static size_t find_handle(const struct mt_handles *handles, uint32_t thread, unsigned library)
{
    for (size_t i = 0; i < handles->n; i++)
        if (handles->of[i].thread == thread && handles->of[i].library == library)
            return i;
    return handles->n;
}

void mt_handles_note(struct mt_handles *handles, const struct mt_replay *replay,
                     const struct mt_event *event)
{
    if (event->kind != MT_CUDA_MALLOC)
        return;
    unsigned library = find_library(mt_library_of(replay->definitions, event->stack));
    size_t i = find_handle(handles, event->thread, library);
    if (library == LIBRARIES || i == MT_HANDLES_KEPT)
        return;
    if (i == handles->n)
        handles->of[handles->n++] =
            (struct mt_handle){.bytes = table[library].streams,
                               .thread = event->thread,
                               .library = (uint8_t)library,
                               .of_backward = replay->present.thread->at.n_nodes > 0};
    handles->of[i].wanted = event->CUDA_MALLOC.result ? event->size : 0;
    handles->of[i].bytes += event->CUDA_MALLOC.result ? 0 : event->size;
}

uint64_t mt_handles_bytes(const struct mt_handles *handles)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < handles->n; i++)
        bytes += handles->of[i].bytes;
    return bytes;
}

struct mt_handles_to_come mt_handles_of_backward(const struct mt_handles *handles)
{
    struct mt_handles_to_come to_come = {.lacks = true};
    uint64_t forward[LIBRARIES] = {0};
    bool has_backward[LIBRARIES] = {false};
    for (size_t i = 0; i < handles->n; i++) {
        const struct mt_handle *handle = &handles->of[i];
        to_come.lacks &= handle->library != CUBLAS;
        has_backward[handle->library] |= handle->of_backward;
        if (forward[handle->library] < handle->bytes + handle->wanted)
            forward[handle->library] = handle->bytes + handle->wanted;
    }
    for (unsigned i = 0; i < LIBRARIES; i++)
        to_come.bytes += table[i].is_called_back && !has_backward[i] ? forward[i] : 0;
    return to_come;
}

const char *mt_handles_text(char *out, size_t size, const struct mt_handles_to_come *to_come,
                            const char *between)
{
    char bytes[MT_SIZE_TEXT];
    *out = '\0';
    if (to_come->bytes)
        mt_text_append(out, size, "with %s for the handles of backward's thread",
                       mt_size_text(bytes, to_come->bytes));
    if (to_come->lacks)
        mt_text_append(out, size,
                       "%swithout cuBLAS handles: the run had none (64 MiB per thread on an H100)",
                       *out ? between : "");
    return out;
}
