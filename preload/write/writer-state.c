/* SPDX-License-Identifier: Apache-2.0 */
/* What the writer's files share. */
#include "writer-state.h"
#include "preload/record/wake.h"

#include <limits.h>

struct mt_writer mt_writer = {.working = PTHREAD_MUTEX_INITIALIZER};

_Thread_local bool mt_is_writer __attribute__((tls_model("initial-exec")));

void mt_writer_set(_Atomic uint32_t *word)
{
    atomic_store(word, 1);
    mt_futex(word, FUTEX_WAKE, INT_MAX, NULL);
}
