/* SPDX-License-Identifier: Apache-2.0 */
#include "rendezvous.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "store-keys.h"
#include "store-rows.h"

/* The requests of PyTorch 2.1 and later, by their first byte. `takes`: s: bytes, with their number
 * in front; l and u: numbers of 8 and 4 bytes; before a *: a number of such groups. */
/* clang-format off */
#define REQUESTS(X)                                                                                \
    X(VALIDATE, "u") X(SET, "ss") X(COMPARE_SET, "sss") X(GET, "s") X(ADD, "sl") X(CHECK, "s*")    \
    X(WAIT, "s*") X(COUNT_KEYS, "") X(DELETE, "s") X(APPEND, "ss") X(MULTI_GET, "s*")              \
    X(MULTI_SET, "ss*") X(CANCEL_WAIT, "") X(PING, "u") X(QUEUE_PUSH, "ss") X(QUEUE_POP, "s")      \
    X(QUEUE_LENGTH, "s") X(LIST_KEYS, "") X(BARRIER, "sl")
/* clang-format on */
#define NAME(name, taken) name,
#define TAKEN(name, taken) taken,

enum request { REQUESTS(NAME) REQUEST_COUNT };
static const char *const takes[] = {REQUESTS(TAKEN)};

enum { READY = 0, NOT_READY = 1, STOP_WAITING = 0, WAIT_CANCELED = 1 };
enum { LARGEST = 1 << 28 };

/* A request for a value that nobody knows stays in `in` until a process of this rank sets it. */
static struct client {
    int socket;
    struct sim_bytes in;
    size_t waiting; /* bytes of that request; 0: none */
} *clients;
static size_t client_count;

static void put_number(struct sim_bytes *to, int64_t number)
{
    sim_bytes_put(to, &number, sizeof(number));
}

static void put_bytes(struct sim_bytes *to, struct sim_bytes from)
{
    put_number(to, (int64_t)from.size);
    sim_bytes_put(to, from.at, from.size);
}

static void compare_and_set(struct sim_bytes *out, const struct sim_bytes *words)
{
    struct sim_row *row = sim_row_find(words[0]);
    if (row ? sim_bytes_same(row->value, words[1]) : !words[1].size)
        row = sim_row_set(words[0], words[2]);
    put_bytes(out, row ? row->value : words[1]);
}

static void pop(struct sim_bytes *out, struct sim_bytes key)
{
    struct sim_row *row = sim_row_find(key);
    bool is_there = row && row->is_queued;
    put_number(out, is_there);
    if (is_there) {
        put_bytes(out, row->value);
        sim_row_remove(row);
    }
}

/* Remove the mark from a key whose value is queried. Return whether it had one. */
static bool take_mark(struct sim_bytes *key)
{
    enum { LENGTH = sizeof(SIM_KEY_VALUE) - 1 };
    if (key->size < LENGTH || memcmp(key->at + key->size - LENGTH, SIM_KEY_VALUE, LENGTH))
        return false;
    key->size -= LENGTH;
    return true;
}

/* Return whether all keys are set, or, where values are queried, known. */
static bool has_all(const struct sim_bytes *keys, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct sim_bytes key = keys[i];
        if (!(take_mark(&key) ? sim_row_get(key) : sim_row_find(key)))
            return false;
    }
    return true;
}

/* Return whether a request waits for the value of a key. */
static bool has_to_wait(enum request request, const struct sim_bytes *keys, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct sim_bytes key = keys[i];
        bool is_read =
            (request == WAIT && take_mark(&key)) || request == GET || request == MULTI_GET;
        if (is_read && !sim_row_get(key))
            return true;
    }
    return false;
}

static void answer_keys(struct sim_bytes *out)
{
    const struct sim_row *row;
    put_number(out, sim_row_count());
    for (size_t i = 0; (row = sim_row_at(i)); i++)
        put_bytes(out, row->key);
}

/* Answer a request. words: its bytes; number: its number. */
static void answer(enum request request, const struct sim_bytes *words, size_t count,
                   int64_t number, struct sim_bytes *out)
{
    struct sim_row *row;
    switch (request) {
    case SET:
    case MULTI_SET:
        for (size_t i = 0; i < count; i += 2)
            sim_row_set(words[i], words[i + 1]);
        break;
    case COMPARE_SET:
        compare_and_set(out, words);
        break;
    case GET:
    case MULTI_GET:
        for (size_t i = 0; i < count; i++)
            put_bytes(out, sim_row_get(words[i])->value);
        break;
    case ADD:
        put_number(out, sim_row_increase(words[0], number));
        break;
    case CHECK:
        sim_bytes_put(out, &(char){has_all(words, count) ? READY : NOT_READY}, 1);
        break;
    case WAIT:
    case BARRIER:
        sim_bytes_put(out, &(char){STOP_WAITING}, 1);
        break;
    case COUNT_KEYS:
        put_number(out, sim_row_count());
        break;
    case DELETE:
        row = sim_row_find(words[0]);
        put_number(out, row != NULL);
        if (row)
            sim_row_remove(row);
        break;
    case APPEND:
        row = sim_row_find(words[0]);
        sim_bytes_put(row ? &row->value : &sim_row_add(words[0], (struct sim_bytes){0})->value,
                      words[1].at, words[1].size);
        break;
    case CANCEL_WAIT:
        sim_bytes_put(out, &(char){WAIT_CANCELED}, 1);
        break;
    case PING:
        sim_bytes_put(out, &(uint32_t){(uint32_t)number}, sizeof(uint32_t));
        break;
    case QUEUE_PUSH:
        sim_row_add(words[0], words[1])->is_queued = true;
        break;
    case QUEUE_POP:
        pop(out, words[0]);
        break;
    case QUEUE_LENGTH:
        put_number(out, sim_row_count_queued(words[0]));
        break;
    case LIST_KEYS:
        answer_keys(out);
        break;
    case VALIDATE:
    case REQUEST_COUNT:
        break;
    }
}

/* What was received and not yet read. */
struct reading {
    char *at;
    size_t left;
    bool is_short, is_bad, is_waiting;
};

static const char *read_raw(struct reading *in, size_t size)
{
    char *at = in->at;
    in->is_bad |= size > LARGEST;
    in->is_short |= size > in->left;
    if (in->is_bad || in->is_short)
        return NULL;
    in->at += size;
    in->left -= size;
    return at;
}

static int64_t read_number(struct reading *in, size_t size)
{
    const char *at = read_raw(in, size);
    int64_t number = 0;
    if (at)
        memcpy(&number, at, size);
    return number;
}

/* Answer one request, unless it has to wait. Return the number of its bytes; 0: some are to come,
 * or in->is_bad. */
static size_t serve_one(struct reading *in, struct sim_bytes *out)
{
    const char *start = in->at, *one = read_raw(in, 1), *format;
    struct sim_bytes *words = NULL;
    size_t count = 0, size;
    int64_t number = 0, groups = 1;
    in->is_bad |= one && (unsigned char)*one >= REQUEST_COUNT;
    if (!one || in->is_bad)
        return 0;
    format = takes[(unsigned char)*one];
    if (strchr(format, '*'))
        groups = read_number(in, sizeof(groups));
    in->is_bad |= groups < 0 || groups > LARGEST;
    for (int64_t i = 0; i < groups && !in->is_short && !in->is_bad; i++)
        for (const char *kind = format; *kind && *kind != '*'; kind++) {
            if (*kind != 's') {
                number = read_number(in, *kind == 'l' ? sizeof(int64_t) : sizeof(uint32_t));
                continue;
            }
            size = (size_t)read_number(in, sizeof(uint64_t));
            words = sim_need(realloc(words, (count + 1) * sizeof(*words)));
            words[count++] = (struct sim_bytes){(char *)(uintptr_t)read_raw(in, size), size};
        }
    enum request request = (enum request)(unsigned char)*one;
    if (!in->is_short && !in->is_bad) {
        in->is_waiting = has_to_wait(request, words, count);
        if (!in->is_waiting)
            answer(request, words, count, number, out);
    }
    free(words);
    return in->is_short || in->is_bad ? 0 : (size_t)(in->at - start);
}

static bool send_all(int socket, struct sim_bytes out)
{
    while (out.size) {
        ssize_t sent = send(socket, out.at, out.size, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent <= 0)
            return false;
        out.at += sent;
        out.size -= (size_t)sent;
    }
    return true;
}

/* Drop the first requests. */
static void drop(struct client *client, size_t size)
{
    client->in.size -= size;
    memmove(client->in.at, client->in.at + size, client->in.size);
}

/* Answer the complete requests. false: the client is gone. */
static bool answer_all(struct client *client)
{
    struct reading in = {.at = client->in.at, .left = client->in.size};
    struct sim_bytes out = {0};
    size_t done = 0, size;
    while ((size = serve_one(&in, &out)) && !in.is_waiting)
        done += size;
    client->waiting = size;
    bool is_well = !in.is_bad && send_all(client->socket, out);
    free(out.at);
    drop(client, done);
    return is_well;
}

/* Read what a client sent, and answer it. Where it waited, it has given up. false: it is gone. */
static bool serve(struct client *client)
{
    char piece[65536];
    ssize_t got = recv(client->socket, piece, sizeof(piece), 0);
    if (got <= 0)
        return got < 0 && errno == EINTR;
    drop(client, client->waiting);
    client->waiting = 0;
    sim_bytes_put(&client->in, piece, (size_t)got);
    return answer_all(client);
}

static void welcome(int listener)
{
    int socket = accept4(listener, NULL, NULL, SOCK_CLOEXEC), at_once = 1;
    if (socket < 0)
        return;
    setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &at_once, sizeof(at_once));
    clients = sim_need(realloc(clients, (client_count + 1) * sizeof(*clients)));
    clients[client_count++] = (struct client){.socket = socket};
}

static void dismiss(size_t i)
{
    close(clients[i].socket);
    free(clients[i].in.at);
    clients[i] = clients[--client_count];
}

/* Serve until the process `program` ends, for which its descriptor becomes readable. */
static void serve_all(int listener, int program)
{
    for (;;) {
        struct pollfd *waits = sim_need(calloc(client_count + 2, sizeof(*waits)));
        size_t count = client_count;
        waits[0] = (struct pollfd){.fd = program, .events = POLLIN};
        waits[1] = (struct pollfd){.fd = listener, .events = POLLIN};
        for (size_t i = 0; i < count; i++)
            waits[2 + i] = (struct pollfd){.fd = clients[i].socket, .events = POLLIN};
        if (poll(waits, count + 2, -1) > 0) {
            if (waits[0].revents)
                _exit(0);
            for (size_t i = count; i-- > 0;)
                if (waits[2 + i].revents && !serve(&clients[i]))
                    dismiss(i);
            if (waits[1].revents)
                welcome(listener);
        }
        /* One of them may have set what another waits for. */
        for (size_t i = client_count; i-- > 0;)
            if (clients[i].waiting && !answer_all(&clients[i]))
                dismiss(i);
        free(waits);
    }
}

/* Keep only these: the program's pipes and terminal must not stay open because of us. */
static void keep_only(int listener, int program)
{
    int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);
    long most = sysconf(_SC_OPEN_MAX);
    for (int fd = 0; fd < 3; fd++)
        dup2(nowhere, fd);
    for (int fd = 3; fd < (most > 0 && most < 65536 ? most : 65536); fd++)
        if (fd != listener && fd != program)
            close(fd);
}

static int listen_somewhere(uint16_t *port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof(address);
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), error;
    if (listener < 0)
        return -errno;
    if (bind(listener, (struct sockaddr *)&address, length) || listen(listener, SOMAXCONN) ||
        getsockname(listener, (struct sockaddr *)&address, &length)) {
        error = -errno;
        close(listener);
        return error;
    }
    *port = ntohs(address.sin_port);
    return listener;
}

int sim_rendezvous_start(uint16_t *port)
{
    int listener = listen_somewhere(port), program, error = 0;
    if (listener < 0)
        return listener;
    program = (int)syscall(SYS_pidfd_open, getpid(), 0);
    pid_t pid = program < 0 ? -1 : fork();
    if (pid == 0) {
        /* Not the program's child, which it would wait for; nor the terminal's to interrupt. */
        if (setsid() < 0 || fork())
            _exit(0);
        keep_only(listener, program);
        serve_all(listener, program);
    }
    if (pid < 0)
        error = -errno;
    while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        ;
    close(listener);
    if (program >= 0)
        close(program);
    return error;
}
