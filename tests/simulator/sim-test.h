/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of the simulated device share. Check runs each test in a process of its own. */
#ifndef SIM_TEST_H
#define SIM_TEST_H

#include "../support/run-tests.h"

#include <cuda.h>
#include <cuda_runtime_api.h>
#include <stdint.h>
#include <stdlib.h>

#define KIB(n) ((size_t)(n) << 10)
#define MIB(n) ((size_t)(n) << 20)
#define GIB(n) ((size_t)(n) << 30)

#define ck_cuda(call) ck_assert_int_eq((call), cudaSuccess)
#define ck_cu(call) ck_assert_int_eq((call), CUDA_SUCCESS)

/* The device that this process will see: call it before anything of CUDA. */
void use_gpu(const char *name);
/* What the current device has left. */
size_t available(void);
/* The resident memory of this process, in bytes. */
size_t resident(void);

#endif
