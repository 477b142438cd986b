/* SPDX-License-Identifier: Apache-2.0 */
/* What a run is, for its answer: which optimizer steps, which line calls the model, what could be
 * changed. */
#include "analyzer/support/text.h"
#include "analyzer/trace/definitions.h"
#include "answer.h"
#include "planner/changes/kinds.h"

#include <string.h>

/* Write the class whose step allocated a stack's block: the innermost one, since a GradScaler or
 * another wrapper has a step, too. */
static void class_of_step(char *out, size_t size, const struct mt_definitions *d, uint32_t stack)
{
    for (; stack && mt_stack(d, stack)->depth && !*out; stack = mt_stack(d, stack)->parent) {
        const char *function = mt_stack_frame(d, stack)->function;
        const char *step = strstr(function, ".step");
        if (step && !step[5] && step > function && !strchr(function, '<'))
            snprintf(out, size, "%.*s", (int)(step - function), function);
    }
}

/* Find the class of the optimizer that steps, by the largest block of its steps: wrappers allocate
 * scalars of their own. */
static void find_optimizer(struct mt_plan_answer *answer, const struct mt_recording *recording)
{
    uint64_t most = 0;
    for (size_t i = recording->n; i--;) {
        const struct mt_recorded_block *block = &recording->block[i];
        char found[sizeof answer->optimizer] = "";
        if (block->step && block->size > most)
            class_of_step(found, sizeof found, recording->definitions, block->stack);
        if (!*found)
            continue;
        most = block->size;
        memcpy(answer->optimizer, found, sizeof found);
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

/* Return whether forward makes large 16-bit tensors; next to 32-bit weights, autocast does. */
static bool has_narrow_activations(const struct mt_recording *recording)
{
    enum { LARGE = 65536 };
    size_t i = 0;
    while (i < recording->n &&
           (recording->block[i].category != MT_CATEGORY_ACTIVATIONS ||
            recording->block[i].phase != MT_PHASE_FORWARD ||
            mt_recorded_width(&recording->block[i]) != 2 || recording->block[i].size < LARGE))
        i++;
    return i < recording->n;
}

void mt_answer_about(struct mt_plan_answer *answer, const struct mt_recording *recording)
{
    find_optimizer(answer, recording);
    find_call(answer, recording);
    find_copies(answer, recording);
    answer->is_narrow = has_narrow_activations(recording);
    answer->infers = answer->rest ? mt_ends_in_evaluation(recording) : mt_only_infers(recording);
}

/* Model the change that uses suggest for a line. */
static int add_line(struct mt_modelled_changes *changes, const struct mt_recording *recording,
                    const char *kind, uint32_t line)
{
    char name[MT_CHANGE_NAME];
    const struct mt_frame *frame = mt_stack_frame(recording->definitions, line);
    const char *file = mt_last_part(frame->file);
    int size = snprintf(name, sizeof name, "%s:%s:%u", kind, file, frame->line);
    if (!line || !frame->line || size >= (int)sizeof name || strchr(name, '+'))
        return 0;
    return mt_modelled_find(changes, name) ? 0 : mt_modelled_try(changes, recording, name);
}

/* Model what the uses suggest for the lines with most unneeded bytes. */
static int add_unneeded(struct mt_modelled_changes *changes, const struct mt_recording *recording,
                        const struct mt_unneeded *unneeded)
{
    static const char *const kinds[MT_UNNEEDED_KINDS] = {[MT_UNNEEDED_NEVER] = "omit",
                                                         [MT_UNNEEDED_WRITTEN] = "omit",
                                                         [MT_UNNEEDED_AFTER] = "del",
                                                         [MT_UNNEEDED_UNTIL] = "defer",
                                                         [MT_UNNEEDED_BETWEEN] = "offload-idle"};
    int rc = 0;
    for (enum mt_unneeded_kind kind = 0; kind < MT_UNNEEDED_KINDS; kind++)
        for (size_t i = 0; kinds[kind] && i < unneeded->kind[kind].n && i < MT_UNNEEDED_HELD && !rc;
             i++)
            rc = add_line(changes, recording, kinds[kind], unneeded->kind[kind].sum[i].key[0]);
    return rc;
}

/* Find what holds the blocks of a change that uses suggest. */
static void find_held(struct mt_modelled *change, const struct mt_unneeded *unneeded)
{
    const struct mt_sums *late = &unneeded->kind[MT_UNNEEDED_AFTER];
    bool is_late = change->kind[0] && change->kind[0]->apply == mt_change_del;
    for (size_t i = 0; is_late && i < late->n && i < MT_UNNEEDED_HELD && !change->held; i++)
        if (late->sum[i].key[0] == change->line && unneeded->held[MT_UNNEEDED_AFTER][i].path)
            change->held = &unneeded->held[MT_UNNEEDED_AFTER][i];
}

/* Replay the changes that leave the program's own requests, where the recorded ones lead to the
 * recorded peak. */
static int replay_changes(struct mt_modelled_changes *changes, const struct mt_recording *recording,
                          const struct mt_requests *requests)
{
    struct mt_judge judge = {.requests = requests, .recording = recording};
    uint64_t peak = 0;
    if (changes->rest || requests->ooms || !requests->n ||
        mt_judge_settings(&judge, recording->definitions) || judge.trial.conf.async)
        return 0;
    judge.trial.request = requests->request;
    judge.trial.n = requests->n;
    judge.trial.has_streams = requests->others_streams;
    judge.event = requests->recorded[requests->n - 1].event;
    for (size_t i = 0; i < changes->n; i++) {
        struct mt_modelled *change = &changes->change[i];
        if (change->why_not || !mt_judge_replays(&judge, change))
            continue;
        int rc = peak ? 0 : mt_judge_peak(&judge, "", &peak);
        if (rc || peak != requests->peak_allocated)
            return rc == -ENOMEM ? rc : 0;
        rc = mt_judge_peak(&judge, change->name, &change->peak);
        if (rc)
            return rc;
        change->saves = (int64_t)(peak - change->peak);
        change->error = 0;
        change->is_replayed = true;
    }
    return 0;
}

/* Where the run was cut, only what was not used in a whole iteration before is known to be
 * unneeded. */
static void note_cut(struct mt_recording *recording, const struct mt_unneeded *unneeded)
{
    if (!unneeded->is_cut)
        return;
    recording->cut = recording->events;
    for (size_t i = 0; i < recording->n; i++)
        if (recording->block[i].was_caught)
            recording->cut = recording->block[i].begin;
    recording->quiet_ns = unneeded->quiet_ns;
}

int mt_answer_model(struct mt_modelled_changes *changes, struct mt_cut_run *cut,
                    struct mt_recording *recording, const struct mt_replay *replay,
                    const struct mt_requests *requests, const struct mt_unneeded *unneeded,
                    const char *const *names, size_t n_names, size_t *wrong)
{
    int rc = mt_recording_finish(recording, replay, requests->device);
    if (!rc)
        rc = mt_failed_add_all(recording, requests);
    if (!rc)
        note_cut(recording, unneeded);
    if (!unneeded->is_known)
        recording->n_uses = 0;
    if (!rc)
        rc = mt_cut_extend(cut, recording, requests);
    changes->rest = cut->rest.known ? &cut->rest : NULL;
    for (size_t i = 0; !rc && i < n_names; i++) {
        *wrong = i;
        rc = mt_modelled_add(changes, recording, names[i]);
    }
    if (!rc && !n_names)
        rc = mt_modelled_add_usual(changes, recording);
    if (!rc && !n_names && unneeded->is_known)
        rc = add_unneeded(changes, recording, unneeded);
    if (!rc)
        rc = replay_changes(changes, recording, requests);
    if (!rc && !n_names)
        mt_modelled_keep_worthy(changes, recording);
    for (size_t i = 0; i < changes->n; i++)
        find_held(&changes->change[i], unneeded);
    mt_modelled_sort(changes);
    return rc;
}

uint64_t mt_answer_saves(const struct mt_modelled_changes *changes, const char *name)
{
    const struct mt_modelled *change = mt_modelled_find(changes, name);
    return change && change->saves > 0 ? (uint64_t)change->saves : 0;
}
