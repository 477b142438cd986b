/* SPDX-License-Identifier: Apache-2.0 */
#include "launch.h"

#include <cuda.h>

#include "api/lookup.h"
#include "core/process/kernels.h"

enum { MOST_WORDS = 64, DRIVER_VERSION = 12000 };

static __typeof__(&cuLaunchKernel) find_launch(void)
{
    static void *_Atomic known;
    void *launch = known;
    CUdriverProcAddressQueryResult status;
    if (!launch && !api_find_driver_function("cuLaunchKernel", &launch, DRIVER_VERSION, 0, &status))
        known = launch;
    return (__typeof__(&cuLaunchKernel))(uintptr_t)launch;
}

void library_launch(const char *name, void *_Atomic *known, unsigned words, const uint64_t *word)
{
    void *parameters[MOST_WORDS], *function = *known;
    __typeof__(&cuLaunchKernel) launch = find_launch();
    if (!function)
        *known = function = sim_library_kernel(name, word ? words : SIM_UNKNOWN_WORDS);
    if (!function || !launch || words > MOST_WORDS)
        return;
    for (unsigned i = 0; i < words; i++)
        parameters[i] = (void *)(uintptr_t)&word[i];
    launch((CUfunction)function, 1, 1, 1, 1, 1, 1, 0, NULL, parameters, NULL);
}
