/* SPDX-License-Identifier: Apache-2.0 */
/* What a run is, for its answer: which optimizer steps, which line calls the model, what could be
 * changed. */
#include "analyzer/support/text.h"
#include "analyzer/trace/definitions.h"
#include "answer.h"
#include "planner/advice/failed.h"
#include "planner/changes/kinds.h"

#include <string.h>

/* Return the class of the optimizer that steps, by the frames of what its steps made. */
static void find_optimizer(struct mt_plan_answer *answer, const struct mt_recording *recording)
{
    const struct mt_definitions *d = recording->definitions;
    for (size_t i = recording->n; i-- && !*answer->optimizer;)
        for (uint32_t stack = recording->block[i].step ? recording->block[i].stack : 0;
             stack && mt_stack(d, stack)->depth; stack = mt_stack(d, stack)->parent) {
            const char *function = mt_stack_frame(d, stack)->function;
            const char *step = strstr(function, ".step");
            if (step && !step[5] && step > function && !strchr(function, '<'))
                snprintf(answer->optimizer, sizeof answer->optimizer, "%.*s",
                         (int)(step - function), function);
        }
}

static void put_line(char *out, size_t size, const struct mt_frame *frame)
{
    snprintf(out, size, "%.80s:%u", mt_last_part(frame->file), frame->line);
}

/* Find the line that made the copies of weights, if all are from one. */
static void find_copies(struct mt_plan_answer *answer, const struct mt_recording *recording)
{
    const struct mt_definitions *d = recording->definitions;
    const struct mt_frame *line = NULL;
    for (size_t i = 0; i < recording->n; i++) {
        if (!mt_is_weight_copy(&recording->block[i]))
            continue;
        const struct mt_frame *frame =
            mt_stack_frame(d, mt_stack_line(d, recording->block[i].stack));
        if (!frame || !frame->line ||
            (line && (line->line != frame->line || line->file != frame->file)))
            return;
        line = frame;
    }
    if (line)
        put_line(answer->copies, sizeof answer->copies, line);
}

/* Find the line that called the model last. */
static void find_call(struct mt_plan_answer *answer, const struct mt_recording *recording)
{
    const struct mt_definitions *d = recording->definitions;
    for (size_t i = recording->n; i-- && !*answer->calls;) {
        const struct mt_recorded_block *block = &recording->block[i];
        uint32_t caller = block->phase == MT_PHASE_FORWARD ? mt_stack(d, block->stack)->caller : 0;
        const struct mt_frame *frame = caller ? mt_stack_frame(d, mt_stack(d, caller)->user) : NULL;
        if (frame && frame->line)
            put_line(answer->calls, sizeof answer->calls, frame);
    }
}

void mt_answer_about(struct mt_plan_answer *answer, const struct mt_recording *recording)
{
    find_optimizer(answer, recording);
    find_call(answer, recording);
    find_copies(answer, recording);
    answer->infers = answer->rest && mt_ends_in_evaluation(recording);
}

int mt_answer_model(struct mt_modelled_changes *changes, struct mt_cut_run *cut,
                    struct mt_recording *recording, const struct mt_replay *replay,
                    const struct mt_requests *requests, const char *const *names, size_t n_names,
                    size_t *wrong)
{
    int rc = mt_recording_finish(recording, replay, requests->device);
    if (!rc)
        rc = mt_failed_add_all(recording, requests);
    if (!rc)
        rc = mt_cut_extend(cut, recording, requests);
    changes->rest = cut->rest.known ? &cut->rest : NULL;
    for (size_t i = 0; !rc && i < n_names; i++) {
        *wrong = i;
        rc = mt_modelled_add(changes, recording, names[i]);
    }
    if (!rc && !n_names)
        rc = mt_modelled_add_usual(changes, recording);
    mt_modelled_sort(changes);
    return rc;
}

uint64_t mt_answer_saves(const struct mt_modelled_changes *changes, const char *name)
{
    for (size_t i = 0; i < changes->n; i++)
        if (!strcmp(changes->change[i].name, name) && changes->change[i].saves > 0)
            return (uint64_t)changes->change[i].saves;
    return 0;
}
