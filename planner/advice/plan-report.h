/* SPDX-License-Identifier: Apache-2.0 */
/* Plans for people and for programs. */
#ifndef MT_PLAN_REPORT_H
#define MT_PLAN_REPORT_H

#include <jansson.h>
#include <stdio.h>

#include "analyzer/findings/analysis.h"
#include "analyzer/support/text.h"
#include "plan.h"

/* Write the head of a report about plans: the run, and what its trace lacks. */
void mt_plan_head_text(const struct mt_analysis *analysis, FILE *out, const struct mt_style *style);

/* Write the plans of all devices, for a terminal. */
void mt_plan_text(const struct mt_plan *plans, size_t n, const struct mt_analysis *analysis,
                  FILE *out, const struct mt_style *style);

/* Write {"schema": "memtap.plan/1", ...}; see memtap-plan-json(5). changes and answer: the members
 * of that name, whose ownership is transferred; may be NULL. Return 0, -EIO or -ENOMEM. */
int mt_plan_json(const struct mt_plan *plans, size_t n, const struct mt_analysis *analysis,
                 json_t *changes, json_t *answer, FILE *out);

/* Write where in the run an event is: "in the forward pass of iteration 2 of 2". Return out. */
#define MT_PLAN_PHASE 96
const char *mt_plan_phase(char out[MT_PLAN_PHASE], const struct mt_analysis *analysis, int device,
                          uint64_t event);

/* Return the stack whose innermost frame is the user's line of a request; 0: unknown. */
uint32_t mt_plan_line(const struct mt_analysis *analysis, const struct mt_request_totals *at);

#endif
