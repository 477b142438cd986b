/* SPDX-License-Identifier: Apache-2.0 */
#include "screen.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

/* The alternate screen without cursor and wrapping; and back. */
#define ENTER "\033[?1049h\033[?25l\033[?7l\033[2J"
#define LEAVE "\033[?2026l\033[0m\033[?7h\033[?25h\033[?1049l"

/* Terminals that know this sequence show a whole frame at once. */
#define BEGIN_FRAME "\033[?2026h\033[H"
#define END_FRAME "\033[?2026l"

#define ESCAPE 27
#define ESCAPE_MS 30 /* the rest of a key's sequence comes within this time */

static const int ends[] = {SIGINT, SIGTERM, SIGHUP,  SIGQUIT, SIGPIPE, SIGSEGV, SIGBUS,
                           SIGFPE, SIGILL,  SIGABRT, SIGXCPU, SIGALRM, SIGUSR1, SIGUSR2};

static struct termios before, ours;
static volatile sig_atomic_t is_open, is_resized;
static bool has_keys; /* stdin is a terminal */

/* Write all, in a signal handler, too. A failed write is ignored: nothing can be done. */
static void write_all(const char *bytes, size_t size)
{
    while (size) {
        ssize_t n = write(STDOUT_FILENO, bytes, size);
        if (n < 0 && errno == EAGAIN)
            poll(&(struct pollfd){STDOUT_FILENO, POLLOUT, 0}, 1, 1000);
        else if (n < 0 && errno != EINTR)
            return;
        if (n > 0) {
            bytes += n;
            size -= (size_t)n;
        }
    }
}

static void take(void)
{
    if (has_keys)
        tcsetattr(STDIN_FILENO, TCSADRAIN, &ours);
    write_all(ENTER, sizeof ENTER - 1);
}

static void give_back(void)
{
    write_all(LEAVE, sizeof LEAVE - 1);
    if (has_keys)
        tcsetattr(STDIN_FILENO, TCSADRAIN, &before);
}

/* End as the signal would end us without the handler. */
static void on_end(int number)
{
    if (is_open) {
        is_open = false;
        give_back();
    }
    signal(number, SIG_DFL);
    raise(number);
}

static void set_handler(int number, void (*handler)(int))
{
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
    sigfillset(&action.sa_mask);
    sigaction(number, &action, NULL);
}

/* Restore the terminal, then stop. Continue here on SIGCONT. */
static void on_stop(int number)
{
    int error = errno;
    sigset_t only;
    give_back();
    set_handler(SIGTSTP, SIG_DFL);
    raise(number);
    sigemptyset(&only);
    sigaddset(&only, SIGTSTP);
    sigprocmask(SIG_UNBLOCK, &only, NULL); /* it stops here */
    sigprocmask(SIG_BLOCK, &only, NULL);
    while (has_keys && tcgetpgrp(STDIN_FILENO) > 0 && tcgetpgrp(STDIN_FILENO) != getpgrp())
        raise(SIGSTOP); /* it was continued in the background */
    set_handler(SIGTSTP, on_stop);
    take();
    is_resized = true;
    errno = error;
}

static void on_size(int number)
{
    (void)number;
    is_resized = true;
}

bool mt_screen_is_there(void)
{
    const char *term = getenv("TERM");
    return isatty(STDOUT_FILENO) && term && *term && strcmp(term, "dumb");
}

void mt_screen_open(void)
{
    has_keys = !tcgetattr(STDIN_FILENO, &before);
    ours = before;
    ours.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
    ours.c_cc[VMIN] = 1; /* not 0, which would end a shell that inherits it after we are killed */
    ours.c_cc[VTIME] = 0;
    is_open = true;
    atexit(mt_screen_close);
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        set_handler(ends[i], on_end);
    set_handler(SIGTSTP, on_stop);
    set_handler(SIGWINCH, on_size);
    take();
}

void mt_screen_close(void)
{
    if (!is_open)
        return;
    is_open = false;
    give_back();
}

void mt_screen_size(unsigned *columns, unsigned *rows)
{
    struct winsize size;
    bool is_known = !ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) && size.ws_col && size.ws_row;
    *columns = is_known ? size.ws_col : 80;
    *rows = is_known ? size.ws_row : 24;
}

void mt_screen_show(const char *frame, size_t size)
{
    const char *end = frame + size;
    write_all(BEGIN_FRAME, sizeof BEGIN_FRAME - 1);
    while (frame < end) {
        const char *line = memchr(frame, '\n', (size_t)(end - frame));
        size_t n = (size_t)((line ? line : end) - frame);
        write_all("\033[K", 3); /* before the line: after it, this would clear the last column */
        write_all(frame, n);
        write_all("\r\n", line ? 2 : 0);
        frame += n + 1;
    }
    write_all(END_FRAME, sizeof END_FRAME - 1);
}

/* Return the next byte; -1: none in time; -2: the end. */
static int next_byte(int milliseconds)
{
    unsigned char byte;
    struct pollfd in = {STDIN_FILENO, POLLIN, 0};
    int rc = poll(&in, has_keys ? 1 : 0, milliseconds);
    if (rc <= 0)
        return -1;
    if (!(in.revents & POLLIN))
        return -2;
    ssize_t n = read(STDIN_FILENO, &byte, 1);
    return n == 1 ? byte : n == 0 ? -2 : -1;
}

/* Read the rest of an escape sequence, such as "[A". Ignore unknown sequences. */
static int read_sequence(void)
{
    static const struct {
        char text[4];
        int key;
    } keys[] = {{"[A", MT_KEY_UP},       {"[B", MT_KEY_DOWN},      {"[C", MT_KEY_RIGHT},
                {"[D", MT_KEY_LEFT},     {"OA", MT_KEY_UP},        {"OB", MT_KEY_DOWN},
                {"OC", MT_KEY_RIGHT},    {"OD", MT_KEY_LEFT},      {"[H", MT_KEY_HOME},
                {"[F", MT_KEY_END},      {"[1~", MT_KEY_HOME},     {"[4~", MT_KEY_END},
                {"[5~", MT_KEY_PAGE_UP}, {"[6~", MT_KEY_PAGE_DOWN}};
    char text[8] = "";
    for (size_t n = 0; n + 1 < sizeof text; n++) {
        int byte = next_byte(ESCAPE_MS);
        if (byte < 0)
            break;
        text[n] = (char)byte;
        if (n && (byte == '~' || (byte >= 'A' && byte <= 'Z') || (byte >= 'a' && byte <= 'z')))
            break;
    }
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (!strcmp(text, keys[i].text))
            return keys[i].key;
    return MT_KEY_NONE;
}

int mt_screen_key(int milliseconds)
{
    int byte = is_resized ? -1 : next_byte(milliseconds);
    if (is_resized) {
        is_resized = false;
        return MT_KEY_RESIZED;
    }
    if (byte == -2)
        return MT_KEY_GONE;
    return byte < 0 ? MT_KEY_NONE : byte == ESCAPE ? read_sequence() : byte;
}
