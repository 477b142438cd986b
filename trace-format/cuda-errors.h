/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The errors that CUDA calls return when a program cannot use a device. The runtime and the driver
 * share the numbers. All functions here are pure.
 */
#ifndef MT_TRACE_CUDA_ERRORS_H
#define MT_TRACE_CUDA_ERRORS_H

/* E(number, the runtime's name, the driver's, why) */
/* clang-format off */
#define MT_CUDA_NO_DEVICE_ERRORS(E)                                                                \
    E(3, "cudaErrorInitializationError", "CUDA_ERROR_NOT_INITIALIZED",                             \
      "the CUDA driver is not initialized")                                                          \
    E(34, "cudaErrorStubLibrary", "CUDA_ERROR_STUB_LIBRARY",                                       \
      "the program loaded the CUDA toolkit's stub driver, which is for linking only")             \
    E(35, "cudaErrorInsufficientDriver", "CUDA error 35",                                          \
      "the NVIDIA driver is missing or older than the program's CUDA runtime")                      \
    E(46, "cudaErrorDevicesUnavailable", "CUDA_ERROR_DEVICE_UNAVAILABLE",                          \
      "the GPUs are busy or held exclusively by other processes")                            \
    E(100, "cudaErrorNoDevice", "CUDA_ERROR_NO_DEVICE", "the program sees no GPU")                 \
    E(101, "cudaErrorInvalidDevice", "CUDA_ERROR_INVALID_DEVICE",                                  \
      "no GPU with this number is visible to the program")                                                    \
    E(304, "cudaErrorOperatingSystem", "CUDA_ERROR_OPERATING_SYSTEM",                              \
      "an operating system call failed")                                                     \
    E(802, "cudaErrorSystemNotReady", "CUDA_ERROR_SYSTEM_NOT_READY",                               \
      "a CUDA service on this machine is not running")                                          \
    E(803, "cudaErrorSystemDriverMismatch", "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH",                   \
      "the driver library and its kernel module have different versions")                      \
    E(804, "cudaErrorCompatNotSupportedOnDevice", "CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE",     \
      "CUDA forward compatibility does not support this GPU")                                    \
    E(805, "cudaErrorMpsConnectionFailed", "CUDA_ERROR_MPS_CONNECTION_FAILED",                     \
      "the MPS server cannot be reached")                                                          \
    E(807, "cudaErrorMpsServerNotReady", "CUDA_ERROR_MPS_SERVER_NOT_READY",                        \
      "the MPS server is not ready")                                                               \
    E(808, "cudaErrorMpsMaxClientsReached", "CUDA_ERROR_MPS_MAX_CLIENTS_REACHED",                  \
      "the MPS server has reached its client limit")                                            \
    E(999, "cudaErrorUnknown", "CUDA_ERROR_UNKNOWN", "CUDA gives no reason")
/* clang-format on */

/* Return the error's name as this function's API spells it, and its reason; NULL if it is not in
 * the table. */
const char *mt_cuda_no_device_name(unsigned result, const char *function);
const char *mt_cuda_no_device_why(unsigned result);

#endif
