/* SPDX-License-Identifier: Apache-2.0 */
/* GitLab's code quality report. Each broken limit has a fingerprint that is stable across nights,
 * so that GitLab can tell what is new. */
#include "analyzer/print/json.h"
#include "analyzer/support/hash.h"
#include "check-formats.h"
#include "check-words.h"

#include <errno.h>
#include <inttypes.h>

/* Hash a finding's title, which has neither amounts nor lines. */
static json_t *fingerprint(const struct mt_finding *finding)
{
    char title[MT_FINDING_TEXT], of[MT_FINDING_TEXT + 64];
    snprintf(of, sizeof of, "%ld %s", finding->run->rank, mt_finding_title(title, finding));
    return json_sprintf("%016" PRIx64 "%016" PRIx64, mt_hash(MT_HASH_SEED, of, strlen(of)),
                        mt_hash(UINT64_C(0x84222325cbf29ce4), of, strlen(of)));
}

static json_t *finding_json(const struct mt_check *check, const struct mt_finding *finding)
{
    char text[MT_FINDING_TEXT];
    struct mt_place_in_tree place = mt_finding_place(finding, check->budget);
    return json_pack("{s:o, s:s, s:o, s:s, s:{s:o, s:{s:I}}}", "description",
                     mt_json_text(mt_finding_text(text, finding)), "check_name", "memtap",
                     "fingerprint", fingerprint(finding), "severity", "major", "location", "path",
                     mt_json_text(*place.file ? place.file : finding->run->path), "lines", "begin",
                     (json_int_t)(place.line ? place.line : 1));
}

int mt_check_gitlab(const struct mt_check *check, FILE *out)
{
    json_t *list = json_array();
    int rc = 0;
    for (size_t i = 0; list && i < check->n && !rc; i++)
        if (check->finding[i].is_broken)
            rc = json_array_append_new(list, finding_json(check, &check->finding[i]));
    if (rc) {
        json_decref(list);
        list = NULL;
    }
    return mt_json_print(out, list, 0) == -ENOMEM ? -ENOMEM : 0;
}
