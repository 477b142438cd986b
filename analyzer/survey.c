/* SPDX-License-Identifier: Apache-2.0 */
#include "survey.h"
#include "scan.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

struct pass {
    struct mt_survey *survey;
    struct mt_definitions *definitions;
};

void mt_survey_begin(struct mt_survey *survey, const char *path)
{
    struct stat status;
    memset(survey, 0, sizeof *survey);
    survey->state = MT_TRACE_OPEN;
    if (!stat(path, &status))
        survey->bytes = (uint64_t)status.st_size;
}

/* What a compact copy says of the trace that it is of. */
static void look_for_state(struct mt_survey *survey, const struct mt_definition *definition)
{
    static const char key[] = MT_STATE_INFO;
    const size_t at = sizeof key - 1;
    if (definition->kind != MT_DEF_INFO || definition->text_size < at ||
        memcmp(definition->text, key, at))
        return;
    for (unsigned i = 0; i < MT_TRACE_STATES; i++) {
        const char *name = mt_trace_state_names[i];
        if (definition->text_size - at != strlen(name) ||
            memcmp(definition->text + at, name, strlen(name)))
            continue;
        survey->is_copy_of_such = 1;
        survey->state = (enum mt_trace_state)i;
    }
}

void mt_survey_batch(struct mt_survey *survey, const struct mt_batch *batch)
{
    for (size_t i = 0; i < batch->n_definitions; i++)
        look_for_state(survey, &batch->definitions[i]);
    if (!survey->is_copy_of_such)
        survey->state = batch->state;
    survey->events += batch->n_events;
    if (batch->type == MT_BATCH_END) {
        survey->complete = 1;
        survey->end = batch->end;
    }
}

void mt_survey_add(struct mt_survey *survey, const struct mt_batch *batch)
{
    mt_survey_batch(survey, batch);
    for (size_t i = 0; i < batch->n_events; i++)
        mt_survey_event(survey, &batch->events[i]);
}

static int handle(void *data, const struct mt_batch *batch)
{
    struct pass *pass = data;
    mt_survey_add(pass->survey, batch);
    for (size_t i = 0; pass->definitions && i < batch->n_definitions; i++)
        if (mt_definitions_add(pass->definitions, &batch->definitions[i]) == -ENOMEM)
            return -ENOMEM;
    return 0;
}

int mt_survey(const char *path, struct mt_survey *survey, struct mt_definitions *definitions,
              struct mt_trace_error *error)
{
    struct pass pass = {survey, definitions};
    mt_survey_begin(survey, path);
    return mt_scan(path, handle, &pass, error);
}

const char *mt_survey_trouble(const struct mt_survey *survey)
{
    static const char *const troubles[MT_TRACE_STATES] = {
        [MT_TRACE_CLOSED] = "the end of the recording cannot be read",
        [MT_TRACE_RUNNING] = "the program is still running",
        [MT_TRACE_KILLED] = "the program was killed; everything up to its last moment is here",
        [MT_TRACE_OPEN] = "the recording was not closed, its end may be missing",
        [MT_TRACE_STOPPED] = "the trace could not be written to the program's end; everything up "
                             "to then is here",
        [MT_TRACE_EXECUTED] = "the process became another program; everything up to then is here",
    };
    return survey->complete ? NULL : troubles[survey->state];
}

uint64_t mt_survey_lost(const struct mt_survey *survey)
{
    return survey->complete && survey->end.lost > survey->lost ? survey->end.lost : survey->lost;
}

uint64_t mt_survey_length_ns(const struct mt_survey *survey)
{
    return survey->complete && survey->end.time_ns > survey->last_time_ns ? survey->end.time_ns
                                                                          : survey->last_time_ns;
}
