/* SPDX-License-Identifier: Apache-2.0 */
#include "analyzer/report/job-report.h"

#include <jansson.h>

#include "analyzer/findings/imbalance.h"
#include "analyzer/print/json.h"
#include "analyzer/report/report.h"

static json_t *imbalance_json(const struct mt_analysis *analyses, size_t n)
{
    struct mt_imbalance imbalance;
    if (mt_imbalance_find(&imbalance, analyses, n, mt_job_highest(analyses, n)))
        return NULL;
    json_t *categories = json_object();
    for (unsigned i = 0; i < mt_n_categories; i++)
        if (imbalance.category[i])
            json_object_set_new(categories, mt_categories[i].name,
                                json_integer(imbalance.category[i]));
    return json_pack("{s:o, s:o, s:o}", "median", mt_json_number(imbalance.median), "above",
                     mt_json_number(imbalance.above), "categories", categories);
}

int mt_job_json(const struct mt_analysis *analyses, size_t n, FILE *out)
{
    json_t *ranks = json_array();
    for (size_t i = 0; i < n; i++)
        json_array_append_new(
            ranks,
            json_pack("{s:o, s:o}", "rank",
                      mt_rank(&analyses[i]) < 0 ? json_null() : json_integer(mt_rank(&analyses[i])),
                      "report", mt_report_object(&analyses[i])));
    return mt_json_print(out,
                         json_pack("{s:s, s:i, s:o, s:o}", "schema", "memtap.job/1", "highest",
                                   (int)(mt_job_highest(analyses, n) - analyses), "imbalance",
                                   imbalance_json(analyses, n), "ranks", ranks),
                         0);
}
