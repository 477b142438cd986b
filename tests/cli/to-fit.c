/* SPDX-License-Identifier: Apache-2.0 */
/*
 * to-fit MIB [HOW]: takes so much memory of the card. HOW: even (it takes even numbers only), falls
 * (the larger the number, the less), returns (beyond 60000 it takes 1 MiB), catches (half of it
 * will do), swallows (exit code 0 whatever happens), hangs, leaves (a process that goes on), none
 * (no memory), dies, prints, serves (takes a tenth, which may be too small), fills (takes nine
 * tenths, and says what is large enough), holds (twice and three times as much, too; it says so,
 * and goes on until nobody writes to it any more).
 */
#include <cuda_runtime_api.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

static void leave_child(void)
{
    if (fork())
        return;
    setsid();
    signal(SIGTERM, SIG_IGN);
    sleep(1000);
    _exit(0);
}

/* Not inlined: it is one place of the code that allocates. */
static __attribute__((noinline)) int take(size_t mib)
{
    void *at;
    return cudaMalloc(&at, mib << 20) != cudaSuccess;
}

/* As vLLM does: its other processes print behind the reason. */
static int serve(size_t mib, size_t tenths)
{
    size_t available, total, most;
    if (cudaMemGetInfo(&available, &total) != cudaSuccess)
        return 2;
    most = (total / 10 * tenths) >> 20;
    if (take(most))
        return 2;
    if (tenths > 1 && total >> 40)
        sleep(1000); /* it makes a list of all that there is */
    if (mib <= most)
        return 0;
    fprintf(stderr,
            "ValueError: To serve at least one request (%zu MiB KV cache is needed, which "
            "is larger than the available KV cache memory (%zu MiB).",
            mib, most);
    if (tenths > 1)
        fprintf(stderr, " Based on it, the estimated maximum model length is %zu.", most);
    fprintf(stderr, "\n");
    for (int i = 0; i < 20; i++)
        fprintf(stderr, "RuntimeError: Engine core initialization failed.\n");
    return 1;
}

static bool hold(size_t mib)
{
    if (take(mib) || take(2 * mib) || take(3 * mib))
        return true;
    puts("held");
    fflush(stdout);
    while (getchar() != EOF) {
    }
    return false;
}

int main(int argc, char **argv)
{
    size_t mib = strtoul(argv[1], NULL, 10);
    const char *how = argc > 2 ? argv[2] : "";
    if (getenv("TO_FIT_MORE"))
        mib += strtoul(getenv("TO_FIT_MORE"), NULL, 10);
    if (!strcmp(how, "even") && mib % 2) {
        fprintf(stderr, "the number is odd\nit has to be even\n");
        return 3;
    }
    if (!strcmp(how, "none"))
        return 0;
    if (!strcmp(how, "serves"))
        return serve(mib, 1);
    if (!strcmp(how, "fills"))
        return serve(mib, 9);
    if (!strcmp(how, "holds"))
        return hold(mib);
    if (!strcmp(how, "leaves"))
        leave_child();
    if (!strcmp(how, "hangs"))
        sleep(1000);
    if (!strcmp(how, "dies"))
        raise(SIGSEGV);
    if (!strcmp(how, "prints"))
        printf("\033[31mred\033[0m ::error::no\n");
    if (!strcmp(how, "falls"))
        mib = 100000 / mib;
    if (!strcmp(how, "returns") && mib > 60000)
        mib = 1;
    int failed = take(mib);
    if (failed && !strcmp(how, "catches"))
        failed = take(mib / 2);
    if (failed)
        fprintf(stderr, "no memory\n");
    return failed && strcmp(how, "swallows") && strcmp(how, "catches");
}
