/* SPDX-License-Identifier: Apache-2.0 */
#include "again.h"
#include "analyzer/report/oom-report.h"
#include "analyzer/support/room.h"
#include "analyzer/trace/definitions.h"
#include "attempt.h"
#include "tools/memtap/launch/manifest.h"
#include "tools/memtap/launch/pytorch-check.h"
#include "tools/memtap/terminal/command.h"

#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define WORDS_MOST 256u
#define TIMEOUT_S (30 * 60)

struct again {
    struct mt_job job;
    char *text, *words[WORDS_MOST + 1];
};

/* Return the first advice that is a setting alone; NULL: there is none. */
static const struct mt_advice *setting_of(const struct mt_oom_story *story)
{
    for (size_t i = 0; i < story->n_advice; i++)
        if (!strcmp(story->advice[i].change, "set") && story->advice[i].served != MT_SERVED_NO)
            return &story->advice[i];
    return NULL;
}

/* Split the recorded command, whose words are separated by spaces. Return whether that is possible.
 */
static bool split(struct again *again, const char *command)
{
    char *rest;
    again->text = command && !strpbrk(command, "\"'\\") ? strdup(command) : NULL;
    if (!again->text)
        return false;
    for (char *word = strtok_r(again->text, " ", &rest); word && again->job.n_words < WORDS_MOST;
         word = strtok_r(NULL, " ", &rest))
        again->words[again->job.n_words++] = word;
    again->job.words = again->words;
    return again->job.n_words;
}

/* Find the simulated card that the trace was recorded on. */
static bool find_card(struct again *again, const struct mt_analysis *analysis,
                      const struct mt_oom_story *story)
{
    const char *name = mt_info(analysis->replay.definitions, "env.CUDASIM_GPU");
    const struct sim_gpu *gpu = name ? sim_gpu_find(name) : NULL;
    uint64_t memory = analysis->replay.samples.last[mt_device_slot(story->oom->device)].total;
    again->job.card[0] = (struct mt_fit_card){gpu, memory ? memory : gpu ? gpu->memory : 0};
    again->job.n_cards = 1;
    again->job.is_smaller = true;
    return gpu;
}

static bool is_of_a_job(const struct mt_definitions *d)
{
    const char *size = mt_info(d, "world_size");
    return size && strcmp(size, "1") != 0;
}

/* Check that the program can be run where it ran. Return 0, or MT_EXIT_BAD after a message. */
static int check(struct again *again, const struct mt_analysis *analysis,
                 const struct mt_oom_story *story, const char *path)
{
    const struct mt_definitions *d = analysis->replay.definitions;
    const char *folder = mt_info(d, "working_directory");
    char found[PATH_MAX];
    if (is_of_a_job(d))
        return mt_fail("%s: a rank of a job of several; --try runs single processes only", path);
    if (!folder || !split(again, mt_info(d, "command")))
        return mt_fail("%s: the trace has no command that --try can run again", path);
    if (!find_card(again, analysis, story))
        return mt_fail("%s: not recorded on a simulated card, which --try needs", path);
    if (chdir(folder))
        return mt_fail("%s: %s; --try needs the program's files", folder, strerror(errno));
    if (!mt_find_command(again->words[0], found))
        return mt_fail("%s: command not found; --try needs the program's files", again->words[0]);
    for (size_t i = 1; i < again->job.n_words; i++) {
        const char *end = strrchr(again->words[i], '.');
        if (end && !strcmp(end, ".py") && access(again->words[i], R_OK))
            return mt_fail("%s/%s: %s; --try needs the program's files", folder, again->words[i],
                           strerror(errno));
    }
    return 0;
}

/* Write where memory ran out in the new run, from its trace. */
static void name_place(struct mt_oom_tried *tried, const char *trace)
{
    struct mt_question question = {.moment = {.kind = MT_AT_OOM}};
    struct mt_analysis analysis;
    struct mt_oom_story story;
    if (!mt_analysis_create(&analysis, trace, &question) && !mt_oom_explain(&story, &analysis))
        mt_oom_sentence(&story, &analysis, tried->place, sizeof tried->place);
    mt_analysis_destroy(&analysis);
}

static void note(struct mt_oom_tried *tried, const struct mt_outcome *outcome, const char *folder)
{
    char pattern[PATH_MAX + 16];
    glob_t found = {0};
    tried->has_ended = outcome->end == MT_FIT_FITS;
    tried->is_full = outcome->end == MT_FIT_FULL;
    tried->repeats = outcome->was_stopped;
    snprintf(pattern, sizeof pattern, "%s/*/*.mtap", folder);
    if (tried->is_full && !glob(pattern, 0, NULL, &found) && found.gl_pathc)
        name_place(tried, found.gl_pathv[0]);
    globfree(&found);
}

/* Return 0, or MT_EXIT_BAD after a message. */
static int run(struct again *again, struct mt_oom_story *story, const struct mt_advice *advice)
{
    struct mt_attempt attempt = {.number = 1};
    char temporary[PATH_MAX];
    int rc = mt_temporary_folder("oom", temporary);
    if (rc)
        return rc;
    again->job.temporary = again->job.kept = temporary;
    mt_room_leave(); /* the program needs more than its trace */
    rc = setenv(story->variable, advice->set, 1) ? -errno : mt_job_finish(&again->job);
    if (!rc)
        rc = mt_attempt_start(&attempt, &again->job);
    if (!rc && waitpid(attempt.keeper, NULL, 0) < 0)
        rc = -errno;
    if (rc)
        mt_say("--try: %s", strerror(-rc));
    else if (attempt.outcome->end != MT_FIT_FITS && attempt.outcome->end != MT_FIT_FULL)
        mt_say("--try: %s: %s", mt_fit_end_name(attempt.outcome->end), attempt.outcome->last);
    else
        note(&story->tried, attempt.outcome, temporary);
    bool is_known = !rc && (story->tried.has_ended || story->tried.is_full);
    mt_attempt_clear(&attempt);
    mt_folder_remove(temporary);
    return is_known ? 0 : MT_EXIT_BAD;
}

int mt_run_again(struct mt_oom_story *story, const struct mt_analysis *analysis, const char *path)
{
    struct again again = {
        .job = {.searched = -1, .fraction = 1, .timeout_s = TIMEOUT_S, .allows_unknown = true}};
    const struct mt_advice *advice = setting_of(story);
    if (!advice)
        return mt_fail("%s: no allocator setting is advised, and --try cannot edit the program",
                       path);
    int code = check(&again, analysis, story, path);
    if (!code)
        code = run(&again, story, advice);
    if (!code)
        snprintf(story->tried.set, sizeof story->tried.set, "%s", advice->set);
    free(again.text);
    mt_job_clear(&again.job);
    return code;
}
