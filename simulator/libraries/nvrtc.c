/* SPDX-License-Identifier: Apache-2.0 */
/* NVRTC: the architectures that it supports. Programs choose the newest one that their card has. */
#include <string.h>

static const int supported[] = {
#if SIM_CUDA == 12
    50, 52, 53, 60, 61, 62, 70, 72,
#endif
    75, 80, 86, 87, 88, 89, 90, 100, 103, 110, 120, 121,
};

int nvrtcGetNumSupportedArchs(int *count)
{
    *count = sizeof(supported) / sizeof(supported[0]);
    return 0;
}

int nvrtcGetSupportedArchs(int *architectures)
{
    memcpy(architectures, supported, sizeof(supported));
    return 0;
}
