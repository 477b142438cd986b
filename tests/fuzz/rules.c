/* SPDX-License-Identifier: Apache-2.0 */
/* rules [COUNT]: mutated files of rules. */
#include "mutate.h"
#include "target.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char seed[] = "# a comment\n"
                           "inputs \"by net.py\" file=*/net.py size=1KiB.. phase=forward\n"
                           "\n"
                           "workspace \"of addmm\" operator=Addmm* size=2MiB..3GiB device=0\n"
                           "other \"[x\" function=\"[a b#\" size=..7 # end\n";

int main(int argc, char **argv)
{
    unsigned long count = argc > 1 ? strtoul(argv[1], NULL, 10) : 10000;
    LLVMFuzzerTestOneInput((const uint8_t *)seed, sizeof seed - 1);
    for (unsigned long i = 0; i < count; i++) {
        size_t size = sizeof seed - 1;
        char *text = malloc(size); /* exactly as large: a byte too far is seen by a sanitizer */
        if (!text)
            return 1;
        memcpy(text, seed, size);
        size = mt_mutate(text, size, "\n\"= \t#*[]..0919KMGiBxyz", 6);
        LLVMFuzzerTestOneInput((const uint8_t *)text, size);
        free(text);
    }
    printf("%lu files of rules\n", count);
    return 0;
}
