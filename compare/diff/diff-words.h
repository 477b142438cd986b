/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The texts of a comparison, shared by its outputs.
 */
#ifndef MT_DIFF_WORDS_H
#define MT_DIFF_WORDS_H

#include "analyzer/support/text.h"
#include "diff.h"

#define MT_WORDS 1024

/* Write "+1.20 GiB", "-512 B", "0 B". Return out. */
const char *mt_signed_size_text(char out[MT_SIZE_TEXT], int64_t bytes);

/* Write "+3.1 %"; "" where there was nothing before. Return out. */
const char *mt_percent_text(char out[MT_SIZE_TEXT], const struct mt_change *change);

/* Write "train.py:42 Net.forward"; with an operator, "train.py:42 Net.forward (MulBackward0)". */
void mt_site_place_text(char *out, size_t size, const char *file, uint32_t line,
                        const char *function, const char *operator_name);
void mt_line_text(char *out, size_t size, const struct mt_line *line);

/* Write "now held by ROOT -> STEPS", after the size and blocks if these are not all of the site;
 * "": not known, or no growth apart from noise. */
#define MT_DIFF_HELD_TEXT (MT_HOLDER_TEXT + 100)
void mt_diff_held_text(char out[MT_DIFF_HELD_TEXT], const struct mt_diff_site *site);

/* Write the line that newly saves a site's blocks for backward, "net.py:7 Net.forward"; "": none.
 */
void mt_saver_text(char *out, size_t size, const struct mt_diff_site *site);

/* Write a site's old name, "was net.py Net.call" or "was net.py:7 Net.call"; "": the same. */
void mt_renamed_text(char *out, size_t size, const struct mt_diff_site *site);

/* Write "batch or length × 1.25 (52 lines)". */
void mt_scale_text(char *out, size_t size, double scale, uint64_t lines);

/* Write a site's contribution to the change; "": all of its own change. */
void mt_blame_text(char *out, size_t size, const struct mt_diff_site *site);

/* Write one sentence: "peak +1.20 GiB (+3.1 %): activations +1.10 GiB at train.py:42 forward". */
void mt_diff_verdict(char *out, size_t size, const struct mt_diff *diff);

/* Write which moments are compared, in two lines; "": the peaks. */
void mt_compared_text(char *out, size_t size, const struct mt_diff_device *device);

/* Write "the backward pass of iteration 3". */
void mt_peak_text(char *out, size_t size, const struct mt_digest_device *device);

/* List what makes a comparison doubtful (different programs, devices or job sizes; damaged traces,
 * lost events), and what else differs (settings, versions). Each line ends with a newline; "":
 * nothing. The caller frees the text. NULL: no memory. */
char *mt_diff_doubts(const struct mt_diff *diff);
char *mt_diff_changes(const struct mt_diff *diff);

#endif
