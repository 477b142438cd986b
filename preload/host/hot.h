/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What each event needs lies together, in memory (MT_HOT, for variables) and in code (MT_HOT_CODE):
 * between two events a program like PyTorch takes the processor's caches for itself, and each line
 * and page of ours then has to be fetched anew.
 */
#ifndef MT_PRELOAD_HOT_H
#define MT_PRELOAD_HOT_H

#define MT_HOT __attribute__((section("mt_hot")))
#define MT_HOT_CODE __attribute__((hot))

#endif
