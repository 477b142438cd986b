/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A rank simulated alone may wait forever on one of its own sockets: for another rank to connect,
 * to send, or to listen. Only its main thread is watched, because other threads may serve any peer.
 * The calls are passed on unchanged; a signal handler may interrupt them, or jump away.
 */
#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base.h"
#include "say.h"

enum { NAME_SIZE = INET6_ADDRSTRLEN + 8 };

/* What the main thread waits to read. It only tries the lock, since a fork may copy the lock while
 * it is held. The watching thread ends when nothing is waited for, or after it has printed the
 * message. */
static struct {
    pthread_mutex_t lock;
    int64_t since;
    char what[NAME_SIZE + 64];
    bool is_watched, is_reported;
    _Atomic bool is_waiting;
} awaited = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* The address that refuses the main thread. */
static struct {
    char name[NAME_SIZE];
    int64_t since;
} refusing;

/* Answer by their names in the library: headers give them a type of glibc's own. */
SIM_API int sim_accept(int socket, void *from, socklen_t *size) __asm__("accept");
SIM_API int sim_accept4(int socket, void *from, socklen_t *size, int flags) __asm__("accept4");
SIM_API int sim_connect(int socket, const void *to, socklen_t size) __asm__("connect");
SIM_API ssize_t sim_recv(int socket, void *to, size_t size, int flags) __asm__("recv");

#define REAL(name, result, ...)                                                                    \
    static result (*real)(__VA_ARGS__);                                                            \
    real = real ? real : (result(*)(__VA_ARGS__))(uintptr_t)dlsym(RTLD_NEXT, name)

static void say(const char *what, int64_t seconds)
{
    sim_print_wait(seconds, what,
                   "as another rank may; still waiting; connect the ranks with torch.distributed, "
                   "which is simulated");
}

static void *watch(void *unused)
{
    int64_t left = 1, waited;
    char what[sizeof(awaited.what)];
    (void)unused;
    while (left > 0) {
        pthread_mutex_lock(&awaited.lock);
        bool is_waiting = awaited.is_waiting;
        waited = sim_seconds() - awaited.since;
        left = is_waiting ? (int64_t)sim_patience() - waited : 0;
        awaited.is_watched = left > 0;
        awaited.is_reported |= is_waiting && left <= 0;
        memcpy(what, awaited.what, sizeof(what));
        pthread_mutex_unlock(&awaited.lock);
        if (left > 0)
            nanosleep(&(struct timespec){.tv_sec = left}, NULL);
        else if (is_waiting)
            say(what, waited);
    }
    return NULL;
}

/* Start the thread, which blocks all signals of the program. */
static bool start_to_watch(void)
{
    pthread_t thread;
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool is_started = !pthread_create(&thread, NULL, watch, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (is_started)
        pthread_detach(thread);
    return is_started;
}

static void name_address(char name[NAME_SIZE], const struct sockaddr_storage *address)
{
    const struct sockaddr_in *four = (const void *)address;
    const struct sockaddr_in6 *six = (const void *)address;
    bool is_six = address->ss_family == AF_INET6;
    const void *number = is_six ? (const void *)&six->sin6_addr : &four->sin_addr;
    char host[INET6_ADDRSTRLEN] = "?";
    inet_ntop(address->ss_family, number, host, sizeof(host));
    snprintf(name, NAME_SIZE, is_six ? "[%s]:%u" : "%s:%u", host,
             ntohs(is_six ? six->sin6_port : four->sin_port));
}

static bool is_first_thread(void)
{
    return syscall(SYS_gettid) == getpid(); /* glibc 2.28 has no gettid */
}

/* Return whether the main thread makes this call, on a network socket. */
static bool is_of_rank(int socket)
{
    int family = 0;
    socklen_t size = sizeof(family);
    return sim_environment("CUDASIM_ALONE", 0) && is_first_thread() &&
           !getsockopt(socket, SOL_SOCKET, SO_DOMAIN, &family, &size) &&
           (family == AF_INET || family == AF_INET6);
}

/* Note what the main thread is about to wait for. */
static void begin(const char *format, const char *name)
{
    if (pthread_mutex_trylock(&awaited.lock))
        return;
    if (!awaited.is_reported) {
        snprintf(awaited.what, sizeof(awaited.what), format, name);
        awaited.since = sim_seconds();
        awaited.is_waiting = true;
        awaited.is_watched = awaited.is_watched || start_to_watch();
    }
    pthread_mutex_unlock(&awaited.lock);
}

/* Return whether it is the launcher's server, which answers in time except for a missing key, which
 * store.c reports. Both address families have the port at the same offset. */
static bool is_launcher(const struct sockaddr_storage *address)
{
    const struct sockaddr_in *either = (const void *)address;
    return ntohs(either->sin_port) == sim_environment("CUDASIM_RENDEZVOUS", 0);
}

/* Note a call that waits for data, unless it will return at once. */
static void begin_to_read(int socket, int flags, const char *format, bool is_peer)
{
    int saved = errno;
    struct pollfd comes = {.fd = socket, .events = POLLIN};
    struct sockaddr_storage address = {0};
    socklen_t size = sizeof(address);
    char name[NAME_SIZE];
    if (is_of_rank(socket) && !(flags & MSG_DONTWAIT) && !(fcntl(socket, F_GETFL) & O_NONBLOCK) &&
        !poll(&comes, 1, 0) &&
        !(is_peer ? getpeername : getsockname)(socket, (struct sockaddr *)&address, &size) &&
        !(is_peer && is_launcher(&address))) {
        name_address(name, &address);
        begin(format, name);
    }
    errno = saved;
}

static void begin_to_accept(int socket)
{
    begin_to_read(socket, 0, "a process to connect to %s", false);
}

static void end(void)
{
    if (awaited.is_waiting && is_first_thread())
        awaited.is_waiting = false;
}

int sim_accept(int socket, void *from, socklen_t *size)
{
    REAL("accept", int, int, void *, socklen_t *);
    begin_to_accept(socket);
    int result = real(socket, from, size);
    end();
    return result;
}

int sim_accept4(int socket, void *from, socklen_t *size, int flags)
{
    REAL("accept4", int, int, void *, socklen_t *, int);
    begin_to_accept(socket);
    int result = real(socket, from, size, flags);
    end();
    return result;
}

ssize_t sim_recv(int socket, void *to, size_t size, int flags)
{
    REAL("recv", ssize_t, int, void *, size_t, int);
    begin_to_read(socket, flags, "%s to send something", true);
    ssize_t result = real(socket, to, size, flags);
    end();
    return result;
}

/* Note that nobody listens there. A rank that gets no other answer for long enough is waiting for
 * it. */
static void note_refusal(const char *name, int64_t since)
{
    char what[sizeof(awaited.what)];
    if (strcmp(refusing.name, name)) {
        snprintf(refusing.name, NAME_SIZE, "%s", name);
        refusing.since = since;
    }
    int64_t waited = sim_seconds() - refusing.since;
    if (waited < (int64_t)sim_patience() || pthread_mutex_trylock(&awaited.lock))
        return;
    bool is_reported = awaited.is_reported;
    awaited.is_reported = true;
    pthread_mutex_unlock(&awaited.lock);
    snprintf(what, sizeof(what), "a process to listen at %s", name);
    if (!is_reported)
        say(what, waited);
}

int sim_connect(int socket, const void *to, socklen_t size)
{
    REAL("connect", int, int, const void *, socklen_t);
    int64_t since = sim_seconds();
    struct sockaddr_storage address = {0};
    char name[NAME_SIZE];
    int result = real(socket, to, size), error = errno;
    if (!result && is_of_rank(socket))
        *refusing.name = '\0';
    if (result && (error == ECONNREFUSED || error == ETIMEDOUT || error == EHOSTUNREACH) &&
        is_of_rank(socket)) {
        memcpy(&address, to, size < sizeof(address) ? size : sizeof(address));
        name_address(name, &address);
        note_refusal(name, since);
    }
    errno = error;
    return result;
}
