/* SPDX-License-Identifier: Apache-2.0 */
#include "fake-aoti.h"

extern struct fake_aoti fake_aoti;

struct fake_aoti fake_aoti;

int aoti_torch_get_data_ptr(void *tensor, void **out);
int aoti_torch_get_storage_offset(void *tensor, int64_t *out);
int aoti_torch_get_storage_size(void *tensor, int64_t *out);
int aoti_torch_get_device_type(void *tensor, int32_t *out);
int aoti_torch_get_device_index(void *tensor, int32_t *out);

#define SAYS(name, type, field)                                                                    \
    int name(void *tensor, type *out)                                                              \
    {                                                                                              \
        (void)tensor;                                                                              \
        *out = fake_aoti.field;                                                                    \
        return fake_aoti.error;                                                                    \
    }

SAYS(aoti_torch_get_data_ptr, void *, data)
SAYS(aoti_torch_get_storage_offset, int64_t, offset)
SAYS(aoti_torch_get_storage_size, int64_t, size)
SAYS(aoti_torch_get_device_type, int32_t, type)
SAYS(aoti_torch_get_device_index, int32_t, index)

/* What objects of torch.func's classes begin with points behind the first two words of these. */
extern void *const grad_wrapper[4] __asm__("_ZTVN2at9functorch13TensorWrapperE");
extern void *const batch_wrapper[4] __asm__("_ZTVN2at9functorch17BatchedTensorImplE");

void *const grad_wrapper[4];
void *const batch_wrapper[4];
