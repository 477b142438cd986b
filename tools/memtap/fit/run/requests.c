/* SPDX-License-Identifier: Apache-2.0 */
#include "requests.h"
#include "analyzer/support/search.h"
#include "analyzer/support/write.h"
#include "analyzer/trace/definitions.h"
#include "planner/requests/recorded-conf.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define MOST_REQUESTS 1000000u /* a longer run costs too much memory and time for a prediction */

static bool has_block(unsigned kind)
{
    return kind == MT_REQUEST_ALLOCATE || kind == MT_REQUEST_FREE ||
           kind == MT_REQUEST_RECORD_STREAM || kind == MT_REQUEST_COMPLETE;
}

/* Give each block the number of its allocation. */
static int number_blocks(struct mt_request *request, size_t n)
{
    uint32_t most = 0, births = 0;
    for (size_t i = 0; i < n; i++)
        most = request[i].block > most ? request[i].block : most;
    uint32_t *birth = calloc((size_t)most + 1, sizeof *birth);
    for (size_t i = 0; birth && i < n; i++) {
        if (request[i].kind == MT_REQUEST_ALLOCATE)
            birth[request[i].block] = births++;
        if (has_block(request[i].kind))
            request[i].block = birth[request[i].block];
    }
    free(birth);
    return birth ? 0 : -ENOMEM;
}

/* A free is identified by its block. Changes of others' memory are interleaved and are not
 * requests. */
MT_ORDER(by_block, uint32_t, MT_COMPARE(*a, *b))

int mt_requests_order(struct mt_request *request, size_t n)
{
    uint32_t *freed = calloc(n + 1, sizeof *freed);
    int rc = freed ? number_blocks(request, n) : -ENOMEM;
    for (size_t i = 0, end; i < n && !rc; i = end + 1) {
        size_t n_freed = 0;
        for (end = i; end < n && (request[end].kind == MT_REQUEST_FREE ||
                                  request[end].kind == MT_REQUEST_OTHERS);
             end++)
            if (request[end].kind == MT_REQUEST_FREE)
                freed[n_freed++] = request[end].block;
        qsort(freed, n_freed, sizeof *freed, by_block);
        for (n_freed = 0; i < end; i++)
            if (request[i].kind == MT_REQUEST_FREE)
                request[i].block = freed[n_freed++];
    }
    free(freed);
    return rc;
}

int mt_request_log_new(void)
{
    int file = memfd_create("memtap-fit", MFD_CLOEXEC);
    return file < 0 ? -errno : file;
}

/* Return the number of requests until memory ran out. The failed request and its block's
 * pseudo-free belong to one event. */
static size_t up_to_failure(const struct mt_requests *requests)
{
    for (size_t i = 1; i < requests->n && requests->ooms; i++)
        if (requests->request[i - 1].kind == MT_REQUEST_ALLOCATE &&
            requests->request[i].kind == MT_REQUEST_FREE &&
            requests->recorded[i].event == requests->recorded[i - 1].event)
            return i - 1;
    return requests->n;
}

int mt_request_log_write(int file, const struct mt_requests *requests,
                         const struct mt_definitions *definitions)
{
    struct mt_recorded_setup setup;
    size_t n = up_to_failure(requests);
    mt_recorded_setup(&setup, definitions);
    struct mt_request_log_device head = {.conf = setup.conf, .release = setup.release};
    if (!requests->n || n > MOST_REQUESTS || requests->n_confs || requests->unknown ||
        requests->from_before || !requests->knows_others || !mt_setup_is_known(&setup) ||
        setup.conf.async)
        return -EINVAL;
    struct mt_request *kept = malloc((n + 1) * sizeof *kept);
    if (!kept)
        return -ENOMEM;
    for (size_t i = 0; i < n; i++)
        if (requests->request[i].kind != MT_REQUEST_MARK)
            kept[head.n++] = requests->request[i];
    int rc = mt_requests_order(kept, head.n);
    if (!rc)
        rc = mt_write_all(file, &head, sizeof head);
    if (!rc)
        rc = mt_write_all(file, kept, head.n * sizeof *kept);
    free(kept);
    return rc;
}

void mt_request_log_read(struct mt_request_log *log, int file)
{
    struct stat status;
    *log = (struct mt_request_log){0};
    if (!fstat(file, &status) && status.st_size > 0) {
        void *memory = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_SHARED, file, 0);
        log->memory = memory == MAP_FAILED ? NULL : memory;
        log->size = log->memory ? (size_t)status.st_size : 0;
    }
    close(file);
    for (size_t at = 0; at < log->size && log->n_devices < MT_MOST_LOGGED;) {
        const struct mt_request_log_device *device =
            (const struct mt_request_log_device *)(const void *)((const char *)log->memory + at);
        log->device[log->n_devices++] = device;
        at += sizeof *device + device->n * sizeof *device->request;
    }
}

void mt_request_log_clear(struct mt_request_log *log)
{
    if (log->memory)
        munmap(log->memory, log->size);
    *log = (struct mt_request_log){0};
}
