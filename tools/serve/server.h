/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A server for one user's own browser: the loopback address, a port that the system chooses, and a random
 * word that every address begins with. It knows GET, answers one request a connection, and asks that the
 * request names this machine (Host), so that no page of elsewhere can get at it. It is ours because a
 * library for it (libmicrohttpd) brings one for TLS along, which the wheel would have to carry.
 */
#ifndef MT_SERVER_H
#define MT_SERVER_H

#include <stddef.h>

struct mt_answer {
    const char *type; /* of the content */
    char *bytes;      /* malloc'ed; NULL: there is no such thing (404) */
    size_t size;
};

struct mt_web_site {
    /* The server listens; url has no end that could be left out. */
    void (*ready)(void *data, const char *url);
    /* What stands at a path, which begins after the random word and its "/"; query: what follows "?", or
     * "". Fills the answer. */
    void (*answer)(void *data, const char *path, const char *query, struct mt_answer *answer);
    void *data;
};

/* Serves until SIGINT, SIGTERM or SIGHUP. 0 or a negative errno. One thread. */
int mt_serve(const struct mt_web_site *site);

#endif
