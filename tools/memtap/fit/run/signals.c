/* SPDX-License-Identifier: Apache-2.0 */
#include "signals.h"

#include <signal.h>
#include <stddef.h>

static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE};
#define N_NUMBERS (sizeof numbers / sizeof *numbers)

static volatile sig_atomic_t caught;

static void note_signal(int number)
{
    caught = number;
}

void mt_signals_catch(bool all)
{
    const struct sigaction action = {.sa_handler = note_signal};
    for (size_t i = 0; i < N_NUMBERS; i++) {
        struct sigaction old;
        if (all || (!sigaction(numbers[i], NULL, &old) && old.sa_handler != SIG_IGN))
            sigaction(numbers[i], &action, NULL);
    }
}

int mt_signals_caught(void)
{
    return caught;
}

void mt_signals_let_be(void)
{
    for (size_t i = 0; i < N_NUMBERS; i++) {
        struct sigaction old;
        if (!sigaction(numbers[i], NULL, &old) && old.sa_handler == note_signal)
            signal(numbers[i], SIG_DFL);
    }
}
