/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIM_CUPTI_RESULT_H
#define SIM_CUPTI_RESULT_H

#include <cupti.h>

#include "core/device/trace.h"

/* Return the code and keep it as the thread's last error if it is one. */
CUptiResult cupti_result(CUptiResult code);

#endif
