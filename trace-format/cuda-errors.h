/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The errors that CUDA's calls return if a program can use no device, each once. The runtime and
 * the driver have the same numbers. All functions here are pure.
 */
#ifndef MT_TRACE_CUDA_ERRORS_H
#define MT_TRACE_CUDA_ERRORS_H

/* E(number, the runtime's name, the driver's, why) */
/* clang-format off */
#define MT_CUDA_NO_DEVICE_ERRORS(E)                                                                \
    E(3, "cudaErrorInitializationError", "CUDA_ERROR_NOT_INITIALIZED",                             \
      "CUDA's driver is not initialized")                                                          \
    E(34, "cudaErrorStubLibrary", "CUDA_ERROR_STUB_LIBRARY",                                       \
      "the program found the toolkit's stub of the driver, which is for linking only")             \
    E(35, "cudaErrorInsufficientDriver", "CUDA error 35",                                          \
      "NVIDIA's driver is missing, or older than the program's CUDA runtime")                      \
    E(46, "cudaErrorDevicesUnavailable", "CUDA_ERROR_DEVICE_UNAVAILABLE",                          \
      "the GPUs are busy, or other processes have them for themselves")                            \
    E(100, "cudaErrorNoDevice", "CUDA_ERROR_NO_DEVICE", "the program sees no GPU")                 \
    E(101, "cudaErrorInvalidDevice", "CUDA_ERROR_INVALID_DEVICE",                                  \
      "the program sees no GPU of this number")                                                    \
    E(304, "cudaErrorOperatingSystem", "CUDA_ERROR_OPERATING_SYSTEM",                              \
      "a call of the operating system failed")                                                     \
    E(802, "cudaErrorSystemNotReady", "CUDA_ERROR_SYSTEM_NOT_READY",                               \
      "a service of CUDA's on this machine does not run")                                          \
    E(803, "cudaErrorSystemDriverMismatch", "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH",                   \
      "the driver's library and its kernel module are of different versions")                      \
    E(804, "cudaErrorCompatNotSupportedOnDevice", "CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE",     \
      "CUDA's forward compatibility does not support this GPU")                                    \
    E(805, "cudaErrorMpsConnectionFailed", "CUDA_ERROR_MPS_CONNECTION_FAILED",                     \
      "the MPS server cannot be reached")                                                          \
    E(807, "cudaErrorMpsServerNotReady", "CUDA_ERROR_MPS_SERVER_NOT_READY",                        \
      "the MPS server is not ready")                                                               \
    E(808, "cudaErrorMpsMaxClientsReached", "CUDA_ERROR_MPS_MAX_CLIENTS_REACHED",                  \
      "the MPS server has as many clients as it takes")                                            \
    E(999, "cudaErrorUnknown", "CUDA_ERROR_UNKNOWN", "CUDA gives no reason")
/* clang-format on */

/* Return the error's name for a caller of this function, and its reason; NULL: not one of these. */
const char *mt_cuda_no_device_name(unsigned result, const char *function);
const char *mt_cuda_no_device_why(unsigned result);

#endif
