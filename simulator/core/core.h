/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The simulated devices: one state for all stand-in libraries of a process (libcudasim.so). It
 * speaks errno, bytes and its own types; the runtime and the driver translate.
 *
 * Functions return 0 or a negative errno, and are thread-safe unless they say otherwise.
 */
#ifndef SIM_CORE_H
#define SIM_CORE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "catalogue.h"

#define SIM_API __attribute__((visibility("default")))
#define SIM_PAGE ((uint64_t)2 << 20) /* what the driver hands out: 2 MiB */

/* --- devices ---------------------------------------------------------------------------- */

enum { SIM_DEVICES_MAX = 16 };

/* A driver context. Each device has one primary context; programs may make more. */
struct sim_context {
    int device;
    bool primary;
    unsigned references;
};

struct sim_device {
    const struct sim_gpu *gpu;
    uint64_t total;         /* bytes */
    _Atomic uint64_t used;  /* contexts and allocations, whole pages, and these two: */
    uint64_t others;        /* of another process */
    uint64_t unowned;       /* of no process that NVML tells of */
    _Atomic bool alive;     /* the primary context exists */
    _Atomic uint32_t peers; /* whose memory it may use: a bit each */
    struct sim_context primary;
};

/* What a thread carries. Initial-exec TLS: reading it costs one instruction. */
struct sim_thread {
    int device;                  /* the runtime's current device */
    int error;                   /* the runtime's last error */
    int capture_mode;            /* what it minds while others capture: capture.h */
    struct sim_context *context; /* the driver's current context, NULL: none yet */
};
SIM_API extern _Thread_local struct sim_thread sim_thread
    __attribute__((tls_model("initial-exec")));

/* The devices that the program sees (CUDASIM_GPUS, narrowed by CUDA_VISIBLE_DEVICES). */
SIM_API int sim_device_count(void);
/* All devices of the machine, whatever the program sees. */
SIM_API int sim_machine_count(void);
/* A device by its number in the program; NULL when there is none. Lives for ever. */
SIM_API struct sim_device *sim_device(int number);
/* A device that the program does not see, by its number in the machine. Never NULL. */
SIM_API struct sim_device *sim_machine_device(int ordinal);
/* The number in the machine of a device of the program. */
SIM_API int sim_device_ordinal(int number);
/* The 16 bytes that identify a device of the machine. */
SIM_API void sim_device_uuid(int ordinal, unsigned char uuid[16]);
/* "0000:1B:00.0", at most `size` bytes with the zero. Returns -EINVAL when it does not fit. */
SIM_API int sim_device_pci_name(int ordinal, char *name, int size);
/* The bus number of a device of the machine in pci names. */
SIM_API int sim_device_pci_bus(int ordinal);
/* An attribute by its CUDA number (the runtime's and the driver's are the same); 0 if unknown. */
SIM_API int sim_device_attribute(const struct sim_device *device, int attribute);
/* How many blocks of that shape fit one multiprocessor, at least 1. */
SIM_API int sim_occupancy(const struct sim_device *device, int threads, size_t shared);

/* Makes the calling thread's device ready for use: the primary context is there and bound. */
SIM_API int sim_enter_slow(void);
static inline int sim_enter(void)
{
    return sim_thread.context ? 0 : sim_enter_slow();
}
/* Brings up the primary context of a device: -ENOMEM when it does not fit, -ENODEV. */
SIM_API int sim_primary_up(int device);
/* Takes it down with everything that was allocated on the device. */
SIM_API void sim_primary_down(int device);
/* Takes `bytes` (whole pages) of a device, or gives them back. -ENOMEM: beyond its capacity. */
SIM_API int sim_take(struct sim_device *device, uint64_t bytes);
SIM_API void sim_give(struct sim_device *device, uint64_t bytes);

/* --- memory ----------------------------------------------------------------------------- */

enum sim_kind {
    SIM_DEVICE = 1,     /* cudaMalloc and its kin */
    SIM_MANAGED = 2,    /* cudaMallocManaged: counted on the device that was current */
    SIM_HOST = 4,       /* page-locked memory that we allocated */
    SIM_REGISTERED = 8, /* page-locked memory of the program */
    SIM_RESERVED = 16,  /* addresses without memory: cuMemAddressReserve */
};

/* Where it comes from, and goes back to. */
enum sim_place { SIM_ALONE, SIM_IN_SLAB, SIM_IN_POOL, SIM_IN_GRAPH, SIM_OPENED, SIM_EXTERNAL };

struct sim_range {
    uintptr_t start;
    size_t size; /* what was asked for, in bytes */
    enum sim_kind kind;
    enum sim_place place;
    int device;
    unsigned flags;
    uint64_t id;  /* unique in the process */
    void *inside; /* what `place` names, or the reservation */
    int file;     /* of one that stands alone: behind its pages; 0: none */
};

/*
 * Allocates. Device memory reads as zero, is never committed before it is touched, and lies on
 * 512 bytes (small ones) or 2 MiB. *out is the address. -ENOMEM, or -EINVAL for a size of 0.
 */
SIM_API int sim_allocate(enum sim_kind kind, int device, size_t size, unsigned flags, void **out);
/* Frees what sim_allocate gave, if it is of one of `kinds`; else -EINVAL. */
SIM_API int sim_release(void *address, int kinds);
/* Notes memory of the program as page-locked; -EINVAL when a part of it is already known. */
SIM_API int sim_register(void *address, size_t size, unsigned flags);
SIM_API int sim_unregister(void *address);
/* The range that holds the address: true and a copy of it. */
SIM_API bool sim_find(const void *address, struct sim_range *range);
/* Frees all device memory of a device (its context is gone). */
SIM_API void sim_release_all(int device);

/* Virtual-memory management. Sizes and addresses are whole pages, else -EINVAL. */
struct sim_physical; /* memory without an address: cuMemCreate */
SIM_API int sim_physical_create(int device, size_t size, struct sim_physical **out);
SIM_API int sim_physical_retain(const void *address, struct sim_physical **out);
SIM_API int sim_physical_release(struct sim_physical *physical);
/* An object that takes no memory, and what is bound to it: of as many devices as were added. */
SIM_API int sim_multicast_create(unsigned devices, size_t size, struct sim_physical **out);
SIM_API int sim_multicast_add(struct sim_physical *object, int device);
SIM_API int sim_multicast_bind(struct sim_physical *object, size_t at,
                               struct sim_physical *physical, size_t offset, size_t size);
SIM_API int sim_multicast_bind_address(struct sim_physical *object, size_t at, const void *address,
                                       size_t size);
SIM_API int sim_multicast_unbind(struct sim_physical *object, int device, size_t at, size_t size);
SIM_API int sim_physical_device(const struct sim_physical *physical);
/* *fd is the caller's: other processes import it. */
SIM_API int sim_physical_export(struct sim_physical *physical, int *fd);
/* -EINVAL: the descriptor is not of such memory, or of a device that is not visible here. */
SIM_API int sim_physical_import(int fd, struct sim_physical **out);
SIM_API int sim_address_reserve(size_t size, size_t alignment, void **out);
SIM_API int sim_address_free(void *address, size_t size);
SIM_API int sim_map(void *address, size_t size, size_t offset, struct sim_physical *physical);
SIM_API int sim_unmap(void *address, size_t size);
SIM_API int sim_set_access(void *address, size_t size, bool allowed);
/* The mapping that holds the address: its start, size and device. -EINVAL: nothing is there. */
SIM_API int sim_mapping_at(const void *address, uintptr_t *start, size_t *size, int *device);
/* Called with the range lock held: all of it has memory that may be used. */
bool sim_mapped(const struct sim_range *reservation, uintptr_t start, size_t size);

/* --- contents --------------------------------------------------------------------------- */

enum sim_direction {
    SIM_HOST_TO_HOST,
    SIM_HOST_TO_DEVICE,
    SIM_DEVICE_TO_HOST,
    SIM_DEVICE_TO_DEVICE,
    SIM_BY_ADDRESS
};

/*
 * Copies `height` rows of `width` bytes. What comes from a device is always copied; what goes to
 * one only up to CUDASIM_COPY_LIMIT bytes in all. -EINVAL: the device side is no device memory.
 */
SIM_API int sim_copy(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,
                     size_t height, enum sim_direction direction);
/* CUDASIM_COPY_LIMIT: contents beyond this many bytes are not moved. */
SIM_API size_t sim_copy_limit(void);
/* Sets `count` elements of `element` (1, 2 or 4) bytes; larger ones only if they are zero. */
SIM_API int sim_set(void *to, unsigned value, size_t element, size_t count);

/* --- streams and events ----------------------------------------------------------------- */

/* The nodes of a graph that come last in a capture. */
struct sim_tips {
    struct sim_node **nodes;
    size_t count;
};

struct sim_stream {
    int device, priority;
    unsigned flags;
    uint64_t id;
    struct sim_capture *_Atomic capture; /* that it takes part in, or NULL */
    struct sim_stream *next_joined;
    struct sim_tips tips;
};

struct sim_event {
    int device;
    unsigned flags;
    uint64_t capture;      /* it was recorded in that one, 0: in none */
    struct sim_tips tips;  /* of the stream, then */
    _Atomic uint64_t time; /* ns of the monotonic clock, 0: never recorded */
};

/* The stream behind a handle: 0, 1 (legacy) and 2 (per thread) are the default stream. */
SIM_API struct sim_stream *sim_stream(void *handle);
SIM_API int sim_stream_create(unsigned flags, int priority, struct sim_stream **out);
SIM_API int sim_stream_destroy(struct sim_stream *stream);
SIM_API int sim_event_create(unsigned flags, struct sim_event **out);
SIM_API void sim_event_destroy(struct sim_event *event);
SIM_API void sim_event_record(struct sim_event *event, const struct sim_stream *stream);
/* -EINVAL: one of them has no timing; -EAGAIN: one was never recorded. */
SIM_API int sim_event_elapsed(const struct sim_event *from, const struct sim_event *to,
                              float *milliseconds);
SIM_API uint64_t sim_now(void);

/* --- the rest --------------------------------------------------------------------------- */

/* A handle that was never given out before and points nowhere. */
SIM_API void *sim_new_handle(void);
/* Say once on stderr what nobody modelled; *told belongs to the entry point. */
SIM_API void sim_note_success(const char *name, int *told);
SIM_API void sim_note_refusal(const char *name, int *told);
/* Writes to stderr when CUDASIM_VERBOSE is set. */
SIM_API void sim_verbose(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* A number from the environment (decimal), `otherwise` when it is not set or is none. */
SIM_API uint64_t sim_environment(const char *name, uint64_t otherwise);

#endif
