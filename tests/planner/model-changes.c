/* SPDX-License-Identifier: Apache-2.0 */
/* model-changes TRACE [CHANGE]...: what planner/changes says of the trace, as JSON or, without
 * changes, text. */
#include "analyzer/findings/analysis.h"
#include "planner/changes/changes.h"

int main(int argc, char **argv)
{
    struct mt_recording recording = {0};
    struct mt_question question = {.moment.kind = MT_AT_PEAK};
    struct mt_analysis analysis;
    struct mt_modelled_changes changes = {0};
    const struct mt_style style = {.utf8 = 1};
    if (argc < 2)
        return 2;
    mt_recording_watch(&recording, &question);
    int rc = mt_analysis_create(&analysis, argv[1], &question);
    const struct mt_device *device = rc ? NULL : mt_analysis_main_device(&analysis);
    if (!device)
        return 1;
    rc = mt_recording_finish(&recording, &analysis.replay, device->device);
    for (int i = 2; !rc && i < argc; i++)
        rc = mt_modelled_add(&changes, &recording, argv[i]);
    if (!rc && argc == 2)
        rc = mt_modelled_add_usual(&changes, &recording);
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
    mt_recording_clear(&recording);
    mt_analysis_destroy(&analysis);
    return rc ? 1 : 0;
}
