/* SPDX-License-Identifier: Apache-2.0 */
/* The devices of this process, their contexts and their free memory. */
#ifndef SIM_DEVICE_H
#define SIM_DEVICE_H

#include "../base/base.h"
#include "catalogue.h"

enum { SIM_DEVICES_MAX = 16 };

/* A driver context. Each device has one primary context; programs may create more. */
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
    uint64_t unowned;       /* of no process that NVML lists */
    _Atomic bool alive;     /* the primary context exists */
    size_t stack;           /* bytes of a thread of a kernel */
    unsigned further;       /* contexts besides the primary one */
    unsigned streams;       /* that there are */
    uint64_t stacks;        /* memory of all threads' stacks beyond a context's own share */
    uint64_t for_streams;   /* memory allocated for streams; kept until their context ends */
    _Atomic uint32_t peers; /* devices whose memory it may use, one bit each */
    struct sim_context primary;
};

/* The state of a thread. Initial-exec TLS: reading it costs one instruction. */
struct sim_thread {
    int device;                  /* the runtime's current device */
    int error;                   /* the runtime's last error */
    int capture_mode;            /* its mode while others capture (capture.h) */
    struct sim_context *context; /* the driver's current context, NULL: none yet */
};
SIM_API extern _Thread_local struct sim_thread sim_thread
    __attribute__((tls_model("initial-exec")));

/* Count the devices that the program sees (CUDASIM_GPUS, narrowed by CUDA_VISIBLE_DEVICES). */
SIM_API int sim_device_count(void);
/* Count all devices of the machine, whatever the program sees. */
SIM_API int sim_machine_count(void);
/* Return a device by its number in the program, or NULL. It is never freed. */
SIM_API struct sim_device *sim_device(int number);
/* Return a device that the program does not see, by its number in the machine. Never NULL. */
SIM_API struct sim_device *sim_machine_device(int ordinal);
/* Return the number in the machine of a device of the program. */
SIM_API int sim_device_ordinal(int number);
/* Copy the 16 bytes that identify a device of the machine. */
SIM_API void sim_device_uuid(int ordinal, unsigned char uuid[16]);
/* Write "0000:1B:00.0", at most `size` bytes with the zero. Return -EINVAL when it does not fit. */
SIM_API int sim_device_pci_name(int ordinal, char *name, int size);
/* Return the bus number of a device of the machine in pci names. */
SIM_API int sim_device_pci_bus(int ordinal);
/* Return an attribute by its CUDA number (the runtime's and the driver's are the same); 0 if
 * unknown. */
SIM_API int sim_device_attribute(const struct sim_device *device, int attribute);
/* Return how many blocks of this shape fit one multiprocessor, at least 1. */
SIM_API int sim_occupancy(const struct sim_device *device, int threads, size_t shared);

/* Bring up and bind the primary context of the calling thread's device. */
SIM_API int sim_enter_slow(void);
static inline int sim_enter(void)
{
    return sim_thread.context ? 0 : sim_enter_slow();
}
/* Bring up the primary context of a device. -ENOMEM: it does not fit; -ENODEV. */
SIM_API int sim_primary_up(int device);
/* Take it down. `forget` drops the context's objects; it must not create or destroy contexts. */
void sim_primary_end(int device, void (*forget)(int device));
/* Bring up a context besides the primary one. -ENOMEM. */
SIM_API int sim_further_up(int device);
/* Take one down. The last context of a device frees the memory of stacks and streams. */
SIM_API void sim_further_end(int device);
/* Set the size of a kernel's stacks: the context allocates that much for each thread that the
 * device can run at once. -ENOMEM. */
SIM_API int sim_set_stack(int device, size_t size);
/* Count a stream in or out; memory_of(n) is the memory of n streams. -ENOMEM. */
int sim_count_stream(struct sim_device *device, int change, uint64_t (*memory_of)(uint64_t n));
/* Allocate `bytes` (whole pages) of a device, or free them. -ENOMEM: beyond its capacity. */
SIM_API int sim_allocate_bytes(struct sim_device *device, uint64_t bytes);
SIM_API void sim_free_bytes(struct sim_device *device, uint64_t bytes);

/* The folder of the user's cuDNN that is queried, whose own calls of CUDA fail unreported; NULL:
 * none is. */
SIM_API extern const char *sim_queried_folder;

#endif
