/* SPDX-License-Identifier: Apache-2.0 */
/* A CUDA runtime for the tests of the shim: addresses count up from FIRST_ADDRESS, every 13th size
 * fails where FAKE_FAIL is set, a free of address 0xbad fails. */
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

extern void (*fake_within)(void);
unsigned cudaMalloc(void **address, size_t size);
unsigned cudaFree(void *address);
unsigned cudaGetDevice(int *device);
unsigned cudaStreamBeginCapture(void *stream, unsigned mode);
unsigned cudaStreamEndCapture(void *stream, void **graph);

void (*fake_within)(void); /* of the program, within cudaMalloc */

unsigned cudaMalloc(void **address, size_t size)
{
    static _Atomic uintptr_t next = FIRST_ADDRESS;
    if (size % 13 == 0 && getenv("FAKE_FAIL"))
        return 2; /* cudaErrorMemoryAllocation */
    *address = (void *)atomic_fetch_add(&next, 512);
    if (fake_within)
        fake_within();
    return 0;
}

unsigned cudaFree(void *address)
{
    return (uintptr_t)address == 0xbad ? 1 /* cudaErrorInvalidValue */ : 0;
}

unsigned cudaGetDevice(int *device)
{
    *device = 0;
    return 0;
}

unsigned cudaStreamBeginCapture(void *stream, unsigned mode)
{
    (void)stream, (void)mode;
    return 0;
}

unsigned cudaStreamEndCapture(void *stream, void **graph)
{
    *graph = stream;
    return 0;
}
