/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keep together what each event needs, in memory (MT_HOT, for variables) and in code (MT_HOT_CODE).
 * Between two events a program like PyTorch fills the processor's caches, and each line and page of
 * ours must then be fetched anew.
 */
#ifndef MT_PRELOAD_HOT_H
#define MT_PRELOAD_HOT_H

#define MT_HOT __attribute__((section("mt_hot")))
#define MT_HOT_CODE __attribute__((hot))

#endif
