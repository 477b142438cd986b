/* SPDX-License-Identifier: Apache-2.0 */
/* Make this library need the driver's: lookups here then find its functions. */
int cuInit(unsigned flags);

__attribute__((used)) static int (*const driver)(unsigned flags) = cuInit;
