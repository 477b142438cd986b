/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NCCL's communicators, which are recorded as what they are besides their memory: a name and a
 * count. NCCL requests memory from CUDA at their start, or at their first use, in threads of its
 * own; those calls are recorded as others are, with NCCL's library on the stack.
 */
#include "hooks-nccl.h"
#include "driver.h"
#include "hook-records.h"
#include "preload/loader/find-real.h"
#include "trace-format/likely.h"

#include <string.h>

#define CALL_OF(api) mt_cuda_call_of(api, mt_driver_get_device())

/* The caller is linked to NCCL, so that some library has the function. */
static void *find(void *_Atomic *slot, const char *symbol, const char *library)
{
    void *real = atomic_load_explicit(slot, memory_order_relaxed);
    if (MT_LIKELY(real))
        return real;
    real = mt_find_next(symbol, library);
    if (!real)
        real = mt_find_anywhere(symbol);
    if (!real)
        mt_end_without(symbol);
    atomic_store_explicit(slot, real, memory_order_relaxed);
    return real;
}

#define REAL(name, symbol, library, result, parameters)                                            \
    static result(*real_##name(void)) parameters                                                   \
    {                                                                                              \
        static void *_Atomic slot;                                                                 \
        return (result(*) parameters)find(&slot, symbol, library);                                 \
    }
MT_NCCL_HOOKS(REAL)

/* Record a communicator. One that does not block may still be in progress; one may have no part for
 * this rank, and is NULL. */
static void created(struct mt_cuda_call call, int result, void *const *comm)
{
    enum { SUCCESS = 0, IN_PROGRESS = 7 };
    if ((result == SUCCESS || result == IN_PROGRESS) && *comm)
        mt_cuda_object_made(call, 0, comm, 0);
}

int mt_hook_nccl_init(void **comm, int size, struct mt_nccl_id id, int rank)
{
    int result = real_nccl_init()(comm, size, id, rank);
    NOTE_CALLER();
    created(CALL(NCCL_INIT), result, comm);
    return result;
}

int mt_hook_nccl_init_config(void **comm, int size, struct mt_nccl_id id, int rank, void *config)
{
    int result = real_nccl_init_config()(comm, size, id, rank, config);
    NOTE_CALLER();
    created(CALL(NCCL_INIT_CONFIG), result, comm);
    return result;
}

int mt_hook_nccl_init_scalable(void **comm, int size, int rank, int n, struct mt_nccl_id *ids,
                               void *config)
{
    int result = real_nccl_init_scalable()(comm, size, rank, n, ids, config);
    NOTE_CALLER();
    created(CALL(NCCL_INIT_SCALABLE), result, comm);
    return result;
}

int mt_hook_nccl_init_all(void **comms, int n, const int *devices)
{
    int result = real_nccl_init_all()(comms, n, devices);
    for (int i = 0; i < n && !result; i++) {
        NOTE_CALLER();
        created(CALL_ON(NCCL_INIT_ALL, devices ? devices[i] : i), result, &comms[i]);
    }
    return result;
}

int mt_hook_nccl_split(void *whole, int color, int key, void **comm, void *config)
{
    int result = real_nccl_split()(whole, color, key, comm, config);
    NOTE_CALLER();
    created(CALL(NCCL_SPLIT), result, comm);
    return result;
}

int mt_hook_nccl_shrink(void *whole, int *left_out, int n, void **comm, void *config, int flags)
{
    int result = real_nccl_shrink()(whole, left_out, n, comm, config, flags);
    NOTE_CALLER();
    created(CALL(NCCL_SHRINK), result, comm);
    return result;
}

int mt_hook_nccl_destroy(void *comm)
{
    if (comm)
        BEFORE_ENDED(NCCL_DESTROY, comm);
    return real_nccl_destroy()(comm);
}

int mt_hook_nccl_abort(void *comm)
{
    if (comm)
        BEFORE_ENDED(NCCL_ABORT, comm);
    return real_nccl_abort()(comm);
}

void *mt_nccl_wrap(const char *symbol, void *found)
{
    static const struct {
        const char *symbol, *library;
        void *hook;
    } hooks[] = {
#define ROW(name, symbol, library, result, parameters) {symbol, library, (void *)mt_hook_##name},
        MT_NCCL_HOOKS(ROW)
#undef ROW
    };
    for (size_t i = 0; found && i < sizeof hooks / sizeof *hooks; i++)
        if (!strcmp(hooks[i].symbol, symbol))
            return mt_find_next(symbol, hooks[i].library) == found ? hooks[i].hook : found;
    return found;
}
