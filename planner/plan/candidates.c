/* SPDX-License-Identifier: Apache-2.0 */
#include "candidates.h"

#include <stddef.h>

const char *const mt_plan_candidates[] = {
    "", /* PyTorch's defaults */
    "expandable_segments:True",
    "max_split_size_mb:20",
    "max_split_size_mb:32",
    "max_split_size_mb:64",
    "max_split_size_mb:128",
    "max_split_size_mb:256",
    "max_split_size_mb:512",
    "roundup_power2_divisions:1",
    "roundup_power2_divisions:2",
    "roundup_power2_divisions:4",
    "roundup_power2_divisions:8",
    "roundup_power2_divisions:16",
    "roundup_power2_divisions:32",
    "max_split_size_mb:128,max_non_split_rounding_mb:64",
    "max_split_size_mb:128,roundup_power2_divisions:8",
    "expandable_segments:True,roundup_power2_divisions:8",
    "expandable_segments:True,max_split_size_mb:128",
    "large_segment_size_mb:32",
    "large_segment_size_mb:64",
    "backend:cudaMallocAsync",
    NULL,
};
