/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MT_PLAN_CANDIDATES_H
#define MT_PLAN_CANDIDATES_H

/* The settings that memtap tries where nobody names any, a NULL after the last. Those that a
 * release does not have are left out. */
extern const char *const mt_plan_candidates[];

#endif
