/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A server for one user's own browser: on the loopback address, at a port chosen by the system,
 * with a random token at the start of every path. It answers only GET, one request per connection,
 * and only if Host is this machine, so that a page from elsewhere cannot reach it. It uses no
 * library, since libmicrohttpd needs a TLS library, which the wheel would have to include.
 */
#ifndef MT_SERVER_H
#define MT_SERVER_H

#include <stddef.h>

struct mt_answer {
    const char *type; /* of the content */
    char *bytes;      /* malloc'ed; NULL: not found (404) */
    size_t size;
};

struct mt_web_site {
    /* Called when the server listens. Every part of url is needed. */
    void (*ready)(void *data, const char *url);
    /* Fill in the response for a path, which begins after the token and its "/". query: the text
     * after "?", or "". */
    void (*answer)(void *data, const char *path, const char *query, struct mt_answer *answer);
    void *data;
};

/* Serve until SIGINT, SIGTERM or SIGHUP. Return 0 or a negative errno. One thread. */
int mt_serve(const struct mt_web_site *site);

/* The page of memtap view, which follows a trace while a process writes it. */

/* Serve the page until a signal ends it. Call ready with its address. Return an exit code:
 * MT_EXIT_BAD after a message. */
int mt_serve_live_page(const char *trace, void (*ready)(const char *url));

#endif
