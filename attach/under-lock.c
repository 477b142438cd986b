/* SPDX-License-Identifier: Apache-2.0 */
/* libmemtap-under-lock.so: loaded for its constructor only, during which the loader holds its lock
 * (slots.c). */
#include "attach.h"

__attribute__((constructor)) static void run(void)
{
    memtap_attach_under_lock();
}
