/* SPDX-License-Identifier: Apache-2.0 */
#include <stddef.h>

unsigned cudaMalloc(void **address, size_t size);
__attribute__((visibility("default"))) unsigned allocate(void **address);

unsigned allocate(void **address)
{
    volatile unsigned result = cudaMalloc(address, 2); /* no tail call: we are the caller */
    return result;
}
