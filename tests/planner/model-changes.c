/* SPDX-License-Identifier: Apache-2.0 */
/* model-changes TRACE [CHANGE]...: what planner/changes says of the trace, as JSON or, without
 * changes, text. */
#include "analyzer/findings/analysis.h"
#include "planner/advice/oom-advice.h"
#include "planner/changes/changes.h"
#include "planner/rest/cut.h"

/* What would have followed, if the trace ends as memory ran out. 0 or -ENOMEM. */
static int go_on(struct mt_advisor *advisor, struct mt_cut_run *cut, int device)
{
    size_t n;
    const struct mt_requests *requests = mt_gathering_finish(advisor->gathering, &n);
    while (requests && n && requests->device != device) {
        requests++;
        n--;
    }
    int rc = requests && n ? mt_failed_add_all(&advisor->recording, requests) : 0;
    return rc || !requests || !n ? rc : mt_cut_extend(cut, &advisor->recording, requests);
}

int main(int argc, char **argv)
{
    struct mt_advisor advisor = {0};
    struct mt_recording *recording = &advisor.recording;
    struct mt_question question = {.moment.kind = MT_AT_PEAK};
    struct mt_analysis analysis;
    struct mt_cut_run cut = {0};
    struct mt_modelled_changes changes = {0};
    const struct mt_style style = {.utf8 = 1};
    if (argc < 2 || mt_advisor_watch(&advisor, &question))
        return 2;
    int rc = mt_analysis_create(&analysis, argv[1], &question);
    const struct mt_device *device = rc ? NULL : mt_analysis_main_device(&analysis);
    if (!device)
        return 1;
    rc = mt_recording_finish(recording, &analysis.replay, device->device);
    if (!rc)
        rc = go_on(&advisor, &cut, device->device);
    changes.rest = cut.rest.known ? &cut.rest : NULL;
    for (int i = 2; !rc && i < argc; i++)
        rc = mt_modelled_add(&changes, recording, argv[i]);
    if (!rc && argc == 2)
        rc = mt_modelled_add_usual(&changes, recording);
    mt_modelled_sort(&changes);
    if (!rc && argc == 2)
        mt_modelled_text(stdout, &changes, &style);
    else if (!rc) {
        json_t *all =
            json_pack("{s:I, s:I, s:o}", "recorded", (json_int_t)device->peak.allocated, "computed",
                      (json_int_t)changes.peak, "changes", mt_modelled_json(&changes));
        json_dumpf(all, stdout, JSON_COMPACT);
        json_decref(all);
    }
    mt_modelled_clear(&changes);
    mt_cut_clear(&cut);
    mt_advisor_clear(&advisor);
    mt_analysis_destroy(&analysis);
    return rc ? 1 : 0;
}
