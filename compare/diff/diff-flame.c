/* SPDX-License-Identifier: Apache-2.0 */
#include "diff-report.h"

#include <inttypes.h>

void mt_diff_flame(const struct mt_diff *diff, FILE *out)
{
    for (size_t i = 0; i < diff->n_devices; i++)
        for (size_t j = 0; j < diff->device[i].stacks.n; j++) {
            const struct mt_diff_share *share = &diff->device[i].stacks.share[j];
            fprintf(out, "%s %" PRIu64 " %" PRIu64 "\n", share->name, share->bytes.old,
                    share->bytes.now);
        }
}
