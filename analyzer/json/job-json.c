/* SPDX-License-Identifier: Apache-2.0 */
#include "analyzer/report/job-report.h"

#include <errno.h>
#include <jansson.h>

#include "analyzer/findings/job.h"
#include "analyzer/print/json.h"
#include "analyzer/report/report.h"

static json_t *imbalance_json(const struct mt_job_rank *ranks, size_t n, size_t highest)
{
    struct mt_imbalance imbalance;
    if (mt_imbalance_find(&imbalance, ranks, n, highest))
        return NULL;
    json_t *categories = json_object();
    for (unsigned i = 0; i < mt_n_categories; i++)
        if (imbalance.category[i])
            json_object_set_new(categories, mt_categories[i].name,
                                json_integer(imbalance.category[i]));
    return json_pack("{s:o, s:o, s:o}", "median", mt_json_number(imbalance.median), "above",
                     mt_json_number(imbalance.above), "categories", categories);
}

/* Return the cards that several processes shared. NULL: no memory. */
static json_t *shared_json(const struct mt_job_rank *ranks, size_t n)
{
    json_t *cards = json_array();
    struct mt_card_share share;
    for (size_t first = 0; first < n; first++) {
        if (!mt_card_share_find(&share, ranks, n, first))
            continue;
        json_t *of = json_array(), *each = json_array(), *together = json_null();
        for (size_t i = first; i < n; i++)
            if (mt_card_share_has(&share, ranks, i)) {
                json_array_append_new(of, json_integer((json_int_t)i));
                json_array_append_new(each, mt_json_number(ranks[i].together));
            }
        if (share.most)
            together = json_pack("{s:o, s:o, s:O}", "most", mt_json_number(share.most), "unix_ns",
                                 mt_json_number(share.ns), "each", each);
        json_decref(each);
        json_array_append_new(cards,
                              json_pack("{s:s, s:i, s:o, s:o, s:o}", "host", ranks[first].host,
                                        "device", ranks[first].device, "ranks", of, "peaks",
                                        mt_json_number(share.peaks), "together", together));
    }
    return cards;
}

int mt_job_spool_add(struct mt_job_spool *spool, const struct mt_job_rank *rank,
                     const struct mt_analysis *analysis)
{
    json_t *number = mt_json_index(rank->rank);
    json_t *report = json_pack("{s:o, s:o}", "rank", number, "report", mt_report_object(analysis));
    if (report && rank->stands_for > 0)
        json_object_set_new(report, "stands_for", json_integer(rank->stands_for));
    off_t begin = ftello(spool->file), end;
    if (!report)
        return -ENOMEM;
    errno = 0;
    if (mt_json_within(spool->file, report, 2) || fflush(spool->file) ||
        (end = ftello(spool->file)) < 0 || begin < 0)
        return errno ? -errno : -EIO;
    spool->at[rank->given] = (struct mt_job_piece){(uint64_t)begin, (uint64_t)(end - begin)};
    return 0;
}

/* Copy a rank's report from the spool. */
static int put_piece(const struct mt_job_spool *spool, const struct mt_job_piece *piece, FILE *out)
{
    char bytes[1 << 14];
    if (ftello(spool->file) != (off_t)piece->begin &&
        fseeko(spool->file, (off_t)piece->begin, SEEK_SET))
        return -EIO;
    for (uint64_t left = piece->size; left;) {
        size_t some = left < sizeof bytes ? (size_t)left : sizeof bytes;
        if (fread(bytes, 1, some, spool->file) != some || fwrite(bytes, 1, some, out) != some)
            return -EIO;
        left -= some;
    }
    return 0;
}

int mt_job_json(const struct mt_job_rank *ranks, size_t n, const struct mt_job_spool *spool,
                FILE *out)
{
    size_t highest = mt_job_highest(ranks, n);
    json_t *imbalance = imbalance_json(ranks, n, highest), *shared = shared_json(ranks, n);
    if (!imbalance || !shared) {
        json_decref(imbalance);
        json_decref(shared);
        return -ENOMEM;
    }
    fprintf(out,
            "{\n  \"schema\": \"memtap.job/1\",\n  \"highest\": %zu,\n  \"imbalance\": ", highest);
    int rc = mt_json_within(out, imbalance, 1);
    fputs(",\n  \"shared\": ", out);
    if (rc)
        json_decref(shared);
    else
        rc = mt_json_within(out, shared, 1);
    fputs(",\n  \"ranks\": [", out);
    rewind(spool->file);
    for (size_t i = 0; i < n && !rc; i++) {
        fputs(i ? ",\n    " : "\n    ", out);
        rc = put_piece(spool, &spool->at[ranks[i].given], out);
    }
    fputs("\n  ]\n}\n", out);
    return rc ? rc : ferror(out) ? -EIO : 0;
}
