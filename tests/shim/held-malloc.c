/* SPDX-License-Identifier: Apache-2.0 */
/* Preloaded below memtap: holds a cudaMalloc of 24 MiB up, between CUDA's giving the memory and
 * memtap's event, until memtap was to ask NVML what the device holds. */
#include "our-thread.h"
#include "preload/include/memtap.h"

#include <dlfcn.h>
#include <stddef.h>

unsigned cudaMalloc(void **address, size_t size);

unsigned cudaMalloc(void **address, size_t size)
{
    unsigned (*next)(void **, size_t);
    *(void **)&next = dlsym(RTLD_NEXT, "cudaMalloc");
    unsigned result = next(address, size);
    if (size == (size_t)24 << 20) {
        unsigned long sleeps = wait_for_our_thread("memtap-nvml", 1);
        memtap_sample();
        wait_for_our_thread("memtap-nvml", sleeps + 2);
    }
    return result;
}
