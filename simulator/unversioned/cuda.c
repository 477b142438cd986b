/* SPDX-License-Identifier: Apache-2.0 */
/* What is looked up in this library is found in the one that it needs; this makes it need it. */
int cuInit(unsigned flags);

__attribute__((used)) static int (*const driver)(unsigned flags) = cuInit;
