/* SPDX-License-Identifier: Apache-2.0 */
/* What CUDA says where there is no device: makes the calls of its arguments, or all, and prints
 * their results. */
#include "cuda-calls.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* What the calls fill in or are given; not each has a use for all. */
void *pointer;
char room[8192];
int number;
size_t bytes, total;

#define DECLARE(name, parameters, arguments) extern unsigned name parameters;
CALLS(DECLARE)

#define MAKE(name, parameters, arguments)                                                          \
    if (!wanted || !strcmp(wanted, #name))                                                         \
        printf("%s: %u\n", #name, name arguments);

int main(int argc, char **argv)
{
    for (int i = 1; i < argc || i == 1; i++) {
        const char *wanted = argv[i];
        CALLS(MAKE)
    }
    return 0;
}
