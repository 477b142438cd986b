/* SPDX-License-Identifier: Apache-2.0 */
#include "server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define TOKEN_BYTES 16u
#define CONNECTIONS 32u
#define REQUEST_MAX 8192u
#define PENDING_MAX (64u << 20)
#define PATIENCE_S 10 /* timeout of a browser that sends or reads nothing */

struct connection {
    int fd;       /* -1: none */
    time_t since; /* time of its last activity */
    uint64_t number;
    size_t n;
    char request[REQUEST_MAX];
    char *bytes; /* the response; NULL: no request yet */
    size_t sent, size;
};

struct server {
    const struct mt_web_site *site;
    int port;
    char token[2 * TOKEN_BYTES + 1];
    struct connection connection[CONNECTIONS];
    uint64_t accepted;
    size_t pending; /* bytes of answers */
};

static volatile sig_atomic_t has_ended;

static void on_signal(int number)
{
    (void)number;
    has_ended = true;
}

static int make_token(char out[2 * TOKEN_BYTES + 1])
{
    unsigned char bytes[TOKEN_BYTES];
    if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes)
        return -EIO;
    for (unsigned i = 0; i < TOKEN_BYTES; i++)
        snprintf(out + 2 * i, 3, "%02x", bytes[i]);
    return 0;
}

/* Return the listening socket, or a negative errno. */
static int listen_at_loopback(int *port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t size = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -errno;
    if (bind(fd, (struct sockaddr *)&address, sizeof address) || listen(fd, CONNECTIONS) ||
        getsockname(fd, (struct sockaddr *)&address, &size)) {
        int rc = -errno;
        close(fd);
        return rc;
    }
    *port = ntohs(address.sin_port);
    return fd;
}

static void end(struct server *server, struct connection *connection)
{
    close(connection->fd);
    connection->fd = -1;
    server->pending -= connection->size;
    connection->size = 0;
    free(connection->bytes);
    connection->bytes = NULL;
}

/* Send what the socket accepts now; the rest waits until the browser has read. */
static void send_more(struct server *server, struct connection *connection)
{
    while (connection->sent < connection->size) {
        ssize_t sent = send(connection->fd, connection->bytes + connection->sent,
                            connection->size - connection->sent, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0 && (errno == EAGAIN || errno == EINTR))
            return;
        if (sent <= 0)
            break; /* the browser is gone */
        connection->sent += (size_t)sent;
        connection->since = time(NULL);
    }
    shutdown(connection->fd, SHUT_WR);
    end(server, connection);
}

/* Return the connection idle the longest, of those with or without a response; NULL: none. */
static struct connection *oldest(struct server *server, bool is_answered)
{
    struct connection *found = NULL;
    for (unsigned i = 0; i < CONNECTIONS; i++) {
        struct connection *one = &server->connection[i];
        if (one->fd >= 0 && (one->bytes != NULL) == is_answered &&
            (!found || one->since < found->since ||
             (one->since == found->since && one->number < found->number)))
            found = one;
    }
    return found;
}

/* Store the whole response with the connection, dropping responses that are not read. */
static void reply(struct server *server, struct connection *connection, const char *status,
                  const struct mt_answer *answer)
{
    char head[512], *bytes;
    int n = snprintf(head, sizeof head,
                     "HTTP/1.1 %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\n"
                     "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n"
                     "X-Frame-Options: DENY\r\nReferrer-Policy: no-referrer\r\n"
                     "Connection: close\r\n\r\n",
                     status, answer->type, answer->size);
    size_t size = (size_t)n + answer->size;
    for (struct connection *slow;
         server->pending + size > PENDING_MAX && (slow = oldest(server, true));)
        end(server, slow);
    bytes = malloc(size);
    if (!bytes) {
        end(server, connection);
        return;
    }
    memcpy(bytes, head, (size_t)n);
    memcpy(bytes + n, answer->bytes, answer->size);
    connection->bytes = bytes;
    connection->size = size;
    connection->sent = 0;
    server->pending += size;
    send_more(server, connection);
}

static void refuse(struct server *server, struct connection *connection, const char *status)
{
    struct mt_answer answer = {
        .type = "text/plain", .bytes = (char *)status, .size = strlen(status)};
    reply(server, connection, status, &answer);
}

/* Return whether the request's Host is this machine and port, which a page from elsewhere cannot
 * forge. */
static bool is_for_us(const struct server *server, const char *request)
{
    char host[64];
    for (const char *line = strstr(request, "\r\n"); line; line = strstr(line + 2, "\r\n")) {
        if (strncasecmp(line + 2, "Host:", 5) != 0)
            continue;
        const char *value = line + 7 + strspn(line + 7, " \t");
        size_t n = strcspn(value, " \t\r");
        snprintf(host, sizeof host, "127.0.0.1:%d", server->port);
        if (n == strlen(host) && !strncmp(value, host, n))
            return true;
        snprintf(host, sizeof host, "localhost:%d", server->port);
        return n == strlen(host) && !strncmp(value, host, n);
    }
    return false;
}

/* Compare in constant time. */
static bool has_token(const struct server *server, const char *target)
{
    size_t n = sizeof server->token - 1;
    unsigned char differs = 0;
    if (strlen(target) < n + 2)
        return false;
    for (size_t i = 0; i < n; i++)
        differs |= (unsigned char)(target[1 + i] ^ server->token[i]);
    return !differs & (target[0] == '/') & (target[n + 1] == '/');
}

static void answer_request(struct server *server, struct connection *connection)
{
    char *target = connection->request + 4, *end;
    if (strncmp(connection->request, "GET ", 4) != 0 || !(end = strchr(target, ' '))) {
        refuse(server, connection, "405 Method Not Allowed");
        return;
    }
    if (!is_for_us(server, end)) {
        refuse(server, connection, "403 Forbidden");
        return;
    }
    *end = '\0';
    struct mt_answer answer = {.type = "text/plain"};
    if (has_token(server, target)) {
        char *path = target + strlen(server->token) + 2, *query = strchr(path, '?');
        if (query)
            *query++ = '\0';
        server->site->answer(server->site->data, path, query ? query : "", &answer);
    }
    if (answer.bytes)
        reply(server, connection, "200 OK", &answer);
    else
        refuse(server, connection, "404 Not Found");
    free(answer.bytes);
}

/* Receive from the browser and answer a whole request. */
static void hear(struct server *server, struct connection *connection)
{
    ssize_t n = recv(connection->fd, connection->request + connection->n,
                     sizeof connection->request - 1 - connection->n, MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n > 0) {
        connection->n += (size_t)n;
        connection->request[connection->n] = '\0';
        if (!strstr(connection->request, "\r\n\r\n") &&
            connection->n < sizeof connection->request - 1)
            return;
        answer_request(server, connection);
        return;
    }
    end(server, connection);
}

/* Accept a connection. If there are too many, drop one that has sent no request, and so no token.
 */
static void welcome(struct server *server, int listening)
{
    struct connection *place = NULL;
    for (unsigned i = 0; i < CONNECTIONS && !place; i++)
        if (server->connection[i].fd < 0)
            place = &server->connection[i];
    int fd = accept4(listening, NULL, NULL, SOCK_CLOEXEC);
    if (fd < 0)
        return;
    if (!place && (place = oldest(server, false)))
        end(server, place);
    if (!place) {
        close(fd);
        return;
    }
    place->fd = fd;
    place->n = 0;
    place->since = time(NULL);
    place->number = server->accepted++;
    hear(server, place);
}

static void one_round(struct server *server, int listening, const sigset_t *during)
{
    struct pollfd fds[CONNECTIONS + 1] = {{.fd = listening, .events = POLLIN}};
    for (unsigned i = 0; i < CONNECTIONS; i++)
        fds[i + 1] = (struct pollfd){.fd = server->connection[i].fd,
                                     .events = server->connection[i].bytes ? POLLOUT : POLLIN};
    int n = ppoll(fds, CONNECTIONS + 1, &(struct timespec){.tv_sec = 1}, during);
    for (unsigned i = 0; i < CONNECTIONS; i++) {
        struct connection *connection = &server->connection[i];
        if (connection->fd < 0)
            continue;
        if (n > 0 && fds[i + 1].revents && connection->bytes)
            send_more(server, connection);
        else if (n > 0 && fds[i + 1].revents)
            hear(server, connection);
        else if (time(NULL) - connection->since > PATIENCE_S)
            end(server, connection);
    }
    if (n > 0 && fds[0].revents)
        welcome(server, listening);
}

/* Unblock signals only while waiting for browsers. */
static void hold_signals(sigset_t *during)
{
    static const int ending[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction action = {.sa_handler = on_signal};
    sigset_t held;
    sigemptyset(&held);
    for (unsigned i = 0; i < sizeof ending / sizeof *ending; i++) {
        sigaddset(&held, ending[i]);
        sigaction(ending[i], &action, NULL);
    }
    sigprocmask(SIG_BLOCK, &held, during);
}

int mt_serve(const struct mt_web_site *site)
{
    char url[128];
    sigset_t during;
    struct server *server = calloc(1, sizeof *server);
    if (!server)
        return -ENOMEM;
    server->site = site;
    for (unsigned i = 0; i < CONNECTIONS; i++)
        server->connection[i].fd = -1;
    int rc = make_token(server->token);
    int listening = rc ? rc : listen_at_loopback(&server->port);
    if (listening >= 0) {
        hold_signals(&during);
        snprintf(url, sizeof url, "http://127.0.0.1:%d/%s/", server->port, server->token);
        site->ready(site->data, url);
        while (!has_ended)
            one_round(server, listening, &during);
        for (unsigned i = 0; i < CONNECTIONS; i++)
            if (server->connection[i].fd >= 0)
                end(server, &server->connection[i]);
        close(listening);
    }
    free(server);
    return listening < 0 ? listening : 0;
}
