/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The texts of a finding, for all formats. All out buffers are terminated.
 */
#ifndef MT_CHECK_WORDS_H
#define MT_CHECK_WORDS_H

#include "check.h"

#define MT_FINDING_TEXT 4096

/* Write "activations: 17.90 GiB, 370.00 MiB (2.1 %) over the limit of ..., of it ...". Return out.
 */
const char *mt_finding_text(char out[MT_FINDING_TEXT], const struct mt_finding *finding);

/* Write the text without amounts, which differ from night to night. Return out. */
const char *mt_finding_title(char out[MT_FINDING_TEXT], const struct mt_finding *finding);

/* Write the command that shows more: "memtap diff old.mtap new.mtap". Return out. */
const char *mt_finding_next(char out[MT_FINDING_TEXT], const struct mt_finding *finding);

/* Write that an allowance has expired. Return out. */
#define MT_LINE 5000
const char *mt_expired_text(char out[MT_LINE], const struct mt_budget *budget,
                            const struct mt_allowance *allowance);

/* Where to show a broken limit in a source tree: the innermost line of the responsible stack in a
 * file below the working directory, or else the budget's line. */
struct mt_place_in_tree {
    char file[1024]; /* "": neither is known */
    unsigned line;
};
struct mt_place_in_tree mt_finding_place(const struct mt_finding *finding,
                                         const struct mt_budget *budget);

#endif
