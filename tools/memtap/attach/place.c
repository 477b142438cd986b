/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a thread may call dlopen where it is. */
#include "target.h"

#include <string.h>

#define MOST_FRAMES 2000u

/* Functions of the C library in which a thread that waits holds none of its locks. */
static const char *const waits[] = {
    "poll",
    "__poll",
    "ppoll",
    "select",
    "__select",
    "pselect",
    "epoll_wait",
    "epoll_pwait",
    "nanosleep",
    "__nanosleep",
    "clock_nanosleep",
    "__clock_nanosleep",
    "usleep",
    "sleep",
    "read",
    "__read",
    "recv",
    "recvfrom",
    "recvmsg",
    "accept",
    "accept4",
    "wait",
    "wait4",
    "__wait4",
    "waitpid",
    "__waitpid",
    "waitid",
    "pause",
    "sigsuspend",
    "pthread_cond_wait",
    "pthread_cond_timedwait",
    "pthread_cond_clockwait",
    "sem_wait",
    "sem_timedwait",
    "sem_clockwait",
    "pthread_join",
    "pthread_timedjoin_np",
    "pthread_clockjoin_np",
    "pthread_barrier_wait",
    "syscall",
    "ioctl",
    "__ioctl",
    "sched_yield",
    "__sched_yield",
};

struct walk {
    const struct mt_target *target;
    pid_t thread;
    const struct user_regs_struct *registers;
    unsigned n;
    bool is_refused;
    struct frame {
        uint64_t pc;
        bool is_library; /* the C library's */
    } frame[MOST_FRAMES];
};

static const char *name_of(const struct mt_target *target, uint64_t address)
{
    size_t from = 0, to = target->n_functions;
    while (from < to) {
        size_t middle = (from + to) / 2;
        if (target->functions[middle].start <= address)
            from = middle + 1;
        else
            to = middle;
    }
    for (size_t i = from; i-- && from - i < 8;)
        if (address < target->functions[i].end)
            return target->functions[i].name;
    return NULL;
}

static bool is_wait(const char *name)
{
    for (size_t i = 0; name && i < sizeof waits / sizeof *waits; i++)
        if (!strcmp(waits[i], name))
            return true;
    return false;
}

static bool has(const struct mt_target_range *range, uint64_t address)
{
    return address >= range->start && address < range->end;
}

/* Note a frame. A signal handler's stack is refused: what it interrupted is not known. */
static int visit(Dwfl_Frame *frame, void *out)
{
    struct walk *walk = out;
    Dwarf_Addr pc = 0;
    bool is_exact = false;
    if (walk->n == MOST_FRAMES || !dwfl_frame_pc(frame, &pc, &is_exact))
        walk->is_refused = true;
    pc -= !is_exact;
    if (has(&walk->target->loader, pc) || (is_exact && walk->n) ||
        !dwfl_addrmodule(walk->target->dwfl, pc))
        walk->is_refused = true;
    if (walk->is_refused)
        return DWARF_CB_ABORT;
    walk->frame[walk->n++] = (struct frame){pc, has(&walk->target->c_library, pc)};
    return DWARF_CB_OK;
}

/* Judge the frames: a wait of the C library's, or none; the program's and its libraries'; and those
 * in which the C library has begun the thread, with _start around them in the first one. */
static bool is_good(const struct walk *walk, bool is_waiting)
{
    unsigned begin = 0, end = walk->n;
    while (begin < end && walk->frame[begin].is_library)
        begin++;
    if (begin && (!is_waiting || !is_wait(name_of(walk->target, walk->frame[begin - 1].pc))))
        return false;
    if (end && !walk->frame[end - 1].is_library)
        end--;
    if (!end || !walk->frame[end - 1].is_library)
        return false;
    while (end > begin && walk->frame[end - 1].is_library)
        end--;
    for (unsigned i = begin; i < end; i++)
        if (walk->frame[i].is_library)
            return false;
    return end > begin && (begin || !walk->target->has_own_malloc);
}

static pid_t next_thread(Dwfl *dwfl, void *data, void **thread)
{
    struct walk *walk = data;
    (void)dwfl;
    if (*thread)
        return 0;
    *thread = walk;
    return walk->thread;
}

static bool get_thread(Dwfl *dwfl, pid_t thread, void *data, void **out)
{
    (void)dwfl, (void)thread;
    *out = data;
    return true;
}

static bool read_word(Dwfl *dwfl, Dwarf_Addr address, Dwarf_Word *out, void *data)
{
    const struct walk *walk = data;
    (void)dwfl;
    return !mt_target_read(walk->target->pid, address, out, sizeof *out);
}

static bool set_registers(Dwfl_Thread *thread, void *data)
{
    const struct user_regs_struct *r = ((const struct walk *)data)->registers;
    const Dwarf_Word words[] = {r->rax, r->rdx, r->rcx, r->rbx, r->rsi, r->rdi,
                                r->rbp, r->rsp, r->r8,  r->r9,  r->r10, r->r11,
                                r->r12, r->r13, r->r14, r->r15, r->rip};
    return dwfl_thread_state_registers(thread, 0, 17, words);
}

bool mt_target_may_call(struct mt_target *target, pid_t thread,
                        const struct user_regs_struct *registers, bool is_waiting)
{
    static const Dwfl_Thread_Callbacks callbacks = {.next_thread = next_thread,
                                                    .get_thread = get_thread,
                                                    .memory_read = read_word,
                                                    .set_initial_registers = set_registers};
    static struct walk walk; /* libdwfl keeps its address */
    static Dwfl *attached;
    walk.target = target;
    walk.thread = thread;
    walk.registers = registers;
    walk.n = walk.is_refused = 0;
    if (attached != target->dwfl)
        dwfl_attach_state(target->dwfl, NULL, target->pid, &callbacks, &walk);
    attached = target->dwfl;
    int rc = dwfl_getthread_frames(target->dwfl, thread, visit, &walk);
    return !rc && !walk.is_refused && is_good(&walk, is_waiting);
}
