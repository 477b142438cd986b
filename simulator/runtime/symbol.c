/* SPDX-License-Identifier: Apache-2.0 */
/* __device__ and __managed__ variables: a program knows them by the address of a host variable. */
#include <pthread.h>
#include <stdlib.h>

#include "copy.h"

void __cudaRegisterVar(void **handle, char *host, char *device_address, const char *device_name,
                       int external, size_t size, int constant, int global);
void __cudaRegisterManagedVar(void **handle, void **host, char *device_address,
                              const char *device_name, int external, size_t size, int constant,
                              int global);

struct variable {
    struct variable *next;
    const void *host;
    size_t size;
    void *memory; /* one for all devices, made at the first request */
};

static struct variable *variables;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void __cudaRegisterVar(void **handle, char *host, char *device_address, const char *device_name,
                       int external, size_t size, int constant, int global)
{
    struct variable *variable = calloc(1, sizeof(*variable));
    (void)handle;
    (void)device_address;
    (void)device_name;
    (void)external;
    (void)constant;
    (void)global;
    if (!variable)
        return; /* later calls say that it does not exist */
    variable->host = host;
    variable->size = size;
    pthread_mutex_lock(&lock);
    variable->next = variables;
    variables = variable;
    pthread_mutex_unlock(&lock);
}

/*
 * Return the variable with its memory. On a card it is in the CUDA module, which the context's size
 * includes: it is not counted.
 */
static struct variable *find(const void *host)
{
    struct variable *variable;
    pthread_mutex_lock(&lock);
    for (variable = variables; variable && variable->host != host; variable = variable->next)
        ;
    if (variable && !variable->memory) {
        void *memory = calloc(1, variable->size ? variable->size : 1);
        if (memory && sim_register(memory, variable->size ? variable->size : 1, 0)) {
            free(memory);
            memory = NULL;
        }
        variable->memory = memory;
    }
    pthread_mutex_unlock(&lock);
    return variable && variable->memory ? variable : NULL;
}

/* Register a variable. Host code reads the pointer without a call, so the memory is there from now
 * on. */
void __cudaRegisterManagedVar(void **handle, void **host, char *device_address,
                              const char *device_name, int external, size_t size, int constant,
                              int global)
{
    __cudaRegisterVar(handle, (char *)host, device_address, device_name, external, size, constant,
                      global);
    struct variable *variable = find(host);
    if (variable)
        *host = variable->memory;
}

cudaError_t cudaGetSymbolAddress(void **address, const void *symbol)
{
    struct variable *variable = find(symbol);
    if (!variable)
        return runtime_result(cudaErrorInvalidSymbol);
    *address = variable->memory;
    return cudaSuccess;
}

cudaError_t cudaGetSymbolSize(size_t *size, const void *symbol)
{
    struct variable *variable = find(symbol);
    if (!variable)
        return runtime_result(cudaErrorInvalidSymbol);
    *size = variable->size;
    return cudaSuccess;
}

/* Copy between a variable and `other`. */
static cudaError_t copy(const void *symbol, const void *other, size_t size, size_t offset,
                        bool is_to_symbol, enum cudaMemcpyKind kind, bool waits,
                        cudaStream_t stream)
{
    const struct variable *variable = find(symbol);
    if (!variable)
        return runtime_result(cudaErrorInvalidSymbol);
    if (offset > variable->size || size > variable->size - offset)
        return runtime_result(cudaErrorInvalidValue);
    char *at = (char *)variable->memory + offset;
    return is_to_symbol
               ? runtime_copy_bytes(at, other, size, kind, waits, stream)
               : runtime_copy_bytes((void *)(uintptr_t)other, at, size, kind, waits, stream);
}

cudaError_t cudaMemcpyToSymbol(const void *symbol, const void *from, size_t size, size_t offset,
                               enum cudaMemcpyKind kind)
{
    return copy(symbol, from, size, offset, true, kind, true, NULL);
}

cudaError_t cudaMemcpyToSymbolAsync(const void *symbol, const void *from, size_t size,
                                    size_t offset, enum cudaMemcpyKind kind, cudaStream_t stream)
{
    return copy(symbol, from, size, offset, true, kind, false, stream);
}

cudaError_t cudaMemcpyFromSymbol(void *to, const void *symbol, size_t size, size_t offset,
                                 enum cudaMemcpyKind kind)
{
    return copy(symbol, to, size, offset, false, kind, true, NULL);
}

cudaError_t cudaMemcpyFromSymbolAsync(void *to, const void *symbol, size_t size, size_t offset,
                                      enum cudaMemcpyKind kind, cudaStream_t stream)
{
    return copy(symbol, to, size, offset, false, kind, false, stream);
}
