/* SPDX-License-Identifier: Apache-2.0 */
/* goes-elsewhere N [NEW]: changes its title, as servers do, and then its working directory, and
 * allocates and frees N times. Before that it makes t.new: a file that begins so; "/": a folder, or
 * "->": a link to a file. */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

unsigned cudaMalloc(void **address, size_t size);
unsigned cudaFree(void *address);

static int leave(const char *what)
{
    if (!strcmp(what, "/"))
        return mkdir("t.new", 0700);
    int is_link = !strcmp(what, "->");
    FILE *file = fopen(is_link ? "theirs" : "t.new", "w");
    if (!file || fputs(what, file) < 0 || fclose(file))
        return -1;
    return is_link ? symlink("theirs", "t.new") : 0;
}

int main(int argc, char **argv)
{
    void *address;
    long n = argc > 1 ? atol(argv[1]) : 0;
    if (argc > 2 && leave(argv[2]))
        return 4;
    memset(argv[0], '/', strlen(argv[0]));
    if (cudaMalloc(&address, 512) || prctl(PR_SET_NAME, "server") || chdir("/"))
        return 2;
    for (long i = 0; i < n; i++)
        if (cudaMalloc(&address, 512 + 8 * (size_t)i) || cudaFree(address))
            return 3;
    return 0;
}
