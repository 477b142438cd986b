/* SPDX-License-Identifier: Apache-2.0 */
/* Pitched memory, arrays, and copies in three dimensions. */
#include <string.h>

#include "sim-test.h"

START_TEST(rows_lie_on_their_pitch)
{
    struct cudaPitchedPtr planes;
    size_t before, pitch;
    CUdeviceptr driver;
    void *rows;

    use_gpu("t4");
    before = available();
    ck_cuda(cudaMallocPitch(&rows, &pitch, 1000, 5000));
    ck_assert_uint_eq(pitch, 1024);
    ck_assert_uint_eq(before - available(), MIB(6)); /* 1024 * 5000 */
    ck_cuda(cudaMalloc3D(&planes, (struct cudaExtent){513, 1024, 4}));
    ck_assert_uint_eq(planes.pitch, 1024);
    ck_assert_uint_eq(planes.xsize, 513);
    ck_assert_uint_eq(planes.ysize, 1024);
    ck_assert_uint_eq(before - available(), MIB(10));
    ck_cu(cuMemAllocPitch(&driver, &pitch, 512, 2048, 4));
    ck_assert_uint_eq(pitch, 512);
    ck_cuda(cudaFree(rows));
    ck_cuda(cudaFree(planes.ptr));
    ck_cu(cuMemFree(driver));
    ck_assert_uint_eq(available(), before);
}
END_TEST

START_TEST(planes_are_copied_and_filled)
{
    unsigned char host[3][4][8], back[3][4][8] = {0};
    struct cudaMemcpy3DParms copy = {.extent = {8, 4, 3}, .kind = cudaMemcpyHostToDevice};
    struct cudaPitchedPtr device;

    use_gpu("t4");
    for (size_t i = 0; i < sizeof(host); i++)
        ((unsigned char *)host)[i] = (unsigned char)(i + 1);
    ck_cuda(cudaMalloc3D(&device, copy.extent));
    copy.srcPtr = (struct cudaPitchedPtr){host, 8, 8, 4};
    copy.dstPtr = device;
    ck_cuda(cudaMemcpy3D(&copy));
    /* the last two columns of the last plane, to the start of the other buffer */
    copy = (struct cudaMemcpy3DParms){.srcPtr = device,
                                      .srcPos = {6, 0, 2},
                                      .dstPtr = {back, 8, 8, 4},
                                      .extent = {2, 4, 1},
                                      .kind = cudaMemcpyDeviceToHost};
    ck_cuda(cudaMemcpy3D(&copy));
    for (int row = 0; row < 4; row++) {
        ck_assert_mem_eq(back[0][row], &host[2][row][6], 2);
        ck_assert_uint_eq(back[0][row][2], 0);
    }
    ck_cuda(cudaMemset3D(device, 9, (struct cudaExtent){8, 4, 3}));
    ck_cuda(cudaMemcpy(back, (char *)device.ptr + device.pitch * 7, 8, cudaMemcpyDeviceToHost));
    ck_assert_uint_eq(back[0][0][7], 9);
}
END_TEST

START_TEST(arrays_hold_what_is_copied_to_them)
{
    struct cudaChannelFormatDesc format = {32, 32, 0, 0, cudaChannelFormatKindFloat}, known;
    float host[4][6][2], back[2][3][2];
    struct cudaChannelFormatDesc odd = {24, 0, 0, 0, cudaChannelFormatKindFloat};
    struct cudaChannelFormatDesc norm = {16, 16, 0, 0, cudaChannelFormatKindSignedNormalized16X2};
    CUDA_ARRAY3D_DESCRIPTOR shape;
    struct cudaExtent extent;
    unsigned flags;
    cudaArray_t array;
    size_t before;

    use_gpu("t4");
    for (int i = 0; i < 48; i++)
        ((float *)host)[i] = (float)i;
    before = available();
    ck_cuda(cudaMallocArray(&array, &format, 6, 4, 0));
    ck_assert_uint_lt(available(), before);
    ck_cuda(cudaArrayGetInfo(&known, &extent, &flags, array));
    ck_assert_int_eq(known.y, 32);
    ck_assert_int_eq(known.z, 0);
    ck_assert_int_eq(known.f, cudaChannelFormatKindFloat);
    ck_cu(cuArray3DGetDescriptor(&shape, (CUarray)array)); /* the driver knows it, too */
    ck_assert_int_eq(shape.Format, CU_AD_FORMAT_FLOAT);
    ck_assert_uint_eq(shape.NumChannels, 2);
    ck_assert_uint_eq(extent.width, 6);
    ck_assert_uint_eq(extent.height, 4);
    ck_cuda(cudaMemcpy2DToArray(array, 0, 0, host, sizeof(host[0]), sizeof(host[0]), 4,
                                cudaMemcpyHostToDevice));
    ck_cuda(cudaMemcpy2DFromArray(back, sizeof(back[0]), array, 8, 2, sizeof(back[0]), 2,
                                  cudaMemcpyDeviceToHost));
    for (int row = 0; row < 2; row++)
        ck_assert_mem_eq(back[row], host[row + 2][1], sizeof(back[0]));
    ck_assert_int_eq(cudaMemcpy2DFromArray(back, 24, array, 32, 2, 24, 2, cudaMemcpyDeviceToHost),
                     cudaErrorInvalidValue); /* beyond its edge */
    ck_cuda(cudaFreeArray(array));
    ck_cuda(cudaMallocArray(&array, &norm, 6, 4, 0));
    ck_cuda(cudaGetChannelDesc(&known, array));
    ck_assert_mem_eq(&known, &norm, sizeof(norm));
    ck_cu(cuArrayDestroy((CUarray)array));
    ck_assert_uint_eq(available(), before);
    ck_assert_int_eq(cudaMallocArray(&array, &odd, 6, 4, 0), cudaErrorInvalidChannelDescriptor);
}
END_TEST

START_TEST(the_drivers_arrays_are_the_same)
{
    CUDA_ARRAY3D_DESCRIPTOR shape = {.Width = 16,
                                     .Height = 4,
                                     .Depth = 2,
                                     .Format = CU_AD_FORMAT_HALF,
                                     .NumChannels = 2},
                            known;
    unsigned host[2][4][16], back[4];
    CUDA_MEMCPY3D copy = {.srcMemoryType = CU_MEMORYTYPE_HOST,
                          .srcHost = host,
                          .srcPitch = sizeof(host[0][0]),
                          .srcHeight = 4,
                          .dstMemoryType = CU_MEMORYTYPE_ARRAY,
                          .WidthInBytes = sizeof(host[0][0]),
                          .Height = 4,
                          .Depth = 2};
    CUDA_MEMCPY2D flat = {0};
    CUarray array, row;
    CUmipmappedArray mipmaps;

    use_gpu("t4");
    available();
    for (unsigned i = 0; i < 128; i++)
        ((unsigned *)host)[i] = i;
    ck_cu(cuArray3DCreate(&array, &shape));
    ck_cu(cuArray3DGetDescriptor(&known, array));
    ck_assert_uint_eq(known.Depth, 2);
    ck_assert_uint_eq(known.NumChannels, 2);
    copy.dstArray = array;
    ck_cu(cuMemcpy3D(&copy));
    flat = (CUDA_MEMCPY2D){.srcMemoryType = CU_MEMORYTYPE_ARRAY,
                           .srcArray = array,
                           .srcXInBytes = 8,
                           .srcY = 3,
                           .dstMemoryType = CU_MEMORYTYPE_HOST,
                           .dstHost = back,
                           .WidthInBytes = sizeof(back),
                           .Height = 1};
    ck_cu(cuMemcpy2D(&flat));
    ck_assert_mem_eq(back, &host[0][3][2], sizeof(back));
    ck_cu(cuArrayCreate(&row, &(CUDA_ARRAY_DESCRIPTOR){64, 0, CU_AD_FORMAT_UNSIGNED_INT8, 1}));
    ck_cu(cuMemcpyHtoA(row, 4, "abc", 3));
    ck_cu(cuMemcpyAtoH(back, row, 5, 2));
    ck_assert_mem_eq(back, "bc", 2);
    ck_cu(cuArrayDestroy(row));
    ck_cu(cuMipmappedArrayCreate(&mipmaps, &shape, 3));
    ck_cu(cuMipmappedArrayGetLevel(&row, mipmaps, 2));
    ck_cu(cuArray3DGetDescriptor(&known, row));
    ck_assert_uint_eq(known.Width, 4);
    ck_assert_uint_eq(known.Height, 1);
    ck_assert_int_eq(cuArrayDestroy(row), CUDA_ERROR_INVALID_VALUE);
    ck_cu(cuMipmappedArrayDestroy(mipmaps));
    ck_cu(cuArrayDestroy(array));
}
END_TEST

START_TEST(textures_know_what_they_are_of)
{
    struct cudaResourceDesc linear = {.resType = cudaResourceTypeLinear}, known;
    struct cudaTextureDesc texture = {.readMode = cudaReadModeElementType}, same;
    cudaTextureObject_t object;
    cudaSurfaceObject_t surface;

    use_gpu("t4");
    ck_cuda(cudaMalloc(&linear.res.linear.devPtr, 4096));
    linear.res.linear.sizeInBytes = 4096;
    ck_cuda(cudaCreateTextureObject(&object, &linear, &texture, NULL));
    ck_cuda(cudaGetTextureObjectResourceDesc(&known, object));
    ck_assert_ptr_eq(known.res.linear.devPtr, linear.res.linear.devPtr);
    ck_cuda(cudaGetTextureObjectTextureDesc(&same, object));
    ck_assert_int_eq(same.readMode, cudaReadModeElementType);
    ck_cuda(cudaDestroyTextureObject(object));
    ck_assert_int_eq(cudaCreateTextureObject(&object, &linear, NULL, NULL), cudaErrorInvalidValue);
    ck_cuda(cudaCreateSurfaceObject(&surface, &linear));
    ck_cuda(cudaDestroySurfaceObject(surface));
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("array");

    tcase_add_test(tests, rows_lie_on_their_pitch);
    tcase_add_test(tests, planes_are_copied_and_filled);
    tcase_add_test(tests, arrays_hold_what_is_copied_to_them);
    tcase_add_test(tests, the_drivers_arrays_are_the_same);
    tcase_add_test(tests, textures_know_what_they_are_of);
    return RUN_TESTS(tests);
}
