/* SPDX-License-Identifier: Apache-2.0 */
#include "find.h"
#include "analyzer/support/search.h"
#include "analyzer/support/text.h"
#include "simulator/launch.h"
#include "tools/memtap/fit/run/output.h"
#include "tools/memtap/fit/run/signals.h"
#include "tools/memtap/fit/search/fit.h"
#include "tools/memtap/launch/manifest.h"
#include "tools/memtap/terminal/values.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TIMEOUT_S 1800

bool mt_ranks_are_to_find(const struct mt_simulation *simulation)
{
    return simulation->rank && !strcmp(simulation->rank, MT_ALL_DIFFERENT);
}

/* --- the result ------------------------------------------------------------------------------- */

static void print_kind(const struct mt_rank_kind *kind)
{
    const struct mt_outcome *outcome = kind->first->outcome;
    char size[MT_SIZE_TEXT], stands[MT_SIZE_TEXT], equal[96] = "";
    if (kind->runs > 1 && kind->exact == kind->runs)
        snprintf(equal, sizeof equal, " (%u runs with equal requests)", kind->runs);
    else if (kind->runs > 1)
        snprintf(equal, sizeof equal, " (%u runs with equal peaks and sizes)", kind->runs);
    mt_say("  rank %u represents %s%s: %s%s", kind->first->rank,
           mt_count_text(stands, kind->stands), equal,
           outcome->end == MT_FIT_FULL ? "out of memory, after " : "",
           mt_size_text(size, outcome->allocated));
}

static void print_found(const struct mt_rank_kinds *kinds)
{
    char world[MT_SIZE_TEXT], mesh[200] = "", unknown[MT_SIZE_TEXT];
    for (unsigned i = kinds->n_axes; i-- > 0;)
        mt_text_append(mesh, sizeof mesh, "%s%u", *mesh ? " x " : "", kinds->axis[i].size);
    mt_say("%s ranks (groups of rank 0: %s): %u run until iterations repeat, %u kind%s",
           mt_count_text(world, kinds->world), mesh, kinds->n_known, kinds->n_kinds,
           kinds->n_kinds == 1 ? "" : "s");
    for (unsigned i = 0; i < kinds->n_kinds; i++)
        print_kind(&kinds->kind[i]);
    if (kinds->unknown)
        mt_say("  %s ranks are unknown: too many differ; name some with --rank",
               mt_count_text(unknown, kinds->unknown));
    if (kinds->n_known < kinds->world && !kinds->unknown)
        mt_say("assumed: ranks between two identical ranks on an axis are identical to them");
}

MT_ORDER(by_rank, struct mt_rank_kind, MT_RISING(first->rank))

/* Put one rank of each kind into the simulation. */
static int keep_found(struct mt_rank_kinds *kinds, struct mt_simulation *simulation)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    unsigned *stands = calloc(kinds->n_kinds + 1, sizeof *stands);
    qsort(kinds->kind, kinds->n_kinds, sizeof *kinds->kind, by_rank);
    for (unsigned i = 0; out && stands && i < kinds->n_kinds; i++) {
        fprintf(out, "%s%u", i ? "," : "", kinds->kind[i].first->rank);
        stands[i] = kinds->kind[i].stands;
    }
    if (!out || mt_close_memory(out) || !stands)
        return mt_fail("out of memory");
    simulation->rank = text;
    simulation->stands_for = stands;
    return 0;
}

static int fail_run(const struct mt_attempt *attempt)
{
    const struct mt_outcome *outcome = attempt->outcome;
    char how[64];
    if (outcome->signal)
        snprintf(how, sizeof how, "signal %d", outcome->signal);
    else
        snprintf(how, sizeof how, "exit code %d", outcome->exit_code);
    int code = mt_fail("rank %u: no answer: %s%s%s; run it alone (--rank %u)%s", *attempt->rank,
                       mt_fit_end_name(outcome->end), outcome->end == MT_FIT_REFUSED ? ", " : "",
                       outcome->end == MT_FIT_REFUSED ? how : "", *attempt->rank,
                       *outcome->last ? ". Its last lines:" : "");
    mt_output_print_last(outcome->last, stderr, &(struct mt_style){.utf8 = true});
    return code;
}

/* --- the search ------------------------------------------------------------------------------- */

/* Fill in the job. The card is from a file or from the list. */
static int fill_job(const struct mt_command *command, const struct mt_simulation *simulation,
                    char *const *program, struct mt_job *job)
{
    struct mt_fit_card *card = &job->card[0];
    card->gpu = sim_launch_default_gpu();
    if (simulation->gpu && mt_simulation_find(command, simulation->gpu, &card->gpu))
        return MT_EXIT_BAD;
    card->memory = card->gpu->memory;
    if (simulation->memory && mt_read_size(command, "memory", simulation->memory, &card->memory))
        return MT_EXIT_BAD;
    job->words = program;
    while (program[job->n_words])
        job->n_words++;
    job->searched = -1;
    job->n_lines = job->n_cards = 1;
    job->is_smaller = simulation->memory != NULL;
    job->fraction = 1;
    job->timeout_s = TIMEOUT_S;
    job->count[MT_JOB_CARDS] = simulation->gpus;
    job->simulation = *simulation;
    job->count[MT_JOB_RANKS] = simulation->world_size;
    job->finds_ranks = job->is_for_ranks = job->allows_unknown = true;
    return 0;
}

/* Run ranks, with a folder for their files. */
static int make(struct mt_fit *fit)
{
    char folder[PATH_MAX];
    if (mt_temporary_folder("ranks", folder))
        return MT_EXIT_BAD;
    fit->job->temporary = folder;
    int rc = mt_fit_make(fit);
    rmdir(folder);
    mt_signals_let_be();
    if (rc == -EINTR)
        return 128 + fit->signal;
    if (rc)
        return mt_fail("cannot start a run: %s", strerror(-rc));
    return fit->line->is_refused ? fail_run(&fit->attempt[fit->line->refusal]) : 0;
}

int mt_ranks_find(const struct mt_command *command, struct mt_simulation *simulation,
                  char *const *program, bool is_quiet)
{
    uint64_t world = 0;
    struct mt_job job = {.n_words = 0};
    struct mt_fit fit = {.job = &job};
    struct mt_simulation first = *simulation;
    first.rank = NULL;
    int code = mt_simulation_check(command, &first, program);
    if (!code && !simulation->world_size)
        code = mt_fail_usage(command, "--rank %s requires --world-size", simulation->rank);
    if (!code)
        code =
            mt_read_number(command, "world-size", simulation->world_size, 1, SIM_MAX_RANKS, &world);
    if (!code)
        code = fill_job(command, simulation, program, &job);
    if (!code)
        code = make(&fit);
    if (!code)
        code = keep_found(&fit.line->ranks.kinds, simulation);
    if (!code && !is_quiet)
        print_found(&fit.line->ranks.kinds);
    mt_fit_clear(&fit);
    return code;
}
