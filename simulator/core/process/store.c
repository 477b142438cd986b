/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PyTorch's stores. A TCPStore that waits for the job's other processes says so after a while.
 *
 * The stores of a rank that is alone: a program may name any address or make itself the master; its
 * TCPStore connects to the launcher's server. A FileStore answers as that server does: with what
 * this rank has set for itself, or the name of a communicator.
 */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../base/base.h"
#include "say.h"
#include "store-keys.h"

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

typedef void *gets_function(void *result, void *store, const struct list *keys);

/* clang-format off */
#define STRING "NSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE"
#define STRINGS "RKSt6vectorINSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEESaIS7_EE"
#define TCP_NAME "_ZN4c10d8TCPStoreC1E" STRING "RKNS_15TCPStoreOptionsE"
#define TCP _ZN4c10d8TCPStoreC1ENSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEERKNS_15TCPStoreOptionsE
#define TCP_GET _ZN4c10d8TCPStore3getERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE
#define TCP_GET_NAME "_ZN4c10d8TCPStore3getERK" STRING
#define TCP_GETS _ZN4c10d8TCPStore8multiGetERKSt6vectorINSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEESaIS7_EE
#define TCP_GETS_NAME "_ZN4c10d8TCPStore8multiGetE" STRINGS
#define TCP_CHECK_NAME "_ZN4c10d8TCPStore5checkE" STRINGS
#define TCP_WAIT_NAME "_ZN4c10d8TCPStore4waitE" STRINGS
#define GET_NAME "_ZN4c10d9FileStore3getERK" STRING
#define GET _ZN4c10d9FileStore3getERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE
#define SET _ZN4c10d9FileStore3setERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEERKSt6vectorIhSaIhEE
#define SET_NAME "_ZN4c10d9FileStore3setERK" STRING "RKSt6vectorIhSaIhEE"
#define CHECK_NAME "_ZN4c10d9FileStore5checkE" STRINGS
#define WAIT _ZN4c10d9FileStore4waitERKSt6vectorINSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEESaIS7_EE
#define WAIT_NAME "_ZN4c10d9FileStore4waitE" STRINGS
#define WAIT_LONG _ZN4c10d9FileStore4waitERKSt6vectorINSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEESaIS7_EERKNSt6chrono8durationIlSt5ratioILl1ELl1000EEEE
#define WAIT_LONG_NAME WAIT_NAME "RKNSt6chrono8durationIlSt5ratioILl1ELl1000EEEE"
/* clang-format on */

SIM_API tcp_function TCP;
SIM_API get_function TCP_GET;
SIM_API gets_function TCP_GETS;
SIM_API get_function GET;
SIM_API set_function SET;
SIM_API wait_function WAIT;
SIM_API wait_long_function WAIT_LONG;

/* The keys that this rank has set in FileStores. */
static struct text *kept;
static size_t kept_count;
static pthread_mutex_t kept_lock = PTHREAD_MUTEX_INITIALIZER;

/* A call that waits for others. A second thread prints whom it waits for. */
struct wait {
    pthread_mutex_t lock;
    pthread_cond_t ended;
    bool is_over, is_watched;
    pthread_t thread;
    char line[512];
};

static void *watch(void *data)
{
    struct wait *wait = data;
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += (time_t)sim_patience();
    pthread_mutex_lock(&wait->lock);
    while (!wait->is_over)
        if (pthread_cond_timedwait(&wait->ended, &wait->lock, &until) == ETIMEDOUT) {
            sim_print("%s", wait->line);
            break;
        }
    pthread_mutex_unlock(&wait->lock);
    return NULL;
}

/* End the call, also if PyTorch throws (-fexceptions). */
static void end(struct wait *wait)
{
    pthread_mutex_lock(&wait->lock);
    wait->is_over = true;
    pthread_cond_signal(&wait->ended);
    pthread_mutex_unlock(&wait->lock);
    if (wait->is_watched)
        pthread_join(wait->thread, NULL);
}

__attribute__((format(printf, 2, 3))) static void begin(struct wait *wait, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(wait->line, sizeof(wait->line), format, args);
    va_end(args);
    wait->is_watched = !pthread_create(&wait->thread, NULL, watch, wait);
}

#define WATCHED                                                                                    \
    __attribute__((cleanup(end))) struct wait wait = {.lock = PTHREAD_MUTEX_INITIALIZER,           \
                                                      .ended = PTHREAD_COND_INITIALIZER}

static unsigned long long job(const char *variable)
{
    return sim_environment(variable, !strcmp(variable, "WORLD_SIZE"));
}

static void make_watched(tcp_function *real, void *store, struct text *host,
                         struct tcp_options *options)
{
    WATCHED;
    begin(&wait,
          "rank %llu of %llu has waited %llu s for the other processes of its job to meet it at "
          "%.64s:%u; still waiting; start all of them, with the same MASTER_ADDR, MASTER_PORT "
          "and WORLD_SIZE, or simulate this one alone (--world-size)",
          job("RANK"), job("WORLD_SIZE"), (unsigned long long)sim_patience(), host->at,
          options->port);
    real(store, host, options);
}

/* Print once that a process meets more or fewer ranks than the job has: they are its own. */
static void check_workers(const struct tcp_options *options)
{
    static _Atomic bool is_said;
    uint64_t ranks = sim_environment("CUDASIM_RANKS", 0);
    if (!ranks || !options->has_workers || options->workers < 2 || options->workers == ranks ||
        atomic_exchange(&is_said, true))
        return;
    sim_print("this process meets %llu ranks, but rank %llu of %llu is simulated alone; run a "
              "program that does not start ranks itself, or what each of them runs",
              (unsigned long long)options->workers,
              (unsigned long long)sim_environment("CUDASIM_RANK", 0), (unsigned long long)ranks);
}

void TCP(void *store, struct text *host, struct tcp_options *options)
{
    static const char here[] = "127.0.0.1";
    tcp_function *real = (tcp_function *)(uintptr_t)find_real(TCP_NAME);
    uint64_t port = sim_environment("CUDASIM_RENDEZVOUS", 0);
    /* A string has room for at least 15 characters. */
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

/* Keep a key that this rank has set in a FileStore. */
static void keep(const struct text *key)
{
    pthread_mutex_lock(&kept_lock);
    struct text *copy = realloc(kept, (kept_count + 1) * sizeof(*kept));
    kept = copy ? copy : kept;
    char *at = copy ? malloc(key->size + 1) : NULL;
    if (at) {
        memcpy(at, key->at, key->size + 1);
        kept[kept_count++] = (struct text){.at = at, .size = key->size};
    }
    pthread_mutex_unlock(&kept_lock);
}

/* Find the value that this rank has set for itself under the key that corresponds to another rank's
 * `key`. */
static bool find_own(const struct text *key, struct text *own)
{
    bool is_found = false;
    pthread_mutex_lock(&kept_lock);
    for (size_t i = 0; i < kept_count && !is_found; i++) {
        is_found = sim_key_of_another_rank(kept[i].at, kept[i].size, key->at, key->size);
        *own = kept[i];
    }
    pthread_mutex_unlock(&kept_lock);
    return is_found;
}

void SET(void *store, const struct text *key, const struct list *value)
{
    set_function *real = (set_function *)(uintptr_t)find_real(SET_NAME);
    if (is_alone())
        keep(key);
    if (real)
        real(store, key, value);
}

static void begin_for_key(struct wait *wait, const struct text *key)
{
    begin(wait,
          "rank %llu of %llu is simulated alone, and has waited %llu s for the key '%.200s' of a "
          "store, which another rank sets; still waiting; set it on every rank",
          job("RANK"), job("WORLD_SIZE"), (unsigned long long)sim_patience(), key->at);
}

static void *get_watched(get_function *real, void *result, void *store, const struct text *key)
{
    WATCHED;
    begin_for_key(&wait, key);
    return real(result, store, key);
}

void *GET(void *result, void *store, const struct text *key)
{
    get_function *real = (get_function *)(uintptr_t)find_real(GET_NAME);
    set_function *set = (set_function *)(uintptr_t)find_real(SET_NAME);
    check_function *check = (check_function *)(uintptr_t)find_real(CHECK_NAME);
    static const char any[SIM_COMMUNICATOR_NAME] = {1};
    struct list keys = {key, key + 1, key + 1}, value = {any, any + sizeof(any), any + sizeof(any)};
    struct text own;
    if (!real || !set || !check || !is_alone() || check(store, &keys))
        return real ? real(result, store, key) : result;
    if (find_own(key, &own))
        return real(result, store, &own);
    if (!sim_key_of_communicator(key->at, key->size))
        return get_watched(real, result, store, key);
    set(store, key, &value);
    return real(result, store, key);
}

static void free_text(struct text *text)
{
    free(text->at);
}

/* Wait until the server knows the value of a key, for as long as the store waits for any. */
static void wait_for_value(void *store, const struct text *key)
{
    wait_function *wait_for = (wait_function *)(uintptr_t)find_real(TCP_WAIT_NAME);
    check_function *check = (check_function *)(uintptr_t)find_real(TCP_CHECK_NAME);
    size_t size = key->size + sizeof(SIM_KEY_VALUE) - 1;
    __attribute__((cleanup(free_text))) struct text marked = {.at = malloc(size + 1), .size = size};
    struct list keys = {&marked, &marked + 1, &marked + 1};
    WATCHED;
    if (!marked.at || !wait_for || !check)
        return;
    snprintf(marked.at, size + 1, "%s%s", key->at, SIM_KEY_VALUE);
    if (check(store, &keys))
        return;
    begin_for_key(&wait, key);
    wait_for(store, &keys);
}

void *TCP_GET(void *result, void *store, const struct text *key)
{
    get_function *real = (get_function *)(uintptr_t)find_real(TCP_GET_NAME);
    if (is_alone())
        wait_for_value(store, key);
    return real ? real(result, store, key) : result;
}

void *TCP_GETS(void *result, void *store, const struct list *keys)
{
    gets_function *real = (gets_function *)(uintptr_t)find_real(TCP_GETS_NAME);
    if (is_alone())
        for (const struct text *key = keys->first; key != keys->end; key++)
            wait_for_value(store, key);
    return real ? real(result, store, keys) : result;
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
