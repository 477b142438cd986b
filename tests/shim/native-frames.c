/* SPDX-License-Identifier: Apache-2.0 */
/*
 * native-frames PLUGIN PLUGIN: allocates in all sorts of frames. Each allocation has another size,
 * and for each a line says what backtrace(3) sees in its place: "SIZE MODULE+ADDRESS ...",
 * innermost first; addresses are the file's. Built with several compilers and options.
 */
#include <alloca.h>
#include <dlfcn.h>
#include <execinfo.h>
#include <link.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

#define DEPTH 400
#define NOINLINE __attribute__((noinline))

unsigned cudaMalloc(void **address, size_t size);

typedef void step(void);

static size_t next_size = 1;

static void print_frame(const void *pc)
{
    Dl_info info;
    struct link_map *map;
    if (dladdr1(pc, &info, (void **)&map, RTLD_DL_LINKMAP))
        printf(" %s+%lx", *map->l_name ? map->l_name : "main",
               (unsigned long)((uintptr_t)pc - map->l_addr));
    else
        printf(" ?+%lx", (unsigned long)(uintptr_t)pc);
}

static void NOINLINE allocate(void)
{
    void *address, *frame[DEPTH];
    int n = backtrace(frame, DEPTH);
    cudaMalloc(&address, next_size);
    printf("%zu", next_size++);
    for (int i = 0; i < n; i++)
        print_frame(frame[i]);
    putchar('\n');
}

static int NOINLINE recurse(int depth)
{
    if (depth > 0)
        return recurse(depth - 1) + 1;
    allocate();
    return 0;
}

static void NOINLINE use(volatile char *bytes, size_t size, step *then)
{
    bytes[size - 1] = 1;
    then();
    bytes[0] = 1;
}

static void NOINLINE with_alloca(size_t size)
{
    use(alloca(size), size, allocate);
    use(alloca(size / 2 + 1), size / 2 + 1, allocate);
}

static void NOINLINE with_aligned(void)
{
    __attribute__((aligned(128))) volatile char bytes[256];
    use(bytes, sizeof bytes, allocate);
}

static void NOINLINE with_aligned_alloca(size_t size)
{
    __attribute__((aligned(64))) volatile char bytes[64];
    use(alloca(size), size, with_aligned);
    use(bytes, sizeof bytes, allocate);
}

static void NOINLINE with_large_frame(void)
{
    volatile char bytes[100000];
    use(bytes, sizeof bytes, allocate);
}

/* Keeps every register that a function must give back: the frame pointer holds any value. */
static long NOINLINE with_registers(long a, long b, long c, long d, long e, long f)
{
    long sum = a;
    for (long i = 0; i < 2; i++) {
        allocate();
        sum += a * b + c * d - e * f + i;
        a ^= sum, b += a, c -= b, d ^= c, e += d, f -= e;
    }
    return sum + a + b + c + d + e + f;
}

static int compare(const void *a, const void *b)
{
    static int calls;
    if (calls++ % 7 == 0)
        allocate();
    return *(const int *)a - *(const int *)b;
}

static void with_qsort(void)
{
    int numbers[20];
    for (int i = 0; i < 20; i++)
        numbers[i] = i * 7 % 20;
    qsort(numbers, 20, sizeof *numbers, compare);
}

static void on_signal(int number)
{
    (void)number;
    recurse(2);
}

static void catch_signal(int number, int flags, void (*handler)(int))
{
    struct sigaction action = {.sa_handler = handler, .sa_flags = flags};
    sigaction(number, &action, NULL);
}

static void with_signal(int flags)
{
    catch_signal(SIGUSR1, flags, on_signal);
    raise(SIGUSR1);
}

static void with_signal_stack(void)
{
    size_t size = 1 << 17;
    stack_t stack = {.ss_sp = malloc(size), .ss_size = size};
    sigaltstack(&stack, NULL);
    with_signal(SA_ONSTACK);
}

static sigjmp_buf back;

static void on_fault(int number)
{
    (void)number;
    allocate();
    siglongjmp(back, 1);
}

static const volatile int *volatile nowhere;

static int NOINLINE leaf(const volatile int *at)
{
    return *at;
}

/* In the midst of a function that calls nothing. */
static void with_fault(void)
{
    catch_signal(SIGSEGV, SA_NODEFER, on_fault);
    if (!sigsetjmp(back, 1))
        leaf(nowhere);
    allocate();
}

static jmp_buf up;

static void NOINLINE jump(int depth)
{
    allocate();
    if (depth > 0)
        jump(depth - 1);
    else if (depth == 0)
        longjmp(up, 1);
    allocate();
}

static void with_longjmp(void)
{
    if (!setjmp(up))
        jump(5);
    allocate();
}

static void clean(void *unused)
{
    (void)unused;
    recurse(1);
}

static void NOINLINE leave_thread(void)
{
    pthread_cleanup_push(clean, NULL);
    recurse(3);
    pthread_exit(NULL); /* unwinds, as an exception does */
    pthread_cleanup_pop(0);
}

static void *run_thread(void *unused)
{
    recurse(4);
    leave_thread();
    return unused;
}

static void with_thread(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, run_thread, NULL);
    pthread_join(thread, NULL);
}

static ucontext_t here, there;

static void coroutine(void)
{
    recurse(3);
    swapcontext(&there, &here);
    recurse(1);
}

static void with_coroutine(void)
{
    size_t size = 1 << 17;
    getcontext(&there);
    there.uc_stack.ss_sp = malloc(size);
    there.uc_stack.ss_size = size;
    there.uc_link = &here;
    makecontext(&there, coroutine, 0);
    swapcontext(&here, &there);
    allocate();
    swapcontext(&here, &there);
}

/* Each comes to where the one before was: another, or the same again. */
static void with_plugins(char **paths)
{
    void (*before)(step *) = NULL;
    static const int order[] = {0, 1, 0, 0, 1, 1};
    for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
        void *plugin = dlopen(paths[order[i]], RTLD_NOW);
        void (*call)(step *) = NULL;
        if (plugin)
            *(void **)&call = dlsym(plugin, "plugin_call");
        if (!call) {
            fprintf(stderr, "%s\n", dlerror());
            exit(1);
        }
        call(allocate);
        call(allocate);
        if (before)
            printf("plugins at one address: %s\n", before == call ? "yes" : "no");
        before = call;
        fflush(stdout);
        dlclose(plugin);
    }
}

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    recurse(0);
    recurse(40);
    recurse(300);
    with_alloca(10);
    with_alloca(5000);
    with_aligned();
    with_aligned_alloca(100);
    with_large_frame();
    printf("# %ld\n", with_registers(argc, 2, 3, 4, 5, 6));
    with_qsort();
    with_signal(0);
    with_signal_stack();
    with_fault();
    with_longjmp();
    with_thread();
    with_coroutine();
    with_plugins(argv + 1);
    return 0;
}
