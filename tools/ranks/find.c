/* SPDX-License-Identifier: Apache-2.0 */
#include "find.h"
#include "analyzer/support/text.h"
#include "kinds.h"
#include "simulator/launch.h"
#include "tools/fit/run/attempt.h"
#include "tools/fit/run/machine.h"
#include "tools/fit/run/output.h"
#include "tools/fit/run/requests.h"
#include "tools/fit/run/signals.h"
#include "tools/launch/roster.h"
#include "tools/terminal/values.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ALL_DIFFERENT "all-different"
#define GROUPS "CUDASIM_GROUPS"
#define PAUSE_NS 20000000
#define TIMEOUT_S 1800

/* One rank's run. */
struct trial {
    unsigned rank;
    char text[16];
    struct mt_job job;
    struct mt_attempt attempt;
    struct mt_outcome outcome; /* once it has ended */
    uint64_t order;            /* of all requests; 0: not known */
};

struct search {
    const struct mt_simulation *simulation;
    struct mt_job job;
    char folder[PATH_MAX], groups[PATH_MAX];
    struct mt_rank_kinds kinds;
    struct trial trial[MT_MOST_RANK_RUNS];
    unsigned n_trials, n_running;
    uint64_t most_host;
    bool is_quiet;
};

bool mt_ranks_are_to_find(const struct mt_simulation *simulation)
{
    return simulation->rank && !strcmp(simulation->rank, ALL_DIFFERENT);
}

/* --- what a run showed ------------------------------------------------------------------------ */

static uint64_t mix(uint64_t hash, uint64_t number)
{
    hash = (hash ^ number) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 29;
}

static int by_number(const void *a, const void *b)
{
    const uint64_t *one = a, *other = b;
    return (*one > *other) - (*one < *other);
}

/* Return a number for the sizes that were asked for, whatever their order and how often: threads
 * take turns as they like. */
static uint64_t hash_sizes(const struct mt_request_log_device *device, uint64_t hash)
{
    uint64_t *sizes = malloc((device->n + 1) * sizeof *sizes);
    size_t n = 0;
    for (size_t i = 0; sizes && i < device->n; i++)
        if (device->request[i].kind == MT_REQUEST_ALLOCATE)
            sizes[n++] = device->request[i].size;
    if (n)
        qsort(sizes, n, sizeof *sizes, by_number);
    for (size_t i = 0; i < n; i++)
        if (!i || sizes[i] != sizes[i - 1])
            hash = mix(hash, sizes[i]);
    free(sizes);
    return hash;
}

/* What others take of the card is noted now and then: it is no request. */
static uint64_t hash_order(const struct mt_request_log_device *device, uint64_t hash)
{
    for (size_t i = 0; i < device->n; i++) {
        const struct mt_request *request = &device->request[i];
        if (request->kind == MT_REQUEST_OTHERS)
            continue;
        hash = mix(mix(hash, request->size), request->block);
        hash = mix(hash,
                   (uint64_t)request->kind << 32 | (uint64_t)request->pool << 16 | request->stream);
    }
    return hash | 1;
}

/* Return the kind: how the run ended, the most that was taken, and the sizes that were asked for.
 */
static uint64_t find_kind(struct trial *trial)
{
    const struct mt_outcome *outcome = trial->attempt.outcome;
    struct mt_request_log log = {0};
    uint64_t kind =
        mix(mix(mix(outcome->end, outcome->used), outcome->reserved), outcome->allocated);
    if (trial->attempt.asked > 0)
        mt_request_log_read(&log, trial->attempt.asked);
    trial->attempt.asked = 0;
    for (size_t i = 0; i < log.n_devices; i++) {
        kind = hash_sizes(log.device[i], kind);
        trial->order = hash_order(log.device[i], trial->order);
    }
    mt_request_log_clear(&log);
    return kind;
}

/* --- runs ------------------------------------------------------------------------------------- */

static int start(struct search *search, unsigned rank)
{
    struct trial *trial = &search->trial[search->n_trials];
    *trial = (struct trial){.rank = rank, .job = search->job};
    snprintf(trial->text, sizeof trial->text, "%u", rank);
    trial->job.count[MT_JOB_RANK] = trial->text;
    trial->attempt.number = search->n_trials + 1;
    int rc = rank ? unsetenv(GROUPS) : setenv(GROUPS, search->groups, 1);
    if (!rc)
        rc = mt_attempt_start(&trial->attempt, &trial->job);
    search->n_trials += !rc;
    search->n_running += !rc;
    unsetenv(GROUPS);
    return rc;
}

/* Without memory for one more, wait for those that run. */
static bool has_room(const struct search *search)
{
    uint64_t each = search->most_host ? search->most_host + search->most_host / 8 : MT_FIRST_RUN;
    return !search->n_running ||
           (search->n_running < mt_machine_processors() && mt_machine_available() > 2 * each);
}

static int fail_run(const struct trial *trial)
{
    const struct mt_outcome *outcome = &trial->outcome;
    char how[64];
    if (outcome->signal)
        snprintf(how, sizeof how, "signal %d", outcome->signal);
    else
        snprintf(how, sizeof how, "exit code %d", outcome->exit_code);
    int code =
        mt_fail("rank %u: its run showed nothing: %s%s%s; run it alone (--rank %u)%s", trial->rank,
                mt_fit_end_name(outcome->end), outcome->end == MT_FIT_REFUSED ? ", " : "",
                outcome->end == MT_FIT_REFUSED ? how : "", trial->rank,
                *outcome->last ? ". Its last lines:" : "");
    mt_output_print_last(outcome->last, stderr, &(struct mt_style){.utf8 = true});
    return code;
}

static int conclude(struct search *search, struct trial *trial, int status)
{
    trial->attempt.keeper = 0;
    search->n_running--;
    if (!WIFEXITED(status) || WEXITSTATUS(status))
        trial->attempt.outcome->end = MT_FIT_KILLED;
    uint64_t kind = find_kind(trial);
    trial->outcome = *trial->attempt.outcome;
    mt_attempt_clear(&trial->attempt);
    if (trial->outcome.host > search->most_host)
        search->most_host = trial->outcome.host;
    if (trial->outcome.end != MT_FIT_FITS && trial->outcome.end != MT_FIT_FULL)
        return mt_signals_caught() ? 0 : fail_run(trial);
    mt_rank_kinds_learn(&search->kinds, trial->rank, kind);
    return 0;
}

static int reap(struct search *search)
{
    const struct timespec pause = {.tv_nsec = PAUSE_NS};
    int code = 0, status;
    nanosleep(&pause, NULL);
    for (unsigned i = 0; i < search->n_trials; i++) {
        struct trial *trial = &search->trial[i];
        if (trial->attempt.keeper > 0 && waitpid(trial->attempt.keeper, &status, WNOHANG) > 0) {
            int ended = conclude(search, trial, status);
            code = code ? code : ended;
        }
    }
    return code;
}

static void end_all(struct search *search)
{
    for (unsigned i = 0; i < search->n_trials; i++)
        mt_attempt_end(&search->trial[i].attempt);
    while (search->n_running)
        reap(search);
}

static int run_wanted(struct search *search)
{
    int code = 0;
    for (unsigned i = 0; !code && !mt_signals_caught() && i < search->kinds.n_wanted;) {
        if (has_room(search) && start(search, search->kinds.wanted[i++]))
            code = mt_fail("no run can be started: %s", strerror(errno));
        else if (!code)
            code = reap(search);
    }
    while (!code && !mt_signals_caught() && search->n_running)
        code = reap(search);
    return code;
}

/* Run rank 0, which notes its groups, and arrange the ranks by them. */
static int run_first(struct search *search)
{
    unsigned long long first, stride, count;
    unsigned world = search->kinds.world;
    search->kinds.wanted[0] = 0;
    search->kinds.n_wanted = 1;
    int code = run_wanted(search);
    FILE *groups = code ? NULL : fopen(search->groups, "re");
    while (groups && fscanf(groups, "%llu %llu %llu", &first, &stride, &count) == 3)
        if (!first && stride && count && stride < world && count <= world)
            mt_rank_kinds_divide(&search->kinds, (unsigned)stride, (unsigned)count);
    if (groups)
        fclose(groups);
    return code;
}

/* --- what was found --------------------------------------------------------------------------- */

static const struct trial *trial_of(const struct search *search, unsigned rank)
{
    const struct trial *trial = search->trial;
    while (trial->rank != rank)
        trial++;
    return trial;
}

/* Count the runs that asked for the same as the kind's first one, to the last request. */
static unsigned count_exact(const struct search *search, const struct mt_rank_kind *kind)
{
    uint64_t order = trial_of(search, kind->rank)->order;
    unsigned n = 0;
    for (unsigned i = 0; i < search->kinds.n_known; i++)
        n += order && search->kinds.known[i].kind == kind->kind &&
             trial_of(search, search->kinds.known[i].rank)->order == order;
    return n;
}

static void print_kind(const struct search *search, const struct mt_rank_kind *kind)
{
    const struct mt_outcome *outcome = &trial_of(search, kind->rank)->outcome;
    char size[MT_SIZE_TEXT], stands[MT_SIZE_TEXT], equal[96] = "";
    unsigned exact = count_exact(search, kind);
    if (kind->runs > 1 && exact == kind->runs)
        snprintf(equal, sizeof equal, " (%u runs, equal to the last request)", exact);
    else if (kind->runs > 1)
        snprintf(equal, sizeof equal, " (%u runs with equal peaks and sizes)", kind->runs);
    mt_say("  rank %u stands for %s%s: %s%s", kind->rank, mt_count_text(stands, kind->stands),
           equal, outcome->end == MT_FIT_FULL ? "out of memory, after " : "",
           mt_size_text(size, outcome->allocated));
}

static void print_found(const struct search *search)
{
    const struct mt_rank_kinds *kinds = &search->kinds;
    char world[MT_SIZE_TEXT], mesh[200] = "", unknown[MT_SIZE_TEXT];
    size_t used = 0;
    for (unsigned i = kinds->n_axes; i-- > 0 && used < sizeof mesh;)
        used += (size_t)snprintf(mesh + used, sizeof mesh - used, "%s%u", used ? " x " : "",
                                 kinds->axis[i].size);
    mt_say("%s ranks, by the groups of rank 0 %s: %u run to where iterations repeat, %u kind%s",
           mt_count_text(world, kinds->world), mesh, kinds->n_known, kinds->n_kinds,
           kinds->n_kinds == 1 ? "" : "s");
    for (unsigned i = 0; i < kinds->n_kinds; i++)
        print_kind(search, &kinds->kind[i]);
    if (kinds->unknown)
        mt_say("  %s ranks are not known: too many differ; name some with --rank",
               mt_count_text(unknown, kinds->unknown));
    if (kinds->n_known < kinds->world && !kinds->unknown)
        mt_say("taken for granted: ranks between two equal ones on an axis are like them");
}

static int by_rank(const void *a, const void *b)
{
    const struct mt_rank_kind *one = a, *other = b;
    return (one->rank > other->rank) - (one->rank < other->rank);
}

/* Put one rank of each kind into the simulation. */
static int keep_found(struct search *search, struct mt_simulation *simulation)
{
    struct mt_rank_kinds *kinds = &search->kinds;
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    unsigned *stands = calloc(kinds->n_kinds + 1, sizeof *stands);
    qsort(kinds->kind, kinds->n_kinds, sizeof *kinds->kind, by_rank);
    for (unsigned i = 0; out && stands && i < kinds->n_kinds; i++) {
        fprintf(out, "%s%u", i ? "," : "", kinds->kind[i].rank);
        stands[i] = kinds->kind[i].stands;
    }
    if (!out || fclose(out) || !stands)
        return mt_fail("out of memory");
    simulation->rank = text;
    simulation->stands_for = stands;
    return 0;
}

/* --- all of it -------------------------------------------------------------------------------- */

/* The card is a file's, or one of the list. */
static int fill_job(const struct mt_command *command, struct search *search, char *const *program)
{
    const struct mt_simulation *simulation = search->simulation;
    struct mt_job *job = &search->job;
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
    job->values = simulation->values;
    job->count[MT_JOB_RANKS] = simulation->world_size;
    job->temporary = search->folder;
    return 0;
}

static int begin(struct search *search)
{
    if (snprintf(search->folder, sizeof search->folder, "%s/memtap-ranks-XXXXXX",
                 mt_roster_folder()) >= (int)sizeof search->folder ||
        !mkdtemp(search->folder))
        return mt_fail(
            "%s: no temporary folder can be made in it: %s; set TMPDIR to another folder",
            mt_roster_folder(), strerror(errno));
    snprintf(search->groups, sizeof search->groups, "%.*s/groups", PATH_MAX - 8, search->folder);
    FILE *groups = fopen(search->groups, "we");
    if (!groups || fclose(groups))
        return mt_fail("%s: %s", search->groups, strerror(errno));
    mt_signals_catch();
    return 0;
}

static void end(struct search *search)
{
    end_all(search);
    unlink(search->groups);
    rmdir(search->folder);
    mt_signals_let_be();
}

static int search_all(struct search *search)
{
    int code = run_first(search);
    while (!code && !mt_signals_caught() && mt_rank_kinds_next(&search->kinds))
        code = run_wanted(search);
    return code;
}

int mt_ranks_find(const struct mt_command *command, struct mt_simulation *simulation,
                  char *const *program, bool is_quiet)
{
    uint64_t world = 0;
    struct mt_simulation first = *simulation;
    struct search *search = calloc(1, sizeof *search);
    first.rank = NULL;
    if (!search)
        return mt_fail("out of memory");
    search->simulation = simulation;
    search->is_quiet = is_quiet;
    int code = mt_simulation_check(command, &first, program);
    if (!code && !simulation->world_size)
        code = mt_fail_usage(command, "--rank %s: of how many? Give --world-size too",
                             simulation->rank);
    if (!code)
        code =
            mt_read_number(command, "world-size", simulation->world_size, 1, SIM_MAX_RANKS, &world);
    if (!code)
        code = fill_job(command, search, program);
    if (!code)
        code = begin(search);
    if (!code) {
        mt_rank_kinds_begin(&search->kinds, (unsigned)world);
        code = search_all(search);
        end(search);
    }
    if (!code && mt_signals_caught())
        code = 128 + mt_signals_caught();
    if (!code)
        code = keep_found(search, simulation);
    if (!code && !is_quiet)
        print_found(search);
    free(search);
    return code;
}
