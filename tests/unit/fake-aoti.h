/* SPDX-License-Identifier: Apache-2.0 */
/* What PyTorch's C interface reports about every tensor. */
#ifndef MT_TESTS_FAKE_AOTI_H
#define MT_TESTS_FAKE_AOTI_H

#include <stdint.h>

struct fake_aoti {
    void *data;
    int64_t offset, size;
    int32_t type, index;
    int error;
};

#endif
