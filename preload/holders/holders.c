/* SPDX-License-Identifier: Apache-2.0 */
#include "holders.h"
#include "child.h"
#include "preload/host/memory.h"
#include "preload/host/no-signals.h"
#include "preload/host/settings.h"
#include "preload/host/stack-bounds.h"
#include "preload/loader/find-real.h"
#include "preload/record/recorder.h"
#include "preload/stacks/python-stack.h"
#include "python-graph.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/utsname.h>
#include <sys/wait.h>

#define SEARCH_NS 5000000000u
/* The waits at the program's end: for all searches, which have less than a processor each where the
 * machine is busy, and then for the results that they have by then. */
#define LAST_WAIT_NS 10000000000u
#define LAST_WORDS_NS 1500000000u
#define WAIT_NS 5000000
#define FREE_SEARCHES 3u /* may take any time */
#define SHARE 20u        /* after those, at most this share of the time */

enum state { NONE, BEGINS, RUNS, FAILED };

/* Searches that are running or waiting for the writer: a program that survives one out-of-memory
 * error may die of the next. */
#define MOST_RUNNING 2u

struct search {
    _Atomic int state; /* enum state */
    int child;
    bool is_killed;
    uint32_t moment;
    uint64_t begin_ns;
    struct mt_holders_answer *answer;
};

static struct {
    struct search search[MT_HOLDERS_SEARCHES];
    struct search *taken;             /* by the writer */
    uint64_t until_ns;                /* when the wait at the end is over; 0: not begun */
    atomic_bool is_beginning;         /* taken by the thread that looks up its Python */
    atomic_bool have_begun;           /* any so far */
    _Atomic unsigned n;               /* so far */
    _Atomic uint64_t end_ns, last_ns; /* of the last search: when it ended, how long it took */
} holders;

static uint64_t find(const char *name)
{
    return (uint64_t)(uintptr_t)mt_real_dlsym(RTLD_DEFAULT, name);
}

/* Found by this thread, which passes it on if it starts the recording. */
static _Thread_local struct mt_holder_python found_python
    __attribute__((tls_model("initial-exec")));

void mt_holders_find(void)
{
    struct mt_holder_python *python = &found_python;
    python->first_interpreter =
        (void *(*)(void))mt_real_dlsym(RTLD_DEFAULT, "PyInterpreterState_Head");
    python->next_interpreter =
        (void *(*)(void *))mt_real_dlsym(RTLD_DEFAULT, "PyInterpreterState_Next");
    python->first_thread =
        (void *(*)(void *))mt_real_dlsym(RTLD_DEFAULT, "PyInterpreterState_ThreadHead");
    python->next_thread = (void *(*)(void *))mt_real_dlsym(RTLD_DEFAULT, "PyThreadState_Next");
    /* Versions up to 3.12 have only the private name. */
    python->is_finalizing = (int (*)(void))mt_real_dlsym(RTLD_DEFAULT, "Py_IsFinalizing");
    if (!python->is_finalizing)
        python->is_finalizing = (int (*)(void))mt_real_dlsym(RTLD_DEFAULT, "_Py_IsFinalizing");
    python->runtime = find("_PyRuntime");
    python->module = find("PyModule_Type");
    python->frame = find("PyFrame_Type");
    python->function = find("PyFunction_Type");
    python->method = find("PyMethod_Type");
    python->generator = find("PyGen_Type");
    python->coroutine = find("PyCoro_Type");
    python->async_generator = find("PyAsyncGen_Type");
    python->traceback = find("PyTraceBack_Type");
}

/* Before Linux 5.9, the program's next write to a page that a device also writes to, such as memory
 * registered with CUDA, may separate the two while a copy of the process exists. */
static bool is_copying_safe(void)
{
    struct utsname kernel;
    int major, minor;
    return uname(&kernel) || sscanf(kernel.release, "%d.%d", &major, &minor) != 2 || major > 5 ||
           (major == 5 && minor >= 9);
}

void mt_holders_start(void)
{
    const char *requested = getenv(mt_setting_table[MT_ID_holders].variable);
    mt_holder_python = found_python;
    if (!(requested && *requested) && !is_copying_safe())
        mt_settings.holders_at = 0;
}

/* Read Python's current state. Return whether there is none, or memtap knows the layout of its
 * objects. */
static bool note_python(void)
{
    struct mt_holder_python *python = &mt_holder_python;
    bool is_found = python->first_interpreter && python->next_interpreter && python->first_thread &&
                    python->next_thread && python->is_finalizing && python->module &&
                    python->function;
    python->layout = is_found ? mt_python_layout(&python->thread) : NULL;
    python->holding = python->layout ? mt_holder_layout_of(python->layout->minor) : NULL;
    return python->holding || !python->first_interpreter;
}

static bool is_wanted(enum mt_holders_moment moment)
{
    return moment == MT_HOLDERS_REQUESTED || mt_settings.holders_at & 1u << moment;
}

/* Return whether searches have taken only a small share of the time so far. */
static bool is_cheap(uint64_t now)
{
    return holders.n < FREE_SEARCHES || now - holders.end_ns > SHARE * holders.last_ns;
}

bool mt_holders_have_begun(void)
{
    return atomic_load_explicit(&holders.have_begun, memory_order_relaxed);
}

/* Claim a free search for the caller; NULL: there is none. */
static struct search *claim(void)
{
    unsigned running = 0;
    atomic_store(&holders.have_begun, true);
    for (unsigned i = 0; i < MT_HOLDERS_SEARCHES; i++)
        running +=
            holders.search[i].state == RUNS && !atomic_load(&holders.search[i].answer->is_done);
    for (unsigned i = 0; i < MT_HOLDERS_SEARCHES && running < MOST_RUNNING; i++) {
        int none = NONE;
        if (atomic_compare_exchange_strong(&holders.search[i].state, &none, BEGINS))
            return &holders.search[i];
    }
    return NULL;
}

/* Note the memory that is shared with children: it has addresses of blocks. */
static uint32_t note_shared(struct mt_memory_range out[static MT_MOST_SHARED])
{
    uint32_t n = 0;
    for (unsigned i = 0; i < MT_HOLDERS_SEARCHES; i++) {
        uint64_t begin = (uint64_t)(uintptr_t)holders.search[i].answer;
        if (begin)
            out[n++] = (struct mt_memory_range){begin, begin + sizeof *holders.search->answer};
    }
    return n;
}

/* List the threads for the child, which may outlive them. Return the bytes of the list. */
static uint32_t list_threads(struct mt_holders_answer *answer)
{
    int fd = (int)syscall(SYS_openat, AT_FDCWD, "/proc/self/task",
                          O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
    long n = fd < 0 ? 0 : syscall(SYS_getdents64, fd, answer->text, sizeof answer->text);
    if (fd >= 0)
        syscall(SYS_close, fd);
    return n > 0 ? (uint32_t)n : 0;
}

/* Make the child. The flags of clone are those of fork, but no signal says that it has ended: no
 * handler of the program's runs, and none of its waits sees it. */
static __attribute__((noinline)) long make_child(struct mt_holders_answer *answer)
{
    __builtin_unwind_init(); /* save the callers' registers in this frame: the child scans it */
    struct mt_memory_range shared[MT_MOST_SHARED];
    const struct mt_holders_task task = {
        .answer = answer,
        .left_out = shared,
        .n_left_out = note_shared(shared),
        .thread = {mt_stack_pointer(), (int)syscall(SYS_gettid), getpid(), answer->text,
                   list_threads(answer)},
        .most_ns = SEARCH_NS,
    };
    if (mt_self)
        answer->n_frames =
            mt_unwind_places(&mt_self->bounds, MT_OWN_REGISTERS(), answer->frame, MT_MOST_FRAMES);
    uint64_t all = ~UINT64_C(0), before;
    mt_signals_mask(SIG_SETMASK, &all, &before);
    long child = syscall(SYS_clone, 0, NULL, NULL, NULL, NULL);
    if (!child)
        mt_holders_child(&task);
    mt_signals_mask(SIG_SETMASK, &before, NULL);
    return child;
}

static void begin(struct search *search, enum mt_holders_moment moment, uint64_t now)
{
    int saved = errno;
    search->moment = moment;
    search->begin_ns = now;
    search->child = -1;
    search->is_killed = false;
    search->answer = mmap(NULL, sizeof *search->answer, PROT_READ | PROT_WRITE,
                          MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (search->answer == MAP_FAILED) {
        search->answer = NULL;
    } else if (!note_python()) {
        search->answer->result = MT_HOLDERS_PYTHON_UNKNOWN;
        atomic_store(&search->answer->is_done, 1);
    } else {
        search->answer->begin_ns = now;
        search->child = (int)make_child(search->answer);
        search->answer->pause_ns = mt_now() - now;
    }
    errno = saved;
    atomic_store(&search->state, search->child < 0 ? FAILED : RUNS);
}

void mt_holders_search(enum mt_holders_moment moment)
{
    uint64_t now = mt_now();
    if (!is_wanted(moment) || !mt_is_recording() || mt_own_threads_are_restricted ||
        !mt_recorder_is_of_process() || !is_cheap(now))
        return;
    if (atomic_exchange(&holders.is_beginning, true))
        return; /* another thread's moment, which has the same holders */
    struct search *search = claim();
    if (search) {
        atomic_fetch_add(&holders.n, 1);
        begin(search, moment, now);
    }
    atomic_store(&holders.is_beginning, false);
}

void mt_holders_search_at_exit(void)
{
    if (!mt_holder_python.first_interpreter)
        mt_holders_search(MT_HOLDERS_END);
}

/* Wait for the child to end. Return whether it has. */
static bool has_ended(const struct search *search, uint64_t most_ns)
{
    uint64_t until = mt_now() + most_ns;
    long child;
    do {
        child = syscall(SYS_wait4, search->child, NULL, __WALL | WNOHANG, NULL);
        if (!child && most_ns)
            syscall(SYS_nanosleep, &(struct timespec){0, WAIT_NS}, NULL);
    } while (!child && mt_now() < until);
    return child != 0; /* an error: somebody else has waited for it */
}

/* Return the oldest search that is no other thread's; NULL: there is none. */
static struct search *oldest(void)
{
    struct search *oldest = NULL;
    for (struct search *search = holders.search; search < holders.search + MT_HOLDERS_SEARCHES;
         search++)
        if (search->state >= RUNS && (!oldest || search->begin_ns < oldest->begin_ns))
            oldest = search;
    return oldest;
}

bool mt_holders_are_sought(void)
{
    return oldest() != NULL;
}

void mt_holders_tell_blocks(uint64_t until_ns,
                            bool (*list)(struct mt_holders_answer *answer, uint64_t begin_ns))
{
    for (unsigned i = 0; i < MT_HOLDERS_SEARCHES; i++) {
        struct search *search = &holders.search[i];
        if (search->state != RUNS || search->begin_ns > until_ns || !search->answer ||
            atomic_load(&search->answer->has_blocks))
            continue;
        search->answer->are_blocks_left_out = !list(search->answer, search->begin_ns);
        atomic_store(&search->answer->has_blocks, 1);
    }
}

bool mt_holders_await(void)
{
    struct search *search = oldest();
    uint64_t now = mt_now();
    holders.until_ns = holders.until_ns ? holders.until_ns : now + LAST_WAIT_NS;
    uint64_t most_ns = holders.until_ns > now ? holders.until_ns - now : 0;
    if (!search || search->state != RUNS || has_ended(search, most_ns))
        return search != NULL;
    syscall(SYS_kill, search->child, SIGALRM);
    if (!has_ended(search, LAST_WORDS_NS)) {
        search->is_killed = true;
        syscall(SYS_kill, search->child, SIGKILL);
        has_ended(search, LAST_WORDS_NS);
    }
    return true;
}

bool mt_holders_take(struct mt_holders_found *found)
{
    struct search *search = oldest();
    if (!search || (search->state == RUNS && !has_ended(search, 0)))
        return false;
    struct mt_holders_answer *answer = search->answer;
    found->answer = answer && atomic_load(&answer->is_done) ? answer : NULL;
    found->begin_ns = search->begin_ns;
    found->moment = search->moment;
    found->result = found->answer           ? answer->result
                    : search->is_killed     ? MT_HOLDERS_TIME
                    : search->state == RUNS ? MT_HOLDERS_CRASHED
                    : answer                ? MT_HOLDERS_REFUSED
                                            : MT_HOLDERS_MEMORY;
    holders.taken = search;
    return true;
}

void mt_holders_give_back(void)
{
    struct search *search = holders.taken;
    holders.end_ns = mt_now();
    if (search->answer && search->answer->end_ns > search->begin_ns)
        holders.last_ns = search->answer->end_ns - search->begin_ns;
    mt_unmap(search->answer, sizeof *search->answer);
    search->answer = NULL;
    atomic_store(&search->state, NONE);
}

void mt_holders_reset(void)
{
    for (unsigned i = 0; i < MT_HOLDERS_SEARCHES; i++)
        mt_unmap(holders.search[i].answer, sizeof *holders.search[i].answer);
    memset(&holders, 0, sizeof holders);
}
