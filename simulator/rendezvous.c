/* SPDX-License-Identifier: Apache-2.0 */
#include "rendezvous.h"

#include <arpa/inet.h>
#include <ctype.h>
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
enum { NCCL_ID_SIZE = 128, LARGEST = 1 << 28 };

struct bytes {
    char *at;
    size_t size;
};

/* Keys with their values; a queue has a row for each element, in order. */
static struct row {
    struct bytes key, value;
    bool is_queued;
} *rows;
static size_t row_count;

static struct client {
    int socket;
    struct bytes in;
} *clients;
static size_t client_count;

/* Allocate. Without memory there is no server: the program says that its store is gone. */
static void *need(void *memory)
{
    if (!memory)
        _exit(1);
    return memory;
}

static void put(struct bytes *to, const void *from, size_t size)
{
    to->at = need(realloc(to->at, to->size + size + 1));
    if (size)
        memcpy(to->at + to->size, from, size);
    to->size += size;
    to->at[to->size] = 0;
}

static void put_number(struct bytes *to, int64_t number)
{
    put(to, &number, sizeof(number));
}

static void put_bytes(struct bytes *to, struct bytes from)
{
    put_number(to, (int64_t)from.size);
    put(to, from.at, from.size);
}

static bool same(struct bytes a, struct bytes b)
{
    return a.size == b.size && !memcmp(a.at, b.at, a.size);
}

static struct row *find(struct bytes key)
{
    for (size_t i = 0; i < row_count; i++)
        if (same(rows[i].key, key))
            return &rows[i];
    return NULL;
}

static struct row *add_row(struct bytes key, struct bytes value)
{
    struct row *row;

    rows = need(realloc(rows, (row_count + 1) * sizeof(*rows)));
    row = &rows[row_count++];
    *row = (struct row){0};
    put(&row->key, key.at, key.size);
    put(&row->value, value.at, value.size);
    return row;
}

static void remove_row(struct row *row)
{
    free(row->key.at);
    free(row->value.at);
    row_count--;
    memmove(row, row + 1, (size_t)(rows + row_count - row) * sizeof(*row));
}

static struct row *set(struct bytes key, struct bytes value)
{
    struct row *row = find(key);

    if (!row)
        return add_row(key, value);
    row->value.size = 0;
    put(&row->value, value.at, value.size);
    return row;
}

/* Return whether the keys differ in one number alone, as those of two ranks do. */
static bool is_of_another_rank(struct bytes a, struct bytes b)
{
    const char *x = a.at, *y = b.at, *x_end = x + a.size, *y_end = y + b.size;

    while (x < x_end && y < y_end && *x == *y)
        x++, y++;
    while (x > a.at && isdigit((unsigned char)x[-1]))
        x--, y--;
    if (x == x_end || y == y_end || !isdigit((unsigned char)*x) || !isdigit((unsigned char)*y))
        return false;
    while (x < x_end && isdigit((unsigned char)*x))
        x++;
    while (y < y_end && isdigit((unsigned char)*y))
        y++;
    return x_end - x == y_end - y && !memcmp(x, y, (size_t)(x_end - x));
}

/* Return what an absent rank would have set: what this one set for itself; else the name of a
 * communicator, which is any, since the stand-in for NCCL asks nobody. */
static struct row *stand_in(struct bytes key)
{
    char id[NCCL_ID_SIZE] = {1};

    for (size_t i = 0; i < row_count; i++)
        if (is_of_another_rank(rows[i].key, key))
            return add_row(key, rows[i].value);
    for (size_t i = 0; i < key.size; i++)
        id[1 + i % (sizeof(id) - 1)] ^= key.at[i];
    return add_row(key, (struct bytes){id, sizeof(id)});
}

static struct row *get(struct bytes key)
{
    struct row *row = find(key);

    return row ? row : stand_in(key);
}

static int64_t add(struct bytes key, int64_t more)
{
    const struct row *row = find(key);
    int64_t sum = more + (row ? strtoll(row->value.at, NULL, 10) : 0);
    char text[24];

    set(key, (struct bytes){text, (size_t)sprintf(text, "%lld", (long long)sum)});
    return sum;
}

static void compare_and_set(struct bytes *out, const struct bytes *words)
{
    struct row *row = find(words[0]);

    if (row ? same(row->value, words[1]) : !words[1].size)
        row = set(words[0], words[2]);
    put_bytes(out, row ? row->value : words[1]);
}

static int64_t queue_length(struct bytes key)
{
    int64_t length = 0;

    for (size_t i = 0; i < row_count; i++)
        length += rows[i].is_queued && same(rows[i].key, key);
    return length;
}

static void pop(struct bytes *out, struct bytes key)
{
    struct row *row = find(key);
    bool is_there = row && row->is_queued;

    put_number(out, is_there);
    if (is_there) {
        put_bytes(out, row->value);
        remove_row(row);
    }
}

static bool has_all(const struct bytes *keys, size_t count)
{
    while (count && find(keys[count - 1]))
        count--;
    return !count;
}

static void answer_keys(struct bytes *out)
{
    put_number(out, (int64_t)row_count);
    for (size_t i = 0; i < row_count; i++)
        put_bytes(out, rows[i].key);
}

/* Answer a request. words: its bytes; number: its number. */
static void answer(enum request request, const struct bytes *words, size_t count, int64_t number,
                   struct bytes *out)
{
    struct row *row;

    switch (request) {
    case SET:
    case MULTI_SET:
        for (size_t i = 0; i < count; i += 2)
            set(words[i], words[i + 1]);
        break;
    case COMPARE_SET:
        compare_and_set(out, words);
        break;
    case GET:
    case MULTI_GET:
        for (size_t i = 0; i < count; i++)
            put_bytes(out, get(words[i])->value);
        break;
    case ADD:
        put_number(out, add(words[0], number));
        break;
    case CHECK:
        put(out, &(char){has_all(words, count) ? READY : NOT_READY}, 1);
        break;
    case WAIT:
    case BARRIER:
        put(out, &(char){STOP_WAITING}, 1);
        break;
    case COUNT_KEYS:
        put_number(out, (int64_t)row_count);
        break;
    case DELETE:
        row = find(words[0]);
        put_number(out, row != NULL);
        if (row)
            remove_row(row);
        break;
    case APPEND:
        row = find(words[0]);
        put(row ? &row->value : &add_row(words[0], (struct bytes){0})->value, words[1].at,
            words[1].size);
        break;
    case CANCEL_WAIT:
        put(out, &(char){WAIT_CANCELED}, 1);
        break;
    case PING:
        put(out, &(uint32_t){(uint32_t)number}, sizeof(uint32_t));
        break;
    case QUEUE_PUSH:
        add_row(words[0], words[1])->is_queued = true;
        break;
    case QUEUE_POP:
        pop(out, words[0]);
        break;
    case QUEUE_LENGTH:
        put_number(out, queue_length(words[0]));
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
    bool is_short, is_bad;
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

/* Answer one request. Return the number of its bytes; 0: some are to come, or in->is_bad. */
static size_t serve_one(struct reading *in, struct bytes *out)
{
    const char *start = in->at, *one = read_raw(in, 1), *format;
    struct bytes *words = NULL;
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
            words = need(realloc(words, (count + 1) * sizeof(*words)));
            words[count++] = (struct bytes){(char *)(uintptr_t)read_raw(in, size), size};
        }
    if (!in->is_short && !in->is_bad)
        answer((enum request)(unsigned char)*one, words, count, number, out);
    free(words);
    return in->is_short || in->is_bad ? 0 : (size_t)(in->at - start);
}

static bool send_all(int socket, struct bytes out)
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

/* Read what a client sent, and answer the complete requests. false: it is gone. */
static bool serve(struct client *client)
{
    char piece[65536];
    ssize_t got = recv(client->socket, piece, sizeof(piece), 0);
    struct bytes out = {0};
    struct reading in;
    size_t done = 0, size;
    bool is_well;

    if (got <= 0)
        return got < 0 && errno == EINTR;
    put(&client->in, piece, (size_t)got);
    in = (struct reading){.at = client->in.at, .left = client->in.size};
    while ((size = serve_one(&in, &out)))
        done += size;
    client->in.size -= done;
    memmove(client->in.at, client->in.at + done, client->in.size);
    is_well = !in.is_bad && send_all(client->socket, out);
    free(out.at);
    return is_well;
}

static void welcome(int listener)
{
    int socket = accept4(listener, NULL, NULL, SOCK_CLOEXEC), at_once = 1;

    if (socket < 0)
        return;
    setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &at_once, sizeof(at_once));
    clients = need(realloc(clients, (client_count + 1) * sizeof(*clients)));
    clients[client_count++] = (struct client){.socket = socket};
}

static void dismiss(size_t i)
{
    close(clients[i].socket);
    free(clients[i].in.at);
    clients[i] = clients[--client_count];
}

/* Serve until the process `owner` ends, for which its descriptor becomes readable. */
static void serve_all(int listener, int owner)
{
    for (;;) {
        struct pollfd *waits = need(calloc(client_count + 2, sizeof(*waits)));
        size_t count = client_count;

        waits[0] = (struct pollfd){.fd = owner, .events = POLLIN};
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
        free(waits);
    }
}

/* Keep only these: the program's pipes and terminal must not stay open because of us. */
static void keep_only(int listener, int owner)
{
    int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);
    long most = sysconf(_SC_OPEN_MAX);

    for (int fd = 0; fd < 3; fd++)
        dup2(nowhere, fd);
    for (int fd = 3; fd < (most > 0 && most < 65536 ? most : 65536); fd++)
        if (fd != listener && fd != owner)
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
    int listener = listen_somewhere(port), owner, error = 0;
    pid_t pid;

    if (listener < 0)
        return listener;
    owner = (int)syscall(SYS_pidfd_open, getpid(), 0);
    pid = owner < 0 ? -1 : fork();
    if (pid == 0) {
        /* Not the program's child, which it would wait for; nor the terminal's to interrupt. */
        if (setsid() < 0 || fork())
            _exit(0);
        keep_only(listener, owner);
        serve_all(listener, owner);
    }
    if (pid < 0)
        error = -errno;
    while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        ;
    close(listener);
    if (owner >= 0)
        close(owner);
    return error;
}
