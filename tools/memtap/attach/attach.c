/* SPDX-License-Identifier: Apache-2.0 */
/* memtap attach: record a program that was started without memtap. memtap detach: the opposite. */
#include "trace-format/settings/attach.h"
#include "analyzer/support/progress.h"
#include "command.h"
#include "inject.h"
#include "target.h"
#include "tools/memtap/input/descendants.h"
#include "tools/memtap/launch/locate.h"
#include "tools/memtap/terminal/values.h"
#include "trace-format/settings/nearest.h"
#include "trace-format/settings/table.h"
#include "trace-format/tail-request.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define WAITERS_NS 300000000u      /* before threads that run are tried */
#define PLACE_WAIT_NS 10000000000u /* for a thread that may make the call */
#define LOAD_WAIT_NS 10000000000u  /* for the library's thread */
#define WORK_WAIT_NS 60000000000u
#define PAUSE_NS 2000000
#define RTLD_NOW_LOCAL 2
#define PRIORITY (-10)

struct attaching {
    const char *output;
    uint64_t seconds, iterations;
    bool is_detach, is_verbose, with_tree;
};

/* clang-format off */
#define VERBOSE                                                                                    \
    {'v', "verbose", NULL, "print how many calls were set, and how long a thread was stopped",       \
     NULL, mt_note_flag, offsetof(struct attaching, is_verbose)}
const struct mt_option mt_attach_options[] = {
    {'o', "output", "FILE", "write the trace there (memtap-%e-%p.mtap), as for memtap run", NULL,
     mt_note_text, offsetof(struct attaching, output)},
    {0, "iterations", "N", "stop after the next N iterations of the program", NULL,
     mt_note_number, offsetof(struct attaching, iterations), 1, MT_MOST_REQUESTED},
    {0, "seconds", "N", "stop after N seconds (default: at memtap detach or the end)", NULL,
     mt_note_number, offsetof(struct attaching, seconds), 1, 86400 * 365},
    {0, "tree", NULL, "also attach to the descendants of PID that use CUDA: a job's ranks", NULL,
     mt_note_flag, offsetof(struct attaching, with_tree)},
    VERBOSE,
    {0}};
const struct mt_option mt_detach_options[] = {
    {0, "tree", NULL, "also detach from the attached descendants of PID", NULL,
     mt_note_flag, offsetof(struct attaching, with_tree)},
    VERBOSE,
    {0}};
/* clang-format on */

static void rest(void)
{
    mt_inject_release();
    nanosleep(&(struct timespec){0, PAUSE_NS}, NULL);
}

/* --- the page (trace-format/settings/attach.h) ------------------------------------------------ */

static struct mt_attach_page *map_page(const char *link)
{
    char name[64];
    struct stat status;
    ssize_t n = readlink(link, name, sizeof name - 1);
    name[n > 0 ? n : 0] = '\0';
    if (strncmp(name, "/memfd:" MT_ATTACH_NAME, strlen("/memfd:" MT_ATTACH_NAME)) != 0)
        return NULL;
    struct mt_attach_page *page = MAP_FAILED;
    int fd = open(link, O_RDWR | O_CLOEXEC);
    if (fd >= 0 && !fstat(fd, &status) && status.st_size == sizeof *page)
        page = mmap(NULL, sizeof *page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (fd >= 0)
        close(fd);
    return page == MAP_FAILED ? NULL : page;
}

/* Claim a page that no other command has that runs. */
static bool claim(struct mt_attach_page *page, pid_t pid)
{
    uint32_t by = atomic_load(&page->by);
    return page->version == MT_ATTACH_VERSION && page->pid == (uint32_t)pid &&
           atomic_load(&page->state) == MT_ATTACH_READY &&
           (!by || !mt_target_is_there((pid_t)by)) &&
           atomic_compare_exchange_strong(&page->by, &by, (uint32_t)getpid());
}

/* Find the page of the process's thread that waits, and claim it; NULL: there is none, or another
 * command's, with *is_taken. */
static struct mt_attach_page *claim_page(pid_t pid, bool *is_taken)
{
    char path[64], link[128];
    struct mt_attach_page *page = NULL;
    struct dirent *entry;
    snprintf(path, sizeof path, "/proc/%d/fd", pid);
    DIR *files = opendir(path);
    *is_taken = false;
    while (files && !page && (entry = readdir(files))) {
        snprintf(link, sizeof link, "%s/%.32s", path, entry->d_name);
        page = map_page(link);
        if (page && !claim(page, pid)) {
            uint32_t state = atomic_load(&page->state);
            *is_taken = *is_taken || (page->pid == (uint32_t)pid && state <= MT_ATTACH_REQUESTED);
            munmap(page, sizeof *page);
            page = NULL;
        }
    }
    if (files)
        closedir(files);
    return page;
}

/* Add NAME=VALUE. Return whether there was room. */
static bool add_setting(struct mt_attach_page *page, size_t *used, const char *name,
                        const char *value)
{
    size_t room = sizeof page->settings - *used - 1;
    int n = snprintf(page->settings + *used, room, "%s=%s", name, value);
    if (n < 0 || (size_t)n >= room)
        return false;
    *used += (size_t)n + 1;
    return true;
}

/* The recording's settings are those of this command's environment, and the trace is named from
 * this directory. */
static int write_settings(const struct attaching *attaching, struct mt_attach_page *page)
{
    char folder[PATH_MAX], output[2 * PATH_MAX];
    size_t used = 0;
    bool has_room = true;
    memset(page->settings, 0, sizeof page->settings);
    for (unsigned i = 0; i < MT_SETTINGS_COUNT; i++) {
        const struct mt_setting *setting = &mt_setting_table[i];
        const char *value = getenv(setting->variable);
        if (i == MT_ID_output) {
            value = attaching->output ? attaching->output
                    : value && *value ? value
                                      : setting->otherwise;
            if (*value != '/' && getcwd(folder, sizeof folder)) {
                snprintf(output, sizeof output, "%s/%s", folder, value);
                value = output;
            }
        }
        if (i == MT_ID_start) /* a call of the program's must not start it without its limits */
            value = attaching->seconds || attaching->iterations ? "off" : NULL;
        if (value && *value)
            has_room = has_room && add_setting(page, &used, setting->variable, value);
    }
    return has_room ? 0 : -E2BIG;
}

/* Unless the thread has just given up. */
static void request(struct mt_attach_page *page)
{
    uint32_t ready = MT_ATTACH_READY;
    if (!atomic_compare_exchange_strong(&page->state, &ready, MT_ATTACH_REQUESTED))
        snprintf(page->text, sizeof page->text, "its thread has waited too long; try again");
    syscall(SYS_futex, &page->state, FUTEX_WAKE, 1, NULL, NULL, 0);
}

static int await_answer(pid_t pid, const struct attaching *attaching, struct mt_attach_page *page)
{
    uint64_t until = mt_now_ns() + WORK_WAIT_NS;
    while (atomic_load(&page->state) == MT_ATTACH_REQUESTED && mt_now_ns() < until &&
           mt_target_is_there(pid))
        rest();
    uint32_t state = atomic_load(&page->state);
    if (state == MT_ATTACH_FAILED)
        return mt_fail("process %d: %.*s", pid, (int)sizeof page->text - 1, page->text);
    if (state != MT_ATTACH_DONE)
        return mt_target_is_there(pid)
                   ? mt_fail("process %d did not respond in 60 s; it may be stopped", pid)
                   : mt_fail("process %d has ended", pid);
    if (attaching->is_detach && *page->text)
        printf("process %d runs without memtap again; %.*s is complete\n", pid, PATH_MAX - 1,
               page->text);
    else if (attaching->is_detach)
        printf("process %d runs without memtap again\n", pid);
    else
        printf("process %d is recorded in %.*s\n", pid, PATH_MAX - 1, page->text);
    if (attaching->is_verbose)
        printf("%u calls set; a thread was stopped for at most %.2f ms\n", page->slots,
               (double)mt_inject_longest_stop() / 1e6);
    return MT_EXIT_OK;
}

/* --- the call --------------------------------------------------------------------------------- */

static int call(struct mt_target *target, const char *library)
{
    uint64_t begin = mt_now_ns();
    for (;;) {
        uint64_t ns = mt_now_ns() - begin;
        bool may_run = ns > WAITERS_NS;
        enum mt_inject result =
            target->serve ? mt_inject(target, target->serve, NULL, 0, may_run)
                          : mt_inject(target, target->dlopen, library, RTLD_NOW_LOCAL, may_run);
        if (result == MT_INJECTED)
            return 0;
        if (result == MT_GONE || !mt_target_is_there(target->pid))
            return mt_fail("process %d has ended", target->pid);
        if (result == MT_NOT_PERMITTED && may_run)
            return mt_fail("process %d: the kernel does not permit this: "
                           "kernel.yama.ptrace_scope must be 0, or memtap needs CAP_SYS_PTRACE",
                           target->pid);
        if (ns > PLACE_WAIT_NS)
            return mt_fail("process %d: no thread was at a place where a library can be loaded "
                           "within 10 s; nothing was changed",
                           target->pid);
        rest();
    }
}

/* Wait for the thread that the call starts. */
static struct mt_attach_page *await_page(pid_t pid, uint64_t ns)
{
    bool is_taken;
    struct mt_attach_page *page;
    uint64_t until = mt_now_ns() + ns;
    while (!(page = claim_page(pid, &is_taken)) && mt_target_is_there(pid) &&
           (is_taken || mt_now_ns() < until) && mt_now_ns() < until + WORK_WAIT_NS)
        rest();
    return page;
}

/* Find libmemtap-attach.so: next to libmemtap.so, or in its own folder of the build's. */
static int locate(char shim[MT_PLACE_SIZE], char library[MT_PLACE_SIZE])
{
    static const char *const places[] = {"", "../attach/"};
    int code = mt_locate_shim(shim);
    for (size_t i = 0; !code && i < sizeof places / sizeof *places; i++) {
        snprintf(library, MT_PLACE_SIZE, "%.*s%slibmemtap-attach.so",
                 (int)(strrchr(shim, '/') - shim + 1), shim, places[i]);
        if (!access(library, R_OK))
            return MT_EXIT_OK;
    }
    return code ? code : mt_fail("%s: the library that is loaded is missing", library);
}

static int open_page(struct mt_target *target, const struct attaching *attaching,
                     const char *library, struct mt_attach_page **page)
{
    int code = mt_target_open(target, target->pid);
    if (code)
        return code;
    if (!target->serve && attaching->is_detach)
        return mt_fail("process %d is not attached%s", target->pid,
                       target->has_memtap ? "; memtap stop ends its recording" : "");
    if (!target->serve && target->has_memtap)
        return mt_fail("process %d runs with memtap already; see memtap start and memtap stop",
                       target->pid);
    *page = await_page(target->pid, 0); /* of a command that was killed, or is at work */
    code = *page ? 0 : call(target, library);
    if (!code && !*page)
        *page = await_page(target->pid, LOAD_WAIT_NS);
    if (code || *page)
        return code;
    return mt_target_is_there(target->pid)
               ? mt_fail("process %d did not respond: it cannot load a library or start a thread",
                         target->pid)
               : mt_fail("process %d has ended", target->pid);
}

static int attach_one(const struct attaching *attaching, pid_t pid)
{
    char shim[MT_PLACE_SIZE], library[MT_PLACE_SIZE];
    struct mt_target target = {.pid = pid};
    struct mt_attach_page *page = NULL;
    int code = locate(shim, library);
    if (!code)
        code = mt_target_check(pid);
    if (code)
        return code;
    setpriority(PRIO_PROCESS, 0, PRIORITY); /* where it is permitted: a thread waits meanwhile */
    code = open_page(&target, attaching, library, &page);
    if (!code) {
        page->is_detach = attaching->is_detach;
        page->seconds = (uint32_t)attaching->seconds;
        page->iterations = (uint32_t)attaching->iterations;
        snprintf(page->library, sizeof page->library, "%.*s", PATH_MAX - 1, shim);
        code = write_settings(attaching, page) ? mt_fail("the settings are too long") : 0;
        if (!code)
            request(page);
        code = code ? code : await_answer(pid, attaching, page);
    }
    if (page)
        munmap(page, sizeof *page);
    mt_target_close(&target);
    return code;
}

/* Attach to, or detach from, the process and its descendants that this concerns. */
static int attach_tree(const struct attaching *attaching, pid_t pid)
{
    const char *has = attaching->is_detach ? "/libmemtap-attach.so" : "/libcuda";
    struct mt_descendants all;
    size_t tried = 0;
    int code = mt_descendants_find(&all, pid) ? mt_fail("out of memory") : MT_EXIT_OK;
    if (!code && mt_target_maps(pid, has)) {
        tried++;
        code = attach_one(attaching, pid);
    }
    for (size_t i = 0; i < all.n; i++)
        if (mt_target_maps(all.of[i].pid, has)) {
            tried++;
            code = attach_one(attaching, all.of[i].pid) ? MT_EXIT_BAD : code;
        }
    free(all.of);
    if (code || tried)
        return code;
    if (!mt_target_is_there(pid))
        return mt_fail("%d: no such process", pid);
    return mt_fail(attaching->is_detach ? "process %d: neither it nor a descendant is attached"
                                        : "process %d: neither it nor a descendant uses CUDA yet",
                   pid);
}

static int attach(const struct attaching *attaching, const char *text)
{
    char *end;
    long pid = strtol(text, &end, 10);
    if (pid <= 0 || pid > INT_MAX || *end || pid == getpid())
        return mt_fail("%.*s: not the number of another process", MT_TYPED_SHOWN, text);
    return attaching->with_tree ? attach_tree(attaching, (pid_t)pid)
                                : attach_one(attaching, (pid_t)pid);
}

static int run(const struct mt_command *command, int argc, char **argv, struct attaching *attaching)
{
    int operand = mt_options_read(command, argc, argv, attaching);
    int code = operand < 0 ? MT_EXIT_BAD : MT_EXIT_OK;
    if (!code && operand == argc)
        code = mt_fail_usage(command, "a process is missing");
    for (int i = operand; i >= 0 && i < argc; i++)
        if (attach(attaching, argv[i]))
            code = MT_EXIT_BAD;
    return mt_finish_output(code);
}

int mt_run_attach(const struct mt_command *command, int argc, char **argv)
{
    return run(command, argc, argv, &(struct attaching){0});
}

int mt_run_detach(const struct mt_command *command, int argc, char **argv)
{
    return run(command, argc, argv, &(struct attaching){.is_detach = true});
}
