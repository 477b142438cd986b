/* SPDX-License-Identifier: Apache-2.0 */
#include "survey.h"
#include "scan.h"
#include "trace-format/block.h"
#include "trace-format/cuda-apis.h"
#include "trace-format/end-note.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
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

/* Read a compact copy's record of its original's state. */
static void set_state(struct mt_survey *survey, const char *value)
{
    for (unsigned i = 0; i < MT_TRACE_STATES; i++)
        if (!strcmp(value, mt_trace_state_names[i])) {
            survey->is_copy_of_such = true;
            survey->state = (enum mt_trace_state)i;
        }
}

/* Copy the value of an info record, cut if it does not fit. Return whether it has this key. */
static bool read_info(char *out, size_t size, const struct mt_definition *definition,
                      const char *key)
{
    size_t at = strlen(key);
    if (definition->text_size < at || memcmp(definition->text, key, at))
        return false;
    snprintf(out, size, "%.*s", (int)(definition->text_size - at), definition->text + at);
    return true;
}

/* Read the info records on the end: of several with one key, the last. */
static void find_end(struct mt_survey *survey, const struct mt_definition *definition)
{
    char state[16];
    if (definition->kind != MT_DEF_INFO)
        return;
    if (read_info(state, sizeof state, definition, MT_STATE_INFO))
        set_state(survey, state);
    else if (read_info(state, sizeof state, definition, MT_UNNUMBERED_INFO))
        survey->is_unnumbered = true;
    else if (!read_info(survey->ended, sizeof survey->ended, definition, MT_ENDED_INFO) &&
             !read_info(survey->recovered, sizeof survey->recovered, definition, "recovered=") &&
             !read_info(survey->stopped, sizeof survey->stopped, definition, "stopped="))
        read_info(survey->executed, sizeof survey->executed, definition, "executed=");
}

void mt_survey_batch(struct mt_survey *survey, const struct mt_batch *batch)
{
    for (size_t i = 0; i < batch->n_definitions; i++)
        find_end(survey, &batch->definitions[i]);
    if (!survey->is_copy_of_such)
        survey->state = batch->state;
    survey->events += batch->n_events;
    survey->is_unnumbered |= batch->version && !mt_version_shows_gaps(batch->version);
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
    for (size_t i = 0; i < batch->n_definitions; i++)
        if (mt_definitions_add(pass->definitions, &batch->definitions[i]) == -ENOMEM)
            return -ENOMEM;
    mt_survey_add(pass->survey, batch);
    return 0;
}

int mt_survey(const char *path, struct mt_survey *survey, struct mt_definitions *definitions,
              struct mt_trace_error *error)
{
    struct mt_definitions *own = definitions ? NULL : mt_definitions_create();
    struct pass pass = {survey, definitions ? definitions : own};
    mt_survey_begin(survey, path);
    survey->definitions = pass.definitions;
    int rc = pass.definitions ? mt_scan(path, handle, &pass, error) : -ENOMEM;
    survey->definitions = NULL;
    mt_definitions_destroy(own);
    return rc;
}

/* Count a CUDA allocation call, except for page-locked host memory. */
static void note_cuda(struct mt_survey *survey, const struct mt_event *event)
{
    if (event->kind == MT_CUDA_MALLOC && mt_cuda_api_space(event->CUDA_MALLOC.api) == MT_SPACE_HOST)
        return;
    bool is_again = survey->is_cuda_out_of_memory && survey->wanted_of_cuda == event->size;
    survey->is_cuda_out_of_memory = mt_cuda_is_oom(event);
    survey->wanted_of_cuda = event->size;
    survey->failed_cuda += survey->is_cuda_out_of_memory && !is_again;
    if (survey->is_cuda_out_of_memory && survey->definitions &&
        mt_is_of_library(survey->definitions, event->stack)) {
        survey->failed_libraries += !is_again;
        survey->allocs_at_oom = survey->kinds[MT_ALLOC];
    }
}

static void count_short_lived(struct mt_survey *survey, const struct mt_event *event)
{
    survey->short_lived += event->SHORT_LIVED.blocks;
    survey->short_lived_bytes += event->SHORT_LIVED.bytes;
}

void mt_survey_rare(struct mt_survey *survey, const struct mt_event *event)
{
    if (event->kind == MT_LOST)
        survey->lost += event->LOST.count;
    else if (event->kind == MT_SHORT_LIVED)
        count_short_lived(survey, event);
    else if (event->kind == MT_OOM)
        survey->allocs_at_oom = survey->kinds[MT_ALLOC];
    else
        note_cuda(survey, event);
}

/* Return whether memory ran out, for PyTorch or a library, and PyTorch has allocated nothing since.
 */
static bool torch_is_out_of_memory(const struct mt_survey *survey)
{
    return (survey->kinds[MT_OOM] || survey->failed_libraries) &&
           survey->allocs_at_oom == survey->kinds[MT_ALLOC];
}

static bool uses_torch(const struct mt_survey *survey)
{
    return survey->kinds[MT_ALLOC] || survey->kinds[MT_OOM];
}

uint64_t mt_survey_ooms(const struct mt_survey *survey)
{
    return uses_torch(survey) ? survey->kinds[MT_OOM] + survey->failed_libraries
                              : survey->failed_cuda;
}

bool mt_survey_is_out_of_memory(const struct mt_survey *survey)
{
    return uses_torch(survey) ? torch_is_out_of_memory(survey) : survey->is_cuda_out_of_memory;
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
