/* SPDX-License-Identifier: Apache-2.0 */
#include "request-log.h"
#include "analyzer/trace/definitions.h"
#include "planner/requests/recorded-conf.h"
#include "request-order.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define MOST_REQUESTS 1000000u /* of a longer run too much memory and time goes into a guess */

bool mt_request_log_settings(const struct mt_asked *asked, const struct mt_definitions *definitions,
                             struct mt_alloc_conf *conf, struct mt_torch_release *release)
{
    struct mt_recorded_setup setup;
    mt_recorded_setup(&setup, definitions);
    *conf = setup.conf;
    *release = setup.release;
    return asked->n && !asked->unknown && !asked->from_before && asked->knows_others &&
           mt_setup_is_known(&setup) && !conf->async;
}

int mt_request_log_new(void)
{
    int file = memfd_create("memtap-fit", MFD_CLOEXEC);
    return file < 0 ? -errno : file;
}

static int write_all(int file, const void *from, size_t size)
{
    const char *at = from;
    while (size) {
        ssize_t n = write(file, at, size);
        if (n < 0 && errno != EINTR)
            return -errno;
        at += n > 0 ? n : 0;
        size -= n > 0 ? (size_t)n : 0;
    }
    return 0;
}

/* What a run asked for until memory ran out: the request that failed, and what stands for the end
 * of its block, are of one event. */
static size_t up_to_failure(const struct mt_asked *asked)
{
    for (size_t i = 1; i < asked->n && asked->ooms; i++)
        if (asked->request[i - 1].kind == MT_REQUEST_ALLOCATE &&
            asked->request[i].kind == MT_REQUEST_FREE &&
            asked->recorded[i].event == asked->recorded[i - 1].event)
            return i - 1;
    return asked->n;
}

int mt_request_log_write(int file, const struct mt_asked *asked,
                         const struct mt_definitions *definitions)
{
    struct mt_request_log_device head = {0};
    size_t n = up_to_failure(asked);
    if (n > MOST_REQUESTS || asked->n_confs ||
        !mt_request_log_settings(asked, definitions, &head.conf, &head.release))
        return -EINVAL;
    struct mt_request *kept = malloc((n + 1) * sizeof *kept);
    if (!kept)
        return -ENOMEM;
    for (size_t i = 0; i < n; i++)
        if (asked->request[i].kind != MT_REQUEST_MARK)
            kept[head.n++] = asked->request[i];
    int rc = mt_requests_order(kept, head.n);
    if (!rc)
        rc = write_all(file, &head, sizeof head);
    if (!rc)
        rc = write_all(file, kept, head.n * sizeof *kept);
    free(kept);
    return rc;
}

void mt_request_log_forget(int file)
{
    if (!ftruncate(file, 0))
        lseek(file, 0, SEEK_SET);
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
