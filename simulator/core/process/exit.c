/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A clean end for Python programs. When Python (up to 3.13) shuts down, it ends a thread that still
 * wants the interpreter's lock by pthread_exit. PyTorch's autograd thread wants the lock, to drop
 * its last reference after backward(), and has C++ frames on its stack that must not be unwound:
 * the process aborts with "terminate called without an active exception". On a card the program
 * mostly waits for the device before it ends, and the thread gets its turn; here nothing waits. So
 * such a thread stops where it is, as it does by itself from Python 3.14 on, and ends with the
 * process.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "../base/base.h"

/* Call Python's own function, under its name until 3.12 or its later name. */
static bool python_is_finalizing(void)
{
    int (*is_finalizing)(void) = (int (*)(void))(uintptr_t)dlsym(RTLD_DEFAULT, "Py_IsFinalizing");
    if (!is_finalizing)
        is_finalizing = (int (*)(void))(uintptr_t)dlsym(RTLD_DEFAULT, "_Py_IsFinalizing");
    return is_finalizing && is_finalizing();
}

typedef void (*exit_function)(void *) __attribute__((noreturn));

SIM_API void pthread_exit(void *result)
{
    exit_function next = (exit_function)(uintptr_t)dlsym(RTLD_NEXT, "pthread_exit");
    if (python_is_finalizing()) {
        sim_verbose("a thread waits for the end of the process");
        /* PyTorch would wait ten seconds for the thread at exit. */
        setenv("TORCH_AUTOGRAD_SHUTDOWN_WAIT_LIMIT", "0.01", 0);
        for (;;)
            pause();
    }
    next(result);
}
