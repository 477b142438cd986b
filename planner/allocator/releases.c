/* SPDX-License-Identifier: Apache-2.0 */
#include "conf.h"

#include <stdio.h>

/* The release that introduced each change. */
static const struct mt_torch_release first[MT_N_TORCH_CHANGES] = {
    [MT_HAS_EXPANDABLE] = {2, 1},     [MT_HAS_ROUNDUP_0] = {2, 2},
    [MT_EXPANDS_PRIVATE] = {2, 5},    [MT_HAS_MAX_NON_SPLIT] = {2, 6},
    [MT_CAPTURES_ONLY] = {2, 13},     [MT_HAS_RECORD_REUSE] = {2, 9},
    [MT_HAS_CONF_FRACTION] = {2, 10}, [MT_HAS_LARGE_SEGMENT] = {2, 11},
    [MT_HAS_THROW_ON_OOM] = {2, 13},  [MT_HAS_RESERVE] = {2, 15},
    [MT_HAS_ALLOC_CONF] = {2, 9},     [MT_FRACTION_1_IS_NONE] = {2, 8},
    [MT_FREES_ONE_POOL] = {2, 6},     [MT_FALLS_BACK_EARLY] = {2, 11},
    [MT_PREFERS_OLDEST] = {2, 13},
};

bool mt_torch_has(struct mt_torch_release release, enum mt_torch_change change)
{
    const struct mt_torch_release *since = &first[change];
    return release.major != since->major ? release.major > since->major
                                         : release.minor >= since->minor;
}

bool mt_torch_read_release(const char *text, struct mt_torch_release *release)
{
    return sscanf(text, "%3u.%3u", &release->major, &release->minor) == 2;
}

const char *mt_torch_variable(struct mt_torch_release release)
{
    return mt_torch_has(release, MT_HAS_ALLOC_CONF) ? "PYTORCH_ALLOC_CONF"
                                                    : "PYTORCH_CUDA_ALLOC_CONF";
}
