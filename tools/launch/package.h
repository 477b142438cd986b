/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Work that the Python package does (python/memtap/fleet), with packages of others that memtap does
 * not need otherwise.
 */
#ifndef MT_PACKAGE_H
#define MT_PACKAGE_H

/* Becomes Python with the package's work ("fleet", "parquet") and n arguments. Comes back only
 * where that cannot be: the exit code, after a message. */
int mt_package_become(const char *work, char *const *arguments, int n);

#endif
