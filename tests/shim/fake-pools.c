/* SPDX-License-Identifier: Apache-2.0 */
/* PyTorch's allocator and MemPools, as far as memtap looks at them. */
#include <stddef.h>

struct pool_id {
    unsigned long long first, second;
};

struct pool_id id(struct pool_id *pool) __asm__("_ZN3c104cuda7MemPool2idEv");
struct pool_id make_query(struct pool_id *pool);
unsigned allocate(size_t size);
unsigned cudaMalloc(void **address, size_t size);

struct pool_id id(struct pool_id *pool)
{
    return *pool;
}

struct pool_id make_query(struct pool_id *pool)
{
    return id(pool); /* the hook */
}

unsigned allocate(size_t size)
{
    void *address;
    return cudaMalloc(&address, size);
}
