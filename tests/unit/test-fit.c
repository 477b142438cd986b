/* SPDX-License-Identifier: Apache-2.0 */
/* memtap fit: variables, commands with their places, and the search, with runs that are made up
 * here. */
#include "planner/allocator/model.h"
#include "simulator/catalogue.h"
#include "tests/support/run-tests.h"
#include "tools/memtap/fit/run/requests.h"
#include "tools/memtap/fit/search/fit.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define GIB ((double)((uint64_t)1 << 30))
#define N_MODELS 24u

/* A made-up program: what a value takes, and how much of PyTorch's cache has to be there. */
static struct {
    double base, each, bend; /* bytes: at 0, of a value, and more of its square */
    double cache;            /* part of the rest that PyTorch keeps */
    double needed;           /* of that, what it cannot do without: 0 to 1 */
    bool is_logged;          /* runs have requests, and these say what they take */
    uint64_t grain;          /* to which they round the value up; 0: they do not */
    uint64_t refused_below;
} program;

static double floor_of(double value)
{
    return program.base + program.each * value + program.bend * value * value;
}

static double needed_of(double value)
{
    return floor_of(value) * (1 + program.cache * program.needed);
}

/* --- requests ---------------------------------------------------------------------------------
 */

enum { OTHER_ORDER = 100, MOST_REQUESTS = 10 };

static struct mt_request request(unsigned kind, unsigned block, double size)
{
    return (struct mt_request){.size = (uint64_t)size, .block = block, .kind = kind & 15};
}

/* The third block has room in what the first one left if CUDA's rounding of that to 2 MiB left
 * enough beside the second: of some values, then not of the next ones. From a value on there is one
 * block more. */
static size_t make_requests(struct mt_request *to, uint64_t value, uint64_t context)
{
    const double mib = 1 << 20;
    size_t n = 0;
    if (program.grain)
        value = (value + program.grain - 1) / program.grain * program.grain;
    to[n++] = request(MT_REQUEST_OTHERS, 0, (double)context);
    to[n++] = request(MT_REQUEST_ALLOCATE, 0, GIB);
    to[n++] = request(MT_REQUEST_ALLOCATE, 1, 1.25 * mib * (double)value);
    to[n++] = request(MT_REQUEST_FREE, 1, 0);
    to[n++] = request(MT_REQUEST_ALLOCATE, 2, 2 * mib);
    to[n++] = request(MT_REQUEST_ALLOCATE, 3, 1.25 * mib * (double)value - mib);
    if (value >= OTHER_ORDER)
        to[n++] = request(MT_REQUEST_ALLOCATE, 4, 100);
    return n;
}

/* How many of them a card of so many bytes serves. */
static size_t served(const struct mt_request *requests, size_t n, uint64_t memory)
{
    const struct mt_allocator_card card = {.total = memory};
    struct mt_alloc_conf conf;
    mt_alloc_conf_init(&conf);
    struct mt_allocator *allocator =
        mt_allocator_create(&conf, (struct mt_torch_release){2, 15}, &card);
    ck_assert_ptr_nonnull(allocator);
    ck_assert_int_eq(mt_allocator_feed(allocator, requests, n), 0);
    const struct mt_allocator_oom *oom = mt_allocator_first_oom(allocator);
    size_t result = oom ? oom->index : n;
    mt_allocator_destroy(allocator);
    return result;
}

static bool is_served(uint64_t value, uint64_t memory, uint64_t context)
{
    struct mt_request requests[MOST_REQUESTS];
    size_t n = make_requests(requests, value, context);
    return served(requests, n, memory) == n;
}

/* As the keeper does. */
static void log_requests(struct mt_attempt *attempt, uint64_t value, uint64_t memory,
                         uint64_t context)
{
    struct mt_request requests[MOST_REQUESTS];
    struct mt_request_log_device head = {.release = {2, 15}};
    size_t n = make_requests(requests, value, context);
    mt_alloc_conf_init(&head.conf);
    head.n = served(requests, n, memory);
    attempt->outcome->end = head.n == n ? MT_FIT_FITS : MT_FIT_FULL;
    attempt->request_log = mt_request_log_new();
    ck_assert_int_ge(attempt->request_log, 0);
    ck_assert_int_eq(write(attempt->request_log, &head, sizeof head), sizeof head);
    ck_assert_int_eq(write(attempt->request_log, requests, head.n * sizeof *requests),
                     (ssize_t)(head.n * sizeof *requests));
}

/* In the place of run/attempt.c: the outcome is there at once, and the keeper's end is a process's.
 */
int mt_attempt_start(struct mt_attempt *attempt, const struct mt_job *job)
{
    uint64_t value = mt_job_searched_value(job, attempt->choice.at);
    double room = attempt->is_huge ? 1e18 : (double)mt_room_of_card(job, attempt->card);
    double context = (double)job->card[attempt->card].gpu->context;
    double used = floor_of((double)value) * (1 + program.cache);
    attempt->outcome = calloc(1, sizeof *attempt->outcome);
    attempt->outcome->end = value < program.refused_below      ? MT_FIT_REFUSED
                            : needed_of((double)value) <= room ? MT_FIT_FITS
                                                               : MT_FIT_FULL;
    attempt->outcome->used = (uint64_t)((used < room ? used : room) + context);
    attempt->outcome->floor = (uint64_t)(floor_of((double)value) + context);
    if (program.is_logged)
        log_requests(attempt, value,
                     attempt->is_huge ? MT_HUGE_CARD : job->card[attempt->card].memory,
                     job->card[attempt->card].gpu->context);
    attempt->keeper = fork();
    if (!attempt->keeper)
        _exit(0);
    return 0;
}

void mt_attempt_end(const struct mt_attempt *attempt)
{
    (void)attempt;
}

void mt_attempt_clear(struct mt_attempt *attempt)
{
    free(attempt->outcome);
    attempt->outcome = NULL;
}

static unsigned jobs = 3; /* runs at a time */
static const char *const cards[] = {"t4", "rtx4090", "h100"};

static void search(struct mt_job *job, struct mt_fit *fit, const char *values)
{
    char wrong[128];
    *job = (struct mt_job){.fraction = 1, .n_variables = 1};
    ck_assert_int_eq(mt_variable_read(&job->variable[0], values, wrong, sizeof wrong), 0);
    for (size_t i = 0; i < sizeof cards / sizeof *cards; i++) {
        const struct sim_gpu *gpu = sim_gpu_find(cards[i]);
        job->card[job->n_cards++] = (struct mt_fit_card){gpu, gpu->memory};
    }
    ck_assert_int_eq(mt_job_finish(job), 0);
    *fit = (struct mt_fit){.job = job, .jobs = jobs};
    ck_assert_int_eq(mt_fit_make(fit), 0);
}

static void clear(struct mt_job *job, struct mt_fit *fit)
{
    mt_fit_clear(fit);
    mt_variable_clear(&job->variable[0]);
}

/* What is found is the border, and by at most so many runs. */
static void check_card(const struct mt_job *job, const struct mt_fit *fit, size_t card,
                       unsigned most)
{
    const struct mt_card_search *found = mt_fit_search(fit, 0, card);
    double room = (double)mt_room_of_card(job, card);
    size_t n = mt_job_positions(job);
    unsigned runs = mt_fit_runs(fit, 0, card);
    ck_assert_msg(runs <= most, "%s: %u runs: base %.2f, each %.4f GiB, cache %.2f", cards[card],
                  runs, program.base / GIB, program.each / GIB, program.cache);
    ck_assert(found->fits != MT_NONE || found->fails == found->line->first);
    ck_assert(found->fails != MT_NONE || found->fits == n - 1);
    if (found->fits != MT_NONE && found->fails != MT_NONE)
        ck_assert_uint_eq(found->fits + 1, found->fails);
    if (found->fits != MT_NONE)
        ck_assert(needed_of((double)mt_job_searched_value(job, found->fits)) <= room);
    if (found->fails != MT_NONE)
        ck_assert(needed_of((double)mt_job_searched_value(job, found->fails)) > room);
}

/* Numbers by chance, the same each time. */
static double chance(unsigned i, unsigned of)
{
    uint64_t state = (i + 1) * 0x9e3779b97f4a7c15u + of * 0xd1342543de82ef95u;
    state = (state ^ state >> 32) * 0x9e3779b97f4a7c15u;
    return (double)(state >> 40) / (double)(1 << 24);
}

static void make_program(unsigned i)
{
    double border = 1 + 4000 * chance(i, 0) * chance(i, 1); /* on the second card */
    program.base = 20 * GIB * chance(i, 2) * chance(i, 3);
    program.each = (23 * GIB - program.base) / border;
    program.bend = i % 3 ? 0 : program.each / border / 10;
    program.cache = 0.1 * chance(i, 4) * chance(i, 5);
    program.needed = chance(i, 6);
    program.refused_below = 0;
}

START_TEST(a_border_takes_at_most_twelve_runs)
{
    struct mt_job job;
    struct mt_fit fit;
    for (unsigned i = 0; i < N_MODELS; i++) {
        make_program(i);
        search(&job, &fit, "batch=1..4096");
        for (size_t card = 0; card < job.n_cards; card++)
            check_card(&job, &fit, card, 12);
        clear(&job, &fit);
    }
}
END_TEST

START_TEST(the_smallest_values_may_be_refused)
{
    struct mt_job job;
    struct mt_fit fit;
    program.base = 1 * GIB;
    program.each = GIB / 10;
    program.bend = program.cache = 0;
    program.refused_below = 3;
    search(&job, &fit, "batch=1..4096");
    for (size_t card = 0; card < job.n_cards; card++)
        check_card(&job, &fit, card, 14);
    clear(&job, &fit);
    program.refused_below = 1000000;
    search(&job, &fit, "batch=1..4096");
    ck_assert(fit.line[0].is_refused);
    ck_assert_uint_le(fit.n_attempts, MT_SHARED_RUNS);
    clear(&job, &fit);
}
END_TEST

START_TEST(what_no_value_can_exceed_takes_one_run_a_card)
{
    struct mt_job job;
    struct mt_fit fit;
    program.base = 1 * GIB;
    program.each = 1;
    program.refused_below = 0;
    search(&job, &fit, "batch=1..4096");
    for (size_t card = 0; card < job.n_cards; card++)
        check_card(&job, &fit, card, 4);
    clear(&job, &fit);
    program.base = 100 * GIB;
    search(&job, &fit, "batch=1..4096");
    for (size_t card = 0; card < job.n_cards; card++)
        check_card(&job, &fit, card, 4);
    clear(&job, &fit);
}
END_TEST

static bool value_is_served(const struct mt_job *job, size_t card, uint64_t value)
{
    return is_served(value, job->card[card].memory, job->card[card].gpu->context);
}

/* What fits is served, the next value is not, and at most so many runs were made. */
static void check_served(const struct mt_job *job, const struct mt_fit *fit, size_t card,
                         unsigned most)
{
    const struct mt_card_search *found = mt_fit_search(fit, 0, card);
    ck_assert_uint_eq(found->fits + 1, found->fails);
    ck_assert(value_is_served(job, card, found->fits + 1));
    ck_assert(!value_is_served(job, card, found->fails + 1));
    ck_assert_msg(mt_fit_runs(fit, 0, card) <= most, "%s: %u runs", cards[card],
                  mt_fit_runs(fit, 0, card));
}

/* Two orders of requests, and cards on which several values are the last that fits. One after the
 * other, a card's search begins with runs that ran out of memory on other cards: as far as these
 * came, both orders are one. */
START_TEST(a_border_takes_fewer_runs_by_requests)
{
    struct mt_job job;
    struct mt_fit fit;
    unsigned holes = 0;
    jobs = _i ? 3 : 1;
    program.base = program.bend = program.cache = program.refused_below = 0;
    program.each = GIB / 100;
    program.is_logged = true;
    search(&job, &fit, "batch=1..65536");
    for (size_t card = 0; card < job.n_cards; card++) {
        const struct mt_card_search *found = mt_fit_search(&fit, 0, card);
        check_served(&job, &fit, card, 7);
        if (found->hole != MT_NONE) {
            ck_assert(found->hole < found->fits && !value_is_served(&job, card, found->hole + 1));
            holes++;
        }
    }
    ck_assert_uint_gt(holes, 0);
    program.is_logged = false;
    jobs = 3;
    clear(&job, &fit);
}
END_TEST

/* Each run says of the next values that a few more of them fit: all of the step do. */
START_TEST(a_border_behind_a_step_is_found)
{
    struct mt_job job;
    struct mt_fit fit;
    program.base = program.bend = program.cache = program.refused_below = 0;
    program.each = GIB / 100;
    program.is_logged = true;
    program.grain = 4096;
    search(&job, &fit, "batch=1..65536");
    for (size_t card = 0; card < job.n_cards; card++)
        check_served(&job, &fit, card, 24);
    program.is_logged = false;
    program.grain = 0;
    clear(&job, &fit);
}
END_TEST

/* Two blocks end in this order or in the other one, and their numbers are used again. */
static size_t make_frees(struct mt_request *to, bool is_other)
{
    size_t n = 0;
    for (uint32_t block = 0; block < 3; block++)
        to[n++] = request(MT_REQUEST_ALLOCATE, block, 100 + block);
    to[n++] = request(MT_REQUEST_FREE, is_other ? 2 : 0, 0);
    to[n++] = request(MT_REQUEST_OTHERS, 0, 7);
    to[n++] = request(MT_REQUEST_FREE, is_other ? 0 : 2, 0);
    to[n++] = request(MT_REQUEST_ALLOCATE, is_other ? 0 : 2, 200);
    to[n++] = request(MT_REQUEST_FREE, 1, 0);
    return n;
}

START_TEST(frees_have_one_order)
{
    struct mt_request one[MOST_REQUESTS], other[MOST_REQUESTS];
    size_t n = make_frees(one, false);
    ck_assert_uint_eq(make_frees(other, true), n);
    ck_assert_int_ne(memcmp(one, other, n * sizeof *one), 0);
    ck_assert_int_eq(mt_requests_order(one, n), 0);
    ck_assert_int_eq(mt_requests_order(other, n), 0);
    ck_assert_mem_eq(one, other, n * sizeof *one);
    ck_assert_uint_eq(one[3].block, 0); /* the older one */
    ck_assert_uint_eq(one[5].block, 2);
    ck_assert_uint_eq(one[6].block, 3);
    ck_assert_uint_eq(one[7].block, 1);
}
END_TEST

static void has_values(const char *text, size_t n, const char *first, const char *last)
{
    char wrong[128], room[MT_VALUE_TEXT];
    struct mt_variable variable;
    ck_assert_int_eq(mt_variable_read(&variable, text, wrong, sizeof wrong), 0);
    ck_assert_uint_eq(variable.n, n);
    ck_assert_str_eq(mt_variable_text(&variable, 0, room), first);
    ck_assert_str_eq(mt_variable_text(&variable, n - 1, room), last);
    mt_variable_clear(&variable);
}

START_TEST(ranges_and_lists_have_their_values)
{
    has_values("a=1..512", 512, "1", "512");
    has_values("a=8..20+8", 2, "8", "16");
    has_values("a=1..20*2", 6, "1", "20");
    has_values("a=0..8*2", 5, "0", "8");
    has_values("a=7..7", 1, "7", "7");
    has_values("a=0,1", 2, "0", "1");
    has_values("a=,--x", 2, "", "--x");
    has_values("a=b\\,c,d", 2, "b,c", "d");
    has_values("a=../x", 1, "../x", "../x");
}
END_TEST

START_TEST(places_are_filled)
{
    static char python[] = "python", script[] = "{script}", b[] = "--b={b}x{b}", c[] = "{c}",
                other[] = "{other}", none[] = "";
    char *words[] = {python, script, b, c, other, none, NULL};
    char wrong[128];
    struct mt_job job = {.words = words, .n_words = 6, .n_variables = 2};
    ck_assert_int_eq(mt_variable_read(&job.variable[0], "b=4..9", wrong, sizeof wrong), 0);
    ck_assert_int_eq(mt_variable_read(&job.variable[1], "c=,--c {b}", wrong, sizeof wrong), 0);
    ck_assert_int_eq(mt_job_finish(&job), 0);
    ck_assert_uint_eq(job.n_lines, 2);
    char **filled = mt_job_words(&job, (struct mt_choice){0, 1});
    ck_assert_str_eq(filled[2], "--b=5x5");
    ck_assert_str_eq(filled[3], "{other}"); /* the word before it is empty, and left out */
    ck_assert_str_eq(filled[4], "");
    ck_assert_ptr_null(filled[5]);
    mt_words_free(filled);
    filled = mt_job_words(&job, (struct mt_choice){1, 1});
    ck_assert_str_eq(filled[3], "--c {b}"); /* a value is not looked at again */
    mt_words_free(filled);
    mt_variable_clear(&job.variable[0]);
    mt_variable_clear(&job.variable[1]);
}
END_TEST

int main(void)
{
    TCase *searches = tcase_create("searches"), *words = tcase_create("words");
    tcase_add_test(searches, a_border_takes_at_most_twelve_runs);
    tcase_add_loop_test(searches, a_border_takes_fewer_runs_by_requests, 0, 2);
    tcase_add_test(searches, a_border_behind_a_step_is_found);
    tcase_add_test(searches, frees_have_one_order);
    tcase_add_test(searches, the_smallest_values_may_be_refused);
    tcase_add_test(searches, what_no_value_can_exceed_takes_one_run_a_card);
    tcase_add_test(words, ranges_and_lists_have_their_values);
    tcase_add_test(words, places_are_filled);
    return RUN_TESTS(searches, words);
}
