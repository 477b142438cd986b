/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The element types of tensors, which labels name by number: PyTorch's own (c10::ScalarType, which
 * only grows) plus 1; 0 is unknown. All functions here are pure.
 */
#ifndef MT_TRACE_DTYPES_H
#define MT_TRACE_DTYPES_H

/* D(number, name in PyTorch, bits). */
/* clang-format off */
#define MT_DTYPES(D)                                                                               \
    D(1, "uint8", 8) D(2, "int8", 8) D(3, "int16", 16) D(4, "int32", 32) D(5, "int64", 64)         \
    D(6, "float16", 16) D(7, "float32", 32) D(8, "float64", 64)                                    \
    D(9, "complex32", 32) D(10, "complex64", 64) D(11, "complex128", 128)                          \
    D(12, "bool", 8) D(13, "qint8", 8) D(14, "quint8", 8) D(15, "qint32", 32)                      \
    D(16, "bfloat16", 16) D(17, "quint4x2", 8) D(18, "quint2x4", 8)                                \
    D(24, "float8_e5m2", 8) D(25, "float8_e4m3fn", 8)                                              \
    D(26, "float8_e5m2fnuz", 8) D(27, "float8_e4m3fnuz", 8)                                        \
    D(28, "uint16", 16) D(29, "uint32", 32) D(30, "uint64", 64)                                    \
    D(45, "float8_e8m0fnu", 8) D(46, "float4_e2m1fn_x2", 8)
/* clang-format on */

/* PyTorch 2.15 has fewer types; a larger number is invalid. */
#define MT_DTYPE_LIMIT 64u

/* Numbers of the table that code uses by name. */
enum { MT_DTYPE_UINT8 = 1, MT_DTYPE_FLOAT32 = 7, MT_DTYPE_FLOAT64 = 8 };

/* Any number is allowed: the results are "?" and 0 bits if this version does not know it. */
const char *mt_dtype_name(unsigned long long dtype);
unsigned mt_dtype_bits(unsigned long long dtype);

#endif
