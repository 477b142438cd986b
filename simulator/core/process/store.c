/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PyTorch's stores. A TCPStore that waits for the job's other processes says so after a while.
 *
 * The stores of a rank that is alone: a program may name any address or make itself the master; its
 * TCPStore connects to the launcher's server. A FileStore has nobody who writes for the
 * absent ranks: what this rank reads and nobody wrote, it writes itself first.
 */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "../base/base.h"
#include "say.h"

/* std::string */
struct text {
    char *at;
    size_t size, room[2]; /* or the characters themselves */
};

/* std::vector */
struct list {
    const void *first, *end, *room;
};

/* c10d::TCPStoreOptions, up to what is changed. */
struct tcp_options {
    uint16_t port;
    bool is_server;
    size_t workers; /* an optional number */
    bool has_workers;
};

static bool is_alone(void)
{
    return sim_environment("CUDASIM_ALONE", 0);
}

static void *find_real(const char *name)
{
    void *library = dlopen("libtorch_cpu.so", RTLD_NOLOAD | RTLD_LAZY);

    return library ? dlsym(library, name) : NULL;
}

typedef void tcp_function(void *store, struct text *host, struct tcp_options *options);
typedef void *get_function(void *result, void *store, const struct text *key);
typedef void set_function(void *store, const struct text *key, const struct list *value);
typedef bool check_function(void *store, const struct list *keys);
typedef void wait_function(void *store, const struct list *keys);
typedef void wait_long_function(void *store, const struct list *keys, const int64_t *timeout);

/* clang-format off */
#define STRING "NSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE"
#define TCP_NAME "_ZN4c10d8TCPStoreC1E" STRING "RKNS_15TCPStoreOptionsE"
#define TCP _ZN4c10d8TCPStoreC1ENSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEERKNS_15TCPStoreOptionsE
#define GET_NAME "_ZN4c10d9FileStore3getERK" STRING
#define GET _ZN4c10d9FileStore3getERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE
#define SET_NAME "_ZN4c10d9FileStore3setERK" STRING "RKSt6vectorIhSaIhEE"
#define CHECK_NAME "_ZN4c10d9FileStore5checkERKSt6vectorINSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEESaIS7_EE"
#define WAIT _ZN4c10d9FileStore4waitERKSt6vectorINSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEESaIS7_EE
#define WAIT_NAME "_ZN4c10d9FileStore4waitERKSt6vectorINSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEESaIS7_EE"
#define WAIT_LONG _ZN4c10d9FileStore4waitERKSt6vectorINSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEESaIS7_EERKNSt6chrono8durationIlSt5ratioILl1ELl1000EEEE
#define WAIT_LONG_NAME WAIT_NAME "RKNSt6chrono8durationIlSt5ratioILl1ELl1000EEEE"
/* clang-format on */

SIM_API tcp_function TCP;
SIM_API get_function GET;
SIM_API wait_function WAIT;
SIM_API wait_long_function WAIT_LONG;

/* A store that is being made. The thread beside it says what it waits for. */
struct wait {
    pthread_mutex_t lock;
    pthread_cond_t ended;
    bool is_over, is_watched;
    pthread_t thread;
    char host[64];
    unsigned port;
};

static void tell(const struct wait *wait)
{
    sim_say(
        "rank %llu of %llu has waited %llu s for the other processes of its job to meet it at "
        "%s:%u; it goes on waiting: start all of them, with the same MASTER_ADDR, MASTER_PORT and "
        "WORLD_SIZE, or simulate this one alone (--world-size)",
        (unsigned long long)sim_environment("RANK", 0),
        (unsigned long long)sim_environment("WORLD_SIZE", 1), (unsigned long long)sim_patience(),
        wait->host, wait->port);
}

static void *watch(void *data)
{
    struct wait *wait = data;
    struct timespec until;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += (time_t)sim_patience();
    pthread_mutex_lock(&wait->lock);
    while (!wait->is_over)
        if (pthread_cond_timedwait(&wait->ended, &wait->lock, &until) == ETIMEDOUT) {
            tell(wait);
            break;
        }
    pthread_mutex_unlock(&wait->lock);
    return NULL;
}

/* End the call, also where PyTorch throws (-fexceptions). */
static void end(struct wait *wait)
{
    pthread_mutex_lock(&wait->lock);
    wait->is_over = true;
    pthread_cond_signal(&wait->ended);
    pthread_mutex_unlock(&wait->lock);
    if (wait->is_watched)
        pthread_join(wait->thread, NULL);
}

static void make_watched(tcp_function *real, void *store, struct text *host,
                         struct tcp_options *options)
{
    __attribute__((cleanup(end))) struct wait wait = {.lock = PTHREAD_MUTEX_INITIALIZER,
                                                      .ended = PTHREAD_COND_INITIALIZER,
                                                      .port = options->port};

    snprintf(wait.host, sizeof(wait.host), "%s", host->at);
    wait.is_watched = !pthread_create(&wait.thread, NULL, watch, &wait);
    real(store, host, options);
}

/* Say once where a process meets more or fewer ranks than the job has: they are its own. */
static void check_workers(const struct tcp_options *options)
{
    static _Atomic bool is_said;
    uint64_t ranks = sim_environment("CUDASIM_RANKS", 0);

    if (!ranks || !options->has_workers || options->workers < 2 || options->workers == ranks ||
        atomic_exchange(&is_said, true))
        return;
    sim_say("this process meets %llu ranks, but rank %llu of %llu is simulated alone: give a "
            "program that starts no ranks itself, or what each of them runs",
            (unsigned long long)options->workers,
            (unsigned long long)sim_environment("CUDASIM_RANK", 0), (unsigned long long)ranks);
}

void TCP(void *store, struct text *host, struct tcp_options *options)
{
    static const char here[] = "127.0.0.1";
    tcp_function *real = (tcp_function *)(uintptr_t)find_real(TCP_NAME);
    uint64_t port = sim_environment("CUDASIM_RENDEZVOUS", 0);

    /* A string has room for 15 characters at least. */
    if (is_alone() && port) {
        check_workers(options);
        memcpy(host->at, here, sizeof(here));
        host->size = sizeof(here) - 1;
        options->port = (uint16_t)port;
        options->is_server = false;
    }
    if (real && sim_environment("WORLD_SIZE", 1) > 1 && !is_alone())
        make_watched(real, store, host, options);
    else if (real)
        real(store, host, options);
}

void *GET(void *result, void *store, const struct text *key)
{
    get_function *real = (get_function *)(uintptr_t)find_real(GET_NAME);
    set_function *set = (set_function *)(uintptr_t)find_real(SET_NAME);
    check_function *check = (check_function *)(uintptr_t)find_real(CHECK_NAME);
    static const char any[128] = {1};
    struct list keys = {key, key + 1, key + 1}, value = {any, any + sizeof(any), any + sizeof(any)};

    if (is_alone() && set && check && !check(store, &keys))
        set(store, key, &value);
    return real ? real(result, store, key) : result;
}

void WAIT(void *store, const struct list *keys)
{
    wait_function *real = (wait_function *)(uintptr_t)find_real(WAIT_NAME);

    if (real && !is_alone())
        real(store, keys);
}

void WAIT_LONG(void *store, const struct list *keys, const int64_t *timeout)
{
    wait_long_function *real = (wait_long_function *)(uintptr_t)find_real(WAIT_LONG_NAME);

    if (real && !is_alone())
        real(store, keys, timeout);
}
